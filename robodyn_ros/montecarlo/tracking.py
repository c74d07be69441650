"""A Monte Carlo study: arm, motion, control cycle, and the runs of a seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
import math
from typing import NamedTuple

import numpy as np

from robodyn_ros.control import ArmController, Settings, with_slots
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.rollout import RolloutCycle
from robodyn_ros.control.settings import (
    CartesianSettings, CollisionSettings, Constraints, ImpedanceSettings)
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model.robot import Robot
from robodyn_ros.simulation import ClosedLoop, Plant, Spread
from robodyn_ros.simulation.motion import Motion, plan_motion

DIVERGED, NOT_ENDED = -1, -2  # in addition to the codes of the cycle
_LEAD = 0.5   # s in which the gains are ramped up; then the motion begins
_HOLD = 0.15  # s after which the cycle holds an arm at rest


@dataclass(frozen=True)
class Job:
    """
    Settings of a study, for all workers.

    Attributes
    ----------
    robot : Robot
    duration, speed : float
        Duration and speed of the motion, see `plan_motion`.
    rate : float
        Rate of control cycle and simulation, Hz.
    law : str
        Tracking law, a key of `laws.table.TRACKING`.
    stiffness : float
        Natural frequency of the error, rad/s.
    tolerance, goal_tolerance : float
        Position errors that end a run during the motion and at the goal, rad or m; 0: none.
    goal_time : float
        Time after the last point until the goal tolerance must be met, s.
    collision : float
        Part of the effort limits above which external torque is a collision; 0: none.
    spread : Spread
    seed : int

    """

    robot: Robot
    duration: float
    speed: float
    rate: float
    law: str
    stiffness: float
    tolerance: float
    goal_tolerance: float
    goal_time: float
    collision: float
    spread: Spread
    seed: int


@dataclass(frozen=True, eq=False)
class Study:
    """Motion, controller and closed loop, shared by all runs."""

    motion: Motion
    controller: RolloutCycle
    loop: ClosedLoop

    @property
    def model(self):
        """Return the model of the controller."""
        return self.loop.plant.model


class Figures(NamedTuple):
    """
    Figures of runs, over the time in which they followed the motion.

    Attributes
    ----------
    rms, peak : (N, nv) array
        RMS and largest tracking error of the position.
    torque : (N, nv) array
        Largest torque sent.
    cut : (N, nv) array
        Part of the time in which the torque was limited.
    followed : (N,) array
        Time in which the motion was followed, s.
    q : (N, nv) array
        Final positions.
    good : (N,) array of bool
        Whether the goal was reached.
    code, joint : (N,) array of int
        Reason of the end and its joint: 0, a code of the cycle, `DIVERGED` or `NOT_ENDED`.

    """

    rms: np.ndarray
    peak: np.ndarray
    torque: np.ndarray
    cut: np.ndarray
    followed: np.ndarray
    q: np.ndarray
    good: np.ndarray
    code: np.ndarray
    joint: np.ndarray


@lru_cache(maxsize=1)
def prepare(job: Job) -> Study:
    """Return the study of a job, compiled and cached in each process."""
    plant = Plant(job.robot.load(), 1.0 / job.rate)
    motion = plan_motion(plant.dynamics, job.duration, job.speed)
    # only an adaptive law needs a slot for a payload
    dynamics = (Dynamics(with_slots(plant.model)) if TRACKING[job.law].adapts
                else plant.dynamics)
    controller = RolloutCycle(ArmController(dynamics, _settings(job, plant.model)))
    loop = ClosedLoop(plant, controller)
    loop.warm()
    return Study(motion, controller, loop)


def _settings(job: Job, model) -> Settings:
    threshold = job.collision * np.array(model.effort_limit) if job.collision else ()
    return Settings(
        mode=job.law, activation_time=_LEAD, natural_frequency=job.stiffness,
        impedance=ImpedanceSettings(natural_frequency=job.stiffness),
        cartesian=CartesianSettings(natural_frequency=job.stiffness),
        collision=CollisionSettings(threshold=threshold),
        constraints=Constraints(job.tolerance, job.goal_tolerance, job.goal_time,
                                stopped_velocity_tolerance=0.0))


def simulate_part(job: Job, numbers: range) -> Figures:
    """
    Return the figures of some runs.

    Control starts at the initial position of each arm. While the gains are ramped up, the arm is
    held and then moved to the first point; the figures cover the motion from there to the last
    point.
    """
    study = prepare(job)
    loop, controller, motion = study.loop, study.controller, study.motion
    hold, lead, counted = (round(seconds * job.rate) for seconds in (
        _HOLD, _LEAD, motion.duration))
    # steps until the goal counts as reached
    rest = 2 + (math.ceil(job.goal_time * job.rate) if job.goal_tolerance else 0)
    runs = loop.start(motion.start, job.spread, job.seed, numbers)
    program = controller.taken_over()
    loop.run(runs, program, controller.table_values(), hold)
    first = (lead - hold + 1) / job.rate
    programs, rows = controller.following(
        program, runs.memory, lambda start: motion.trajectory(start, first))
    for steps, counts in ((lead - hold, False), (counted, True), (rest, False)):
        loop.run(runs, programs, controller.table_values(rows), steps, counts)
    outcome, ending = loop.outcome(runs), controller.endings(runs.memory)
    code = np.where(outcome.good, np.nan_to_num(ending.code, nan=NOT_ENDED), DIVERGED).astype(int)
    return Figures(*outcome[:4], outcome.steps / job.rate, outcome.q, code == 0, code,
                   ending.joint)
