"""Recordings of simulated arms whose every number is known."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.identification.excitation import Fourier
from robodyn_ros.identification.recording import Recording
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant, Sensors, SensorSettings

URDF = Path(__file__).resolve().parents[1] / 'urdf'
RATE = 500.0
# the effort of a step is reported at its end
DELAY = 0.5 / RATE
# about what encoders with 2^19 counts and torque sensors have
NOISE = SensorSettings(resolution=1.2e-5, position_noise=1e-5, effort_noise=0.05)


@lru_cache
def arm(name='robodyn6'):
    """Return the dynamics of an arm as its URDF has it."""
    return Dynamics(RobotModel.from_urdf(URDF / f'{name}.urdf'))


def waves(model, seed=0, duration=20.0, reach=0.5, frequency=0.1, harmonics=5):
    """Return a motion around the middle of the range, without any search."""
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(model.lower, -2.0), np.minimum(model.upper, 2.0)
    sine, cosine = rng.normal(size=(2, model.nv, harmonics))
    shape = Fourier(duration, 1.0, frequency, np.zeros(model.nv), sine, cosine)
    q, qd, _ = shape.sample(np.linspace(0.0, duration, 1000))
    size = np.minimum(reach * 0.5 * (upper - lower) / np.abs(q).max(axis=0),
                      0.6 * model.velocity_limit / np.abs(qd).max(axis=0))[:, None]
    return Fourier(duration, 1.0, frequency, 0.5 * (lower + upper), size * sine, size * cosine)


def recorded(truth, assumed, motion, seed=0, scale=1.0, offset=0.0, noise=NOISE, **joints):
    """
    Return what is recorded of an arm under computed torque.

    Parameters
    ----------
    truth : RobotModel
        The arm.
    assumed : Dynamics
        Model of its controller.
    motion : Fourier
        Motion that it follows.
    seed : int
        Of the noise.
    scale, offset : (nv,) array_like
        Recorded effort = scale * (torque + offset).
    noise : SensorSettings
        Of its sensors.
    **joints
        Fields of `JointPhysics` of the arm.

    """
    plant = Plant(truth, 1.0 / RATE, **joints)
    sensors = Sensors(truth.nv, noise, seed)
    times = np.arange(int(motion.duration * RATE)) / RATE
    plant.reset(motion.centre)
    plant.step(plant.dynamics.gravity(plant.q))  # so that the motors are on from the beginning
    kp, kd, rotor = 400.0, 40.0, joints.get('armature', 0.0)
    model = assumed.model
    position, effort = np.empty((2, len(times), truth.nv))
    for k, (t, *reference) in enumerate(zip(times, *motion.sample(times))):
        sensors.measure(t, plant.q, plant.qd, plant.applied)
        position[k], effort[k] = sensors.position, sensors.effort
        q, qd, qdd = reference
        wish = qdd + kd * (qd - plant.qd) + kp * (q - plant.q)
        torque = (assumed.inverse_dynamics(plant.q, plant.qd, wish) + rotor * wish
                  + model.damping * qd + model.friction * np.tanh(1000.0 * qd))
        assert plant.step(torque), plant.fault
    return Recording(truth.joint_names, times, position, times, scale * (effort + offset))
