"""Integrators: their order against SciPy, energy, and MuJoCo's own step."""
import math
from pathlib import Path

import numpy as np
import pytest
from reference_solution import reference_motion
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.integrators import INTEGRATORS

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
MODEL = RobotModel.from_urdf(ARM)
SMOOTH = {'damping': 0.0, 'friction': 0.0, 'lower': -math.inf, 'upper': math.inf,
          'armature': 0.05}
START = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
TORQUE = np.array([5.0, -8.0, 3.0, -2.0, 0.5, 0.3, 0.2])
ORDERS = {'midpoint': 2, 'semi_implicit_euler': 1, 'rk4': 4}


def plant(step, integrator, **joints):
    made = Plant(MODEL, step, integrator=integrator, **{**SMOOTH, **joints})
    made.reset(START)
    return made


def after(made, seconds):
    for _ in range(round(seconds / made.step_size)):
        assert made.step(TORQUE), made.fault
    return np.concatenate([made.q, made.qd])


def test_every_integrator_has_a_known_order():
    assert ORDERS.keys() == INTEGRATORS.keys()


@pytest.mark.parametrize('integrator, order', ORDERS.items())
def test_steps_converge_to_the_motion_with_the_order_of_the_integrator(integrator, order):
    seconds = 0.4
    truth = np.concatenate(reference_motion(plant(1e-3, integrator), TORQUE, [seconds]), axis=None)
    errors = [np.abs(after(plant(step, integrator), seconds) - truth).max()
              for step in (4e-3, 2e-3, 1e-3)]
    slopes = np.log2(errors[:-1]) - np.log2(errors[1:])
    assert slopes[-1] == pytest.approx(order, abs=0.25), errors


def test_viscous_friction_follows_the_reference_with_first_order():
    seconds = 0.4
    joints = {'damping': 2.0}
    truth = np.concatenate(
        reference_motion(plant(1e-3, 'midpoint', **joints), TORQUE, [seconds]), axis=None)
    errors = [np.abs(after(plant(step, 'midpoint', **joints), seconds) - truth).max()
              for step in (4e-3, 2e-3, 1e-3)]
    assert errors[-1] < 2e-2
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize('integrator, bound', [('midpoint', 2e-3), ('rk4', 1e-7)])
def test_energy_of_a_falling_arm_stays(integrator, bound):
    made = plant(1e-3, integrator)
    dynamics = made.dynamics

    def energy():
        return (dynamics.kinetic_energy(made.q, made.qd) + dynamics.potential_energy(made.q)
                + 0.5 * made.joints.armature @ made.qd**2)

    before, moving = energy(), 0.0
    for _ in range(2000):
        assert made.step(np.zeros(7)), made.fault
        moving = max(moving, dynamics.kinetic_energy(made.q, made.qd))
    assert abs(energy() - before) < bound * moving


def test_semi_implicit_euler_is_the_step_of_mujoco():
    mujoco = pytest.importorskip('mujoco')
    spec = mujoco.MjSpec.from_file(str(ARM))
    for joint in spec.joints:
        # as SMOOTH: armature, and nothing else
        joint.armature, joint.frictionloss, joint.limited = 0.05, 0.0, False
        joint.damping = np.zeros_like(joint.damping)
    model = spec.compile()
    model.opt.timestep = 1e-3
    model.opt.disableflags = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data, ours = mujoco.MjData(model), plant(1e-3, 'semi_implicit_euler')
    data.qpos[:], data.qfrc_applied[:] = START, TORQUE
    for _ in range(500):
        mujoco.mj_step(model, data)
        assert ours.step(TORQUE)
        # rounding of two ways to compute the same, which the motion makes grow
        np.testing.assert_allclose(ours.q, data.qpos, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(ours.qd, data.qvel, rtol=0.0, atol=1e-8)


def test_an_unknown_integrator_is_named():
    with pytest.raises(ArgumentError, match='leapfrog.*midpoint'):
        Plant(MODEL, integrator='leapfrog')
