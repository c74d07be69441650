"""A Monte Carlo study: arm, motion, control cycle, and the runs of a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.control import ArmController, Settings, with_slots
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.rollout import RolloutCycle
from robodyn_ros.control.settings import (
    CartesianSettings, CollisionSettings, Constraints, ImpedanceSettings)
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model.robot import Robot
from robodyn_ros.simulation import ClosedLoop, Plant, Spread
from robodyn_ros.simulation.motion import Motion, plan_motion
from robodyn_ros.simulation.spread import arms_of, draw, Sample
from robodyn_ros.trajectory import Reference, Trajectory

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
    samples = [draw(loop.plant, job.spread, job.seed, number) for number in numbers]
    known: dict[bytes, Trajectory] = {}

    def plan(start: Reference) -> Trajectory:  # the same for all arms that start alike
        place = np.concatenate(start.arrays).tobytes()
        if place not in known:
            known[place] = motion.trajectory(start, first)
        return known[place]

    hold, lead, counted = (round(seconds * job.rate) for seconds in (
        _HOLD, _LEAD, motion.duration))
    # steps until the goal counts as reached
    rest = 2 + (math.ceil(job.goal_time * job.rate) if job.goal_tolerance else 0)
    first = (lead - hold + 1) / job.rate
    runs = loop.start(np.array([motion.start + each.start for each in samples]),
                      *arms_of(loop.plant, samples))
    runs.programs[:] = controller.taken_over()
    rows: list[NDArray] = []
    runs = loop.run(runs, noise_of(job.spread, samples, hold), rows)
    for program, memory in zip(runs.programs, runs.memories):
        controller.follow(program, memory, plan, rows)
    for steps, counts in ((lead - hold, False), (counted, True), (rest, False)):
        runs = loop.run(runs, noise_of(job.spread, samples, steps), rows, counts)
    found, ending = loop.tracking(runs), controller.endings(runs.memories)
    code = np.where(loop.good(runs), np.nan_to_num(ending.code, nan=NOT_ENDED), DIVERGED
                    ).astype(int)
    return Figures(*found[:4], found.steps / job.rate, loop.arms(runs.state)[:, :loop.plant.nv],
                   code == 0, code, ending.joint)


def noise_of(spread: Spread, samples: Sequence[Sample], steps: int) -> NDArray:
    """Return the measurement noise, (steps, 2 nv), of each arm if there is any."""
    sigma, nv = np.array([spread.position_noise, spread.velocity_noise]), len(samples[0].start)
    if not sigma.any():
        return np.zeros((steps, 2 * nv))
    drawn = [each.noise.standard_normal((steps, 2, nv)) for each in samples]
    return (np.array(drawn) * sigma[:, None]).reshape(len(drawn), steps, -1)
