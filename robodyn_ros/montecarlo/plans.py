"""Plans of runs with faults, and what the loop takes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.montecarlo.requests import chunks_of, Request, requests_of
from robodyn_ros.montecarlo.scenario import Scenario
from robodyn_ros.montecarlo.study import FaultStudy
from robodyn_ros.simulation.closed_loop import Runs
from robodyn_ros.simulation.fault_loop import CHUNK, fault_numbers

EPOCH = 1000.0    # s, of the first state; 0 would be no stamp
HOLD = 1          # chunks before the motion


@dataclass(frozen=True, eq=False)
class Plan:
    """
    Times of a run.

    Attributes
    ----------
    scenario : Scenario
    numbers : array
        Numbers of the fault, with its times.
    begin, lasts : float
        Begin of the fault, and its length, s.
    over : float
        Time at which fault and motion are over, s.
    requests : list of Request
    noisy : bool
        Whether any measured value has noise.

    """

    scenario: Scenario
    numbers: NDArray
    begin: float
    lasts: float
    over: float
    requests: list[Request]
    noisy: bool


def plan_of(study: FaultStudy, run: Scenario) -> Plan:
    """Return the times of a run, on the grid of its steps; of requests, on that of chunks."""
    dt, nv = study.plant.step_size, study.plant.nv
    chunk, lead = CHUNK * dt, (HOLD * CHUNK + 1) * dt
    first, last = (HOLD + chunks_of(study, each) for each in (
        run.draw.moment, run.draw.moment + run.draw.duration))
    last = max(last, first + 1)
    requests = requests_of(study, run, first, last)
    begin, end = lead + run.draw.moment, lead + run.draw.moment + run.draw.duration
    if requests:
        begin = first * chunk + dt
        end = begin if len(requests) == 1 else last * chunk + dt
    # half a step early, so that it does not depend on rounding in which step it begins
    times = {'start': (round(begin / dt) - 0.5) * dt, 'end': (round(end / dt) - 0.5) * dt}
    usual = dict(zip(('usual_position_noise', 'usual_velocity_noise'), run.noise))
    numbers = fault_numbers.numbers(nv, {
        **run.numbers, **times, **usual, 'usual_resolution': run.resolution,
        'usual_delays': 1.0, 'row': run.row, **late(study, run)})
    moves = lead + float(run.motion.times[-1])
    noisy = any(numbers[fault_numbers.place(nv, name)][0] for name in (
        'position_noise', 'velocity_noise', 'usual_position_noise', 'usual_velocity_noise'))
    return Plan(run, numbers, begin, end - begin, max(end, moves), requests, noisy)


def late(study: FaultStudy, run: Scenario) -> dict[str, float]:
    """Return the numbers of a plant that is drawn: age of its states, side of its encoders."""
    return {} if run.plant is None else {
        'age': round(run.plant.delay / study.plant.step_size),
        'rotor': run.plant.encoder == 'motor'}


def activated(study: FaultStudy, plans: Sequence[Plan], lockstep: bool = False
              ) -> tuple[Runs, list[NDArray]]:
    """Return the runs after the begin of control, and an empty table."""
    controller, loop = study.controller, study.loop
    q, joints, inertias = (
        np.array([each(plan.scenario) for plan in plans]) for each in (
            lambda run: run.motion.start, lambda run: run.joints, lambda run: run.inertias))
    runs = loop.prepare(q, joints, inertias, np.array([plan.numbers for plan in plans]), lockstep,
                        0.0 if lockstep else EPOCH)
    rows: list[NDArray] = []
    taken = controller.taken_over()
    if lockstep:
        controller.in_lockstep(taken)
        for program in runs.programs:
            controller.in_lockstep(program)
    return loop.begin(runs, noise_of(study, plans, 1), rows, taken), rows


def noise_of(study: FaultStudy, plans: Sequence[Plan], steps: int = CHUNK) -> NDArray:
    """Return the noise of the next steps."""
    nv = study.plant.nv
    noise = np.zeros((len(plans), steps, 2 * nv))
    for rows, plan in zip(noise, plans):
        if plan.noisy:
            for part, random in zip((rows[:, :nv], rows[:, nv:]), plan.scenario.random):
                part[:] = random.standard_normal((steps, nv))
    return noise
