"""Arm, controller, motions and compiled loop of the campaign, shared by all runs of a process."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control import ArmController, Settings, with_slots
from robodyn_ros.control.design import Design
from robodyn_ros.control.rollout import RolloutCycle
from robodyn_ros.control.settings import CollisionSettings, Constraints
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo.plants import STIFFEST
from robodyn_ros.montecarlo.scenario import BACKLASH, GROUP
from robodyn_ros.simulation import Plant
from robodyn_ros.simulation.fault_loop import CHUNK, FaultLoop
from robodyn_ros.simulation.motion import Motion, random_motions, STIFFNESS

RATE = 500.0     # Hz
# rad/s^2, acceleration of an unloaded rotor at the effort limit; it determines the armature. URDFs
# often leave out rotors, and wrists then have next to no inertia.
ROTOR_ACCELERATION = 500.0
COLLISION = 0.3  # part of the effort limits: an unknown torque that ends a motion
TRACKING_ERROR = 0.2  # rad or m of error that end a motion
LONGEST = 12.0   # s of a run, at most
MOTIONS = 48
DURATION, SPEED = (1.0, 1.8), (0.4, 0.9)
ACTIVATION = 0.1  # s in which feedback grows before the motion: a chunk
LAWS = ('computed_torque', 'feedforward_pd', 'joint_impedance')
_FAST = 0.3      # part of the velocity limit of the fastest joint when a fault begins
_GRID = 0.01     # s between candidates for the begin
_DELAYS = Path(__file__).with_name('host_delays.txt')


class Hold(NamedTuple):
    """Design of an arm whose loop was measured; its speed before and after a fault meanwhile."""

    design: Design
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class Study:
    """
    What the runs have in common.

    Attributes
    ----------
    model : RobotModel
        The arm of the controller.
    plant : Plant
        Nominal arm of the simulation.
    control : ArmController
        Controller whose cycle is used.
    controller : RolloutCycle
        Its cycle in the loop.
    loop : FaultLoop
    motions : list of Motion
    begins : list of array
        Times of each motion at which a joint is fast, s.
    delays : int
        Number of recorded delays of the host.
    inertia_at_joints : (nv, 10 nb) array
        Its product with the inertial parameters is the inertia at each joint, without rotors, in
        the position for which `Plant` computes the damping of stops and friction.
    drawn : bool
        Whether the arms have plants that no model describes, see `plants`.
    holds : dict of int to Hold
        Holds in which the loops of arms were measured, by their numbers.

    """

    plant: Plant
    control: ArmController
    controller: RolloutCycle
    loop: FaultLoop
    motions: list[Motion]
    begins: list[NDArray]
    delays: int
    inertia_at_joints: NDArray
    drawn: bool
    holds: dict[int, Hold] = field(default_factory=dict)

    @property
    def model(self):
        """Return the model of the arm."""
        return self.plant.model

    def design_of(self, number: int) -> Design:
        """Return the design of an arm, with its loops if they were measured."""
        hold = self.holds.get(number)
        return self.control.design if hold is None else hold.design


def settings_of(model, drawn: bool = False) -> Settings:
    """Return the settings in all fault campaigns; drawn: as for a first start, without rotors."""
    known = {} if drawn else {'natural_frequency': STIFFNESS, 'activation_time': ACTIVATION,
                              'armature': model.effort_limit / ROTOR_ACCELERATION}
    return Settings(
        **known,
        constraints=Constraints(trajectory=TRACKING_ERROR),
        collision=CollisionSettings(threshold=COLLISION * model.effort_limit))


@lru_cache(maxsize=2)
def prepare(robot: Robot, drawn: bool = False) -> Study:
    """Return the study of a robot, compiled and kept in each process; drawn: see `Study`."""
    model = robot.load()
    plant = Plant(model, 1.0 / RATE, armature=model.effort_limit / ROTOR_ACCELERATION,
                  stiffness=STIFFEST if drawn else None, backlash=None if drawn else BACKLASH)
    control = ArmController(Dynamics(with_slots(model)), settings_of(model, drawn))
    controller = RolloutCycle(control, LAWS)
    delays = np.loadtxt(_DELAYS) * 1e-6
    loop = FaultLoop(plant, controller, model.tip, GROUP, math.ceil(LONGEST * RATE / CHUNK),
                     np.tile(delays, 2)[:, None])
    loop.warm()
    motions = random_motions(plant.dynamics, MOTIONS, DURATION, SPEED)
    return Study(plant, control, controller, loop, motions,
                 [fast_times(each, model.velocity_limit) for each in motions],
                 len(delays), _inertia_at_joints(plant), drawn)


def _inertia_at_joints(plant: Plant) -> NDArray:
    q, still = plant.q, np.zeros(plant.nv)
    at_rest = plant.dynamics.regressor(q, still, still)
    return np.array([(plant.dynamics.regressor(q, still, unit) - at_rest)[j]
                     for j, unit in enumerate(np.eye(plant.nv))])


def fast_times(motion: Motion, limit: NDArray) -> NDArray:
    """Return times of a motion, s, at which a joint is fast; where none is, the fastest."""
    path, last = motion.trajectory(), float(motion.times[-1])
    times = _GRID * np.arange(1, math.ceil(last / _GRID))
    speed = np.array([np.abs(path.sample(t).qd / limit).max() for t in times])
    fast = times[speed > _FAST]
    return fast if fast.size else times[[int(speed.argmax())]]
