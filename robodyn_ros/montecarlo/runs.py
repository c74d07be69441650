"""Runs with faults: simulated together, and judged by the written criteria."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
import math
import re

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.montecarlo.cases import CYCLE_TEXTS
from robodyn_ros.montecarlo.judge import (
    FAST_AT_FAULT, Figures, judge, Limits, measure, Recording, STILL)
from robodyn_ros.montecarlo.measured import criteria as calm_criteria, measured
from robodyn_ros.montecarlo.plans import activated, HOLD, noise_of, Plan, plan_of
from robodyn_ros.montecarlo.requests import goal_of
from robodyn_ros.montecarlo.scenario import Scenario, scenario
from robodyn_ros.montecarlo.study import FaultStudy, GROUP, LONGEST
from robodyn_ros.safety import USUAL_RATE
from robodyn_ros.simulation.closed_loop import Runs
from robodyn_ros.simulation.fault_loop import CHUNK, fault_numbers, Record
from robodyn_ros.simulation.motion import Motion, START
from robodyn_ros.text import Criterion
from robodyn_ros.trajectory import Reference, Trajectory

_BEFORE = 0.5     # s recorded before the fault, as in the campaign of processes
_WATCH = 0.6      # s at rest after which a run ends
_IDLE = 0.25      # part of the rows that are over, above which they are removed
_APPROACH = 4.0   # times as long as at its velocity limits, an arm takes to the begin of a motion
_LONGEST = 4.0    # s after motion and fault, if the arm does not rest


@dataclass(frozen=True)
class Result:
    """
    Result of one run.

    Attributes
    ----------
    seed : int
    case : str
        Name of the fault.
    figures : Figures
    failed : tuple of str
        Criteria that do not hold.
    fault : str
        Fault that the controller reports at the end; '' if there is none.
    steps : int
        Number of simulated steps.

    """

    seed: int
    case: str
    figures: Figures
    failed: tuple[str, ...]
    fault: str
    steps: int


def run_seeds(study: FaultStudy, seeds: Iterable[int]) -> list[Result]:
    """Return the results of some seeds, in order."""
    by_case: dict[str, list[Scenario]] = {}
    order = []
    for seed in seeds:
        run = scenario(study, seed)
        by_case.setdefault(run.case.name, []).append(run)
        order.append(seed)
    found = {}
    for each in by_case.values():
        for k in range(0, len(each), GROUP):
            found.update({result.seed: result
                          for result in simulate_group(study, each[k:k + GROUP])})
    return [found[seed] for seed in order]


def simulate_group(study: FaultStudy, group: Sequence[Scenario]) -> list[Result]:
    """Return the results of at most `GROUP` runs, in order."""
    found = {id(run): judged(study, plan, record, memory, good)
             for run, plan, record, memory, good in recorded(study, group)}
    return [found[id(run)] for run in group]


def recorded(study: FaultStudy, group: Sequence[Scenario]):
    """
    Simulate at most `GROUP` runs together.

    Yields
    ------
    scenario, plan, record, memory, good
        Of each run when it is over: memory of the controller at the end, and whether the
        simulation did not diverge.

    """
    loop, dt = study.loop, study.plant.step_size
    plans = [plan_of(study, run) for run in group]
    runs, rows = begun(study, plans)
    numbers = np.arange(len(plans))  # of the plan of each row
    # states are delayed until their faults are over, and then rows may be removed
    over = max(plan.numbers[fault_numbers.place(study.plant.nv, 'end')][0] for plan in plans)
    still, done = np.zeros(len(plans)), np.zeros(len(plans), dtype=bool)
    for chunk in range(len(runs.records), math.ceil(LONGEST / (CHUNK * dt))):
        advance_requests(study, plans, numbers, chunk, runs, rows)
        noise = noise_of(study, [plans[k] for k in numbers])
        runs = loop.run_chunk(runs, noise, rows)
        now = (chunk + 1) * CHUNK * dt
        # beside the joints, the rotors of elastic ones
        speed = np.abs(loop.velocities(runs)[:1 + study.drawn]).max(axis=(0, 2, 3))
        still = np.where(speed < STILL, still + CHUNK * dt, 0.0)
        passed = now - np.array([plans[k].over for k in numbers])
        good = loop.good(runs)
        ended = (passed > 0.0) & ((still >= _WATCH) | (passed > _LONGEST)) | ~good
        last = (chunk + 2) * CHUNK * dt > LONGEST
        for row in np.flatnonzero((ended | last) & ~done):
            plan = plans[numbers[row]]
            yield (plan.scenario, plan, loop.record(runs, int(row)),
                   runs.memories[row].copy(), bool(good[row]))
        done |= ended | last
        if done.all():
            return
        if now > over and done.mean() > _IDLE:
            runs, numbers, still, done = (
                loop.rows(runs, ~done), numbers[~done], still[~done], np.zeros(sum(~done), bool))


def begun(study: FaultStudy, plans: Sequence[Plan], lockstep: bool = False
          ) -> tuple[Runs, list[NDArray]]:
    """
    Return the runs after the begin of control, and the table of their trajectories.

    Where plants are drawn their loops are measured; the first chunk is then the last one of that.
    """
    if study.drawn:
        return study.loop.resume(
            measured(study, tuple(plan.scenario.number for plan in plans)),
            np.array([plan.scenario.joints for plan in plans]),
            np.array([plan.numbers for plan in plans])), []
    return activated(study, plans, lockstep)


def advance_requests(study: FaultStudy, plans: Sequence[Plan], numbers: NDArray, chunk: int,
                     runs: Runs, rows: list[NDArray]) -> None:
    """Make the requests of all runs that are due before a chunk."""
    programs, memories = runs.programs, runs.memories
    for row, number in enumerate(numbers):
        plan = plans[number]
        if chunk == HOLD:
            study.controller.follow(programs[row], memories[row],
                                    partial(from_hold, study, plan.scenario.motion)
                                    if study.drawn else plan.scenario.motion.trajectory, rows)
        for request in plan.requests:
            if request.chunk == chunk:
                request.make(programs[row], memories[row], rows)


def from_hold(study: FaultStudy, motion: Motion, start: Reference) -> Trajectory:
    """Return the trajectory of a motion; later, if the arm is not held where that begins."""
    way = np.abs(motion.start - start.q) / study.model.velocity_limit
    return motion.trajectory(start, START + _APPROACH * float(way.max()))


def recording_of(study: FaultStudy, plan: Plan, record: Record, fault: str) -> Recording:
    """Return what the judge takes: as of a run of processes."""
    dt = study.plant.step_size
    # the first record is that of step 1
    moved = dt * np.arange(2, len(record.q) + 2) - plan.begin
    sent = record.time - plan.begin
    chosen, after = record.sent & (sent >= -_BEFORE), moved >= -_BEFORE
    logged = f'fault: {fault}'
    missing = [pattern for length, pattern in plan.scenario.case.logged
               if pattern in CYCLE_TEXTS and plan.lasts >= length
               and not re.search(pattern, logged)]
    return Recording(plan.lasts, sent[chosen], record.torque[chosen], moved[after],
                     record.q[after], (record.fastest if study.drawn else record.qd)[after],
                     tuple(missing),
                     'reset' if fault else 'itself')


def limits_of(study: FaultStudy, run: Scenario) -> Limits:
    """Return the limits of the arm, and the goal of a run."""
    model = study.model
    return Limits(model.effort_limit, USUAL_RATE * model.effort_limit, model.velocity_limit,
                  model.lower, model.upper, goal_of(study, run))


def judged(study: FaultStudy, plan: Plan, record: Record, memory: NDArray, good: bool) -> Result:
    """Return the result of a run."""
    run, fault = plan.scenario, study.controller.fault(memory)
    recording = recording_of(study, plan, record, fault)
    figures = measure(recording, limits_of(study, run))
    # the begin of a fault is drawn among fast moments, and that of a request is near one
    criteria = [each for each in judge(recording, figures, run.case.requirements)
                if each.text != FAST_AT_FAULT]
    if study.drawn:  # an unknown arm must be calm, no more
        criteria = calm_criteria(study, plan, record)
    if not good:
        criteria.append(Criterion('the simulation does not diverge', 'it does', False))
    return Result(run.seed, run.case.name, figures,
                  tuple(each.text for each in criteria if not each.passed), fault,
                  len(record.q))
