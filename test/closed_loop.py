"""A controller and a simulated arm in one loop, without ROS: one state, one torque, one step."""

from dataclasses import replace
from pathlib import Path

from design import settings_of, with_settings
import numpy as np
from robodyn_ros.control import ArmController, Mode
from robodyn_ros.control.own_law import OwnLaw
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from robodyn_ros.trajectory import TrajectoryPoint

# what is added by default to the law, see test_control_robust_defaults.py
LAW_ALONE = {'feedback_inertia': 0.0, 'disturbance_observer': False}


class Loop:
    """
    An arm under control, from its activation on.

    Parameters
    ----------
    model : RobotModel
        Model of the controller.
    settings : Settings, optional
    gains : dict, optional
        More settings, by name, see `design`; without friction in the plant none is compensated.
    q, qd : (nv,), optional
        Where the arm is at first.
    period : float
        Seconds from one state to the next; whole steps of 1 ms.
    plant : RobotModel, optional
        The true arm; default as in the model.
    friction : bool
        Whether the joints of the plant have the friction of the model; if not, the
        controller does not compensate any.
    own_law : callable, optional
        A law of the user over scalars.
    **physics
        Of the joints of the plant, besides.

    Attributes
    ----------
    torque : (nv,) array
        The last one sent.
    executes : bool
        Whether the motors give the torque; if not, brakes hold the arm.
    log : list
        Of every cycle: time, q, qd, reference q, reference qd, torque.

    """

    def __init__(self, model, settings=None, gains=None, q=None, qd=None, period=1e-3, plant=None,
                 friction=False, own_law=None, **physics):
        dynamics = Dynamics(model)
        self.settings = with_settings(settings or settings_of(), **{
            **LAW_ALONE, 'friction_scale': float(friction), **(gains or {})})
        own = own_law and OwnLaw(own_law.__name__, own_law, dynamics)
        self.executes = True
        self.control = ArmController(dynamics, self.settings, own)
        if not friction:
            physics.update(friction=0.0, damping=0.0)
        self.plant = Plant(plant or model, 1e-3, **physics)
        self.now, self.period = 0.0, period
        self.start(q, qd)

    def start(self, q=None, qd=None):
        """Put the arm somewhere, and activate the controller there."""
        self.plant.reset(q)
        if qd is not None:
            self.plant.qd[:] = qd
        self.log = []
        self.control.changes.change(
            replace(self.settings, mode=self.control.settings.mode))
        self.control.activate(self.now, self.plant.q, self.plant.qd)
        self.torque = self.control.gravity_torque()

    @property
    def gains(self):
        """Return the gains of the controller."""
        return self.control.design.gains

    @property
    def dynamics(self):
        """Return the dynamics of the controller, with the loads that it takes into account."""
        return self.control.dynamics

    @property
    def nv(self):
        """Return the number of joints."""
        return self.plant.nv

    def send(self, torque):
        """Let the motors give a torque until the next cycle, and log it."""
        self.torque = torque.copy()
        reference = self.control.reference
        self.log.append((self.now, self.plant.q.copy(), self.plant.qd.copy(), reference.q.copy(),
                         reference.qd.copy(), self.torque))
        for _ in range(round(self.period / self.plant.step_size) if self.executes else 0):
            self.plant.step(self.torque)
        self.now += self.period

    def cycle(self):
        """Answer the arm's state."""
        self.send(self.control.update(self.now, self.plant.q, self.plant.qd))

    def silence(self):
        """Pass a period in which the state stays away."""
        self.send(self.control.cycle.coast(self.now))

    def run(self, seconds):
        """Control for a while."""
        for _ in range(round(seconds / self.period)):
            self.cycle()

    def coast(self, seconds):
        """Control without states for a while."""
        for _ in range(round(seconds / self.period)):
            self.silence()

    def follow(self, goal, duration, names=None):
        """Move to a goal, from rest to rest without a step in acceleration."""
        zero = np.zeros(len(goal))
        point = TrajectoryPoint(goal, zero, zero, (), duration)
        return self.control.follow(self.now, names or self.plant.model.joint_names, [point])

    def swing(self, duration, share=0.6):
        """Return the goal on the side with more room that takes this share of the velocity."""
        model, q = self.plant.model, self.plant.q
        # from rest to rest along a quintic the fastest is 15/8 of the mean
        way = share * model.velocity_limit * duration * 8.0 / 15.0
        low, high = np.maximum(model.lower, q - 3.0), np.minimum(model.upper, q + 3.0)
        up = high - q > q - low
        return q + np.where(up, np.minimum(way, 0.9 * (high - q)),
                            -np.minimum(way, 0.9 * (q - low)))

    def settle(self):
        """Control until no motion is commanded, and a little longer."""
        while not self.control.status.at_rest:
            self.cycle()
        self.run(0.2)

    def moving(self, duration=2.0, share=0.6):
        """Get to the fastest place of a motion."""
        self.run(self.control.settings.activation_time + 0.1)
        self.follow(self.swing(duration, share), duration)
        self.run(0.5 * duration)
        assert self.control.mode is Mode.TRACK

    def column(self, index):
        """Return one quantity of the log as an array."""
        return np.array([entry[index] for entry in self.log])

    @property
    def times(self):
        """Return the times of the cycles."""
        return self.column(0)

    @property
    def q(self):
        """Positions, one row per cycle."""
        return self.column(1)

    @property
    def error(self):
        """Return reference minus position, one row per cycle."""
        return self.column(3) - self.column(1)

    @property
    def torques(self):
        """Torques sent, one row per cycle."""
        return self.column(5)

    @property
    def largest_change(self):
        """Largest change of torque between cycles, as a share of what is usually allowed."""
        changes = np.abs(np.diff(self.torques, axis=0)).max(axis=0)
        return (changes / (100.0 * self.plant.model.effort_limit * self.period)).max()


ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
MODEL = RobotModel.from_urdf(ARM)
BENT = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.6, -0.1])
STRETCHED = np.array([0.0, 1.57, 0.0, 0.0, 0.0, 0.0, 0.0])
# with a load that is unknown to the controller
HEAVY = MODEL.with_payload('link4', 1.5, (0.0, 0.0, 0.1))
FLOATING = settings_of(mode='gravity_compensation')
ROUNDING = {'rtol': 1e-9, 'atol': 1e-9}


def arm(**options):
    """Return a loop around the arm with seven joints in a bent pose."""
    options.setdefault('q', BENT)
    return Loop(MODEL, **options)
