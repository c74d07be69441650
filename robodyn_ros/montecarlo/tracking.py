"""Runs without faults: how well arms that differ from their model follow a motion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.montecarlo.distribution import distributed
from robodyn_ros.montecarlo.study import Job, LEAD, prepare
from robodyn_ros.simulation import Spread
from robodyn_ros.simulation.spread import arms_of, draw, Sample
from robodyn_ros.trajectory import Reference, Trajectory

DIVERGED, NOT_ENDED = -1, -2  # in addition to the codes of the cycle
_PART = 100   # runs that are simulated together
_HOLD = 0.15  # s after which the cycle holds an arm at rest


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


def simulate(job: Job, runs: int, workers: int = 1, scheduler: str | None = None
             ) -> Iterator[Figures]:
    """
    Yield the figures of runs without faults, in order, in parts.

    They depend on the job alone, not on how the runs are shared.

    Parameters
    ----------
    job : Job
        Robot, motion, law, limits and spread of the arms.
    runs : int
        Number of runs.
    workers : int
        Number of processes.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers share the runs in place of processes.

    """
    parts = [range(begin, min(begin + _PART, runs)) for begin in range(0, runs, _PART)]
    return distributed(simulate_part, job, parts, workers, scheduler)


def simulate_part(job: Job, numbers: range) -> Figures:
    """
    Return the figures of some runs.

    Control starts at the initial position of each arm. While the gains are ramped up, the arm is
    held and then moved to the first point; the figures cover the motion from there to the last
    point.
    """
    study = prepare(job)
    loop, controller, motion = study.loop, study.controller, study.motions[0]
    samples = [draw(loop.plant, job.spread, job.seed, number) for number in numbers]
    known: dict[bytes, Trajectory] = {}

    def plan(start: Reference) -> Trajectory:  # the same for all arms that start alike
        place = np.concatenate(start.arrays).tobytes()
        if place not in known:
            known[place] = motion.trajectory(start, first)
        return known[place]

    hold, lead, counted = (round(seconds * job.rate) for seconds in (
        _HOLD, LEAD, motion.duration))
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
