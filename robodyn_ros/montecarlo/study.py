"""A study: arm, controller, motions and compiled loop, shared by all runs of a process."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control import ArmController, Settings, with_slots
from robodyn_ros.control.arm.design import Design
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.rollout import RolloutCycle
from robodyn_ros.control.settings import (
    CartesianSettings, CollisionSettings, Constraints, ImpedanceSettings)
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.model.robot import Robot
from robodyn_ros.montecarlo.plants import STIFFEST
from robodyn_ros.simulation import ClosedLoop, Plant, Spread
from robodyn_ros.simulation.fault_loop import CHUNK, FaultLoop
from robodyn_ros.simulation.motion import Motion, plan_motion, random_motions, STIFFNESS

# --- without faults
LEAD = 0.5       # s in which the gains are ramped up; then the motion begins
# --- with faults
RATE = 500.0     # Hz
# rad/s^2, acceleration of an unloaded rotor at the effort limit; it determines the armature. URDFs
# often leave out rotors, and wrists then have next to no inertia.
ROTOR_ACCELERATION = 500.0
COLLISION = 0.3  # part of the effort limits: an unknown torque that ends a motion
TRACKING_ERROR = 0.2  # rad or m of error that end a motion
ACTIVATION = 0.1  # s in which feedback grows before the motion: a chunk
BACKLASH = 3e-4  # rad, of worn gears at most
LONGEST = 12.0   # s of a run, at most
GROUP = 64       # runs that are simulated together
MOTIONS = 48
DURATION, SPEED = (1.0, 1.8), (0.4, 0.9)
LAWS = ('computed_torque', 'feedforward_pd', 'joint_impedance')
_FAST = 0.3      # part of the velocity limit of the fastest joint when a fault begins
_GRID = 0.01     # s between candidates for the begin
_DELAYS = Path(__file__).with_name('host_delays.txt')


@dataclass(frozen=True)
class Job:
    """
    Settings of a study, for all workers.

    Parameters
    ----------
    robot : Robot
    faults : bool
        Whether each run has a fault and a random motion, see `with_faults`.
    drawn : bool
        With faults: whether the arms have plants that no model describes, see `plants`, and the
        controller the settings of a first start.
    duration, speed, rate : float
        Without faults: duration and speed of the motion, see `plan_motion`; rate of control cycle
        and simulation, Hz.
    law : str
        Tracking law, a key of `laws.table.TRACKING`.
    stiffness : float
        Natural frequency of the error, rad/s.
    tolerance, goal_tolerance : float
        Position errors that end a run during the motion, and without faults at the goal, rad or
        m; 0: none.
    goal_time : float
        Time after the last point until the goal tolerance must be met, s.
    collision : float
        Part of the effort limits above which external torque is a collision; 0: none.
    spread : Spread
        Random variation of the arms.
    seed : int
        Without faults: seed of the arms. With faults each run has a seed of its own.

    """

    robot: Robot
    faults: bool = False
    drawn: bool = False
    duration: float = 2.0
    speed: float = 0.6
    rate: float = 1000.0
    law: str = 'computed_torque'
    stiffness: float = STIFFNESS
    tolerance: float = 0.0
    goal_tolerance: float = 0.0
    goal_time: float = 0.5
    collision: float = 0.0
    spread: Spread = Spread()
    seed: int = 0

    @classmethod
    def with_faults(cls, robot: Robot, **given: Any) -> Job:
        """Return a job with faults, with the defaults of these."""
        return cls(robot, **{
            'faults': True, 'rate': RATE, 'tolerance': TRACKING_ERROR, 'collision': COLLISION,
            'spread': Spread(mass=0.03, com=0.002, friction=0.2), **given})

    def settings(self, model: RobotModel) -> Settings:
        """Return the settings of the controller."""
        collision = CollisionSettings(
            threshold=self.collision * model.effort_limit if self.collision else ())
        if not self.faults:
            return Settings(
                mode=self.law, activation_time=LEAD, natural_frequency=self.stiffness,
                impedance=ImpedanceSettings(natural_frequency=self.stiffness),
                cartesian=CartesianSettings(natural_frequency=self.stiffness),
                collision=collision, constraints=Constraints(
                    self.tolerance, self.goal_tolerance, self.goal_time,
                    stopped_velocity_tolerance=0.0))
        constraints = Constraints(trajectory=self.tolerance)
        if self.drawn:
            return Settings(mode=self.law, constraints=constraints, collision=collision)
        return Settings(
            mode=self.law, natural_frequency=self.stiffness, activation_time=ACTIVATION,
            armature=model.effort_limit / ROTOR_ACCELERATION, constraints=constraints,
            collision=collision)

    def plant(self, model: RobotModel) -> Plant:
        """Return the nominal arm."""
        if not self.faults:
            return Plant(model, 1.0 / self.rate)
        return Plant(model, 1.0 / self.rate, armature=model.effort_limit / ROTOR_ACCELERATION,
                     stiffness=STIFFEST if self.drawn else None,
                     backlash=None if self.drawn else BACKLASH)


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
    job : Job
    plant : Plant
        Nominal arm of the simulation.
    control : ArmController
        Controller whose cycle is used.
    controller : RolloutCycle
        Its cycle in the loop.
    motions : list of Motion
        The motion of all runs; with faults many, one of which a run has.
    loop : ClosedLoop
        Compiled loop.

    """

    job: Job
    plant: Plant
    control: ArmController
    controller: RolloutCycle
    motions: list[Motion]
    loop: ClosedLoop

    @property
    def model(self) -> RobotModel:
        """Return the model of the arm."""
        return self.plant.model


@dataclass(frozen=True, eq=False)
class FaultStudy(Study):
    """
    What runs with faults have in common, in addition.

    Attributes
    ----------
    loop : FaultLoop
    begins : list of array
        Times of each motion at which a joint is fast, s.
    delays : int
        Number of recorded delays of the host.
    inertia_at_joints : (nv, 10 nb) array
        Its product with the inertial parameters is the inertia at each joint, without rotors, in
        the position for which `Plant` computes the damping of stops and friction.
    holds : dict of int to Hold
        Holds in which the loops of arms were measured, by their numbers.

    """

    loop: FaultLoop
    begins: list[NDArray]
    delays: int
    inertia_at_joints: NDArray
    holds: dict[int, Hold] = field(default_factory=dict)

    @property
    def drawn(self) -> bool:
        """Whether the arms have plants that no model describes."""
        return self.job.drawn

    def design_of(self, number: int) -> Design:
        """Return the design of an arm, with its loops if they were measured."""
        hold = self.holds.get(number)
        return self.control.design if hold is None else hold.design


@lru_cache(maxsize=2)
def prepare(job: Job) -> Study:
    """Return the study of a job, compiled and kept in each process; with faults a `FaultStudy`."""
    plant = job.plant(job.robot.load())
    # without changes of loads and laws only an adaptive law needs a slot for a payload
    dynamics = (Dynamics(with_slots(plant.model)) if job.faults or TRACKING[job.law].adapts
                else plant.dynamics)
    control = ArmController(dynamics, job.settings(plant.model))
    controller = RolloutCycle(control, LAWS if job.faults else ())
    if not job.faults:
        loop = ClosedLoop(plant, controller)
        loop.prepare_code()
        motion = plan_motion(plant.dynamics, job.duration, job.speed)
        return Study(job, plant, control, controller, [motion], loop)
    delays = np.loadtxt(_DELAYS) * 1e-6
    # twice, as a run may begin anywhere
    faulty = FaultLoop(plant, controller, plant.model.tip, GROUP,
                       math.ceil(LONGEST * RATE / CHUNK), np.tile(delays, 2)[:, None])
    faulty.prepare_code()
    motions = random_motions(plant.dynamics, MOTIONS, DURATION, SPEED)
    return FaultStudy(
        job, plant, control, controller, motions, faulty,
        [fast_times(each, plant.model.velocity_limit) for each in motions], len(delays),
        _inertia_at_joints(plant))


def prepare_faults(job: Job) -> FaultStudy:
    """Return the study of a job with faults."""
    study = prepare(job)
    assert isinstance(study, FaultStudy)
    return study


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
