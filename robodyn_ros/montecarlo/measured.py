"""Holds in which the loops of drawn plants are measured, and how calm the arms are."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.rollout_measurement import RolloutMeasurement
from robodyn_ros.montecarlo.cases import COMPILED
from robodyn_ros.montecarlo.plans import activated, noise_of, Plan, plan_of
from robodyn_ros.montecarlo.plants import MEASURED
from robodyn_ros.montecarlo.scenario import AGAIN, scenario
from robodyn_ros.montecarlo.study import FaultStudy, GROUP, Hold, RATE
from robodyn_ros.simulation.closed_loop import Runs
from robodyn_ros.simulation.fault_loop import CHUNK, Record
from robodyn_ros.text import Criterion, number

# steps of a hold; a measurement that is not over a little before is ended
LASTS = round(MEASURED * RATE / CHUNK) * CHUNK
UNTIL = LASTS - 2 * CHUNK
EVERY = 5        # steps between two calls of the measurement, as in the nodes
# largest speeds as parts of the velocity limits: before a fault, after it, and at the end
CALM = {'speed before a fault below 120 %': 1.2, 'speed after a fault below 120 %': 1.2,
        'speed at the end below 5 %': 0.05}
_SETTLED = 0.3   # s after a fault that do not count
_NOTHING = next(case for case in COMPILED if case.name == 'nothing')


class Calm(NamedTuple):
    """Largest speeds before a fault, from 0.3 s after it on, at the end, as parts of limits."""

    before: float
    after: float
    end: float


@lru_cache(maxsize=1)
def measured(study: FaultStudy, numbers: tuple[int, ...]) -> Runs:
    """Return runs of some plants whose loops were measured; their holds are those of the study."""
    plans = [plan_of(study, scenario(study, _seed_of(each), _NOTHING)) for each in numbers]
    runs, designs = measure(study, plans)
    for row, each in enumerate(numbers):
        found = calm(study, study.loop.single_record(row, LASTS))
        study.holds[each] = Hold(designs[row], found.before, found.after)
    return study.loop.again(runs, LASTS)


def measure(study: FaultStudy, plans: list[Plan]) -> tuple[Runs, list]:
    """Return runs after a hold in which their loops were measured, and their designs."""
    runs, rows = activated(study, plans)
    measurement = RolloutMeasurement(study.control, len(plans))
    for step in range(LASTS):
        runs = study.loop.single_step(runs, noise_of(study, plans, 1), rows, step)
        if step < UNTIL and step % EVERY == 0:
            measurement.update(runs.memories, runs.programs)
    measurement.update(runs.memories, runs.programs, ends=True)
    return runs, measurement.designs


def _seed_of(plant: int) -> int:
    """Return the first seed of a plant, see `scenario.plant_of`."""
    group, place = divmod(plant, GROUP)
    return (group * AGAIN * GROUP + place) * len(COMPILED)


def calm(study: FaultStudy, record: Record) -> Calm:
    """Return the speeds of a run: of its joints, or of their rotors where these are faster."""
    limit = study.model.velocity_limit
    speed = (np.abs(record.fastest) / limit).max(axis=1)
    failed = int(np.argmax(record.faulted)) if record.faulted.any() else len(speed)
    settled = failed + round(_SETTLED / study.plant.step_size)
    return Calm(float(speed[:failed].max(initial=0.0)), float(speed[settled:].max(initial=0.0)),
                float(speed[-CHUNK:].max()))


def criteria(study: FaultStudy, plan: Plan, record: Record) -> list[Criterion]:
    """Return whether a drawn plant was calm, in its hold and in its motion."""
    found, hold = calm(study, record), study.holds[plan.scenario.number]
    values = max(hold.before, found.before), max(hold.after, found.after), found.end
    return [Criterion(text, f'{number(100.0 * value)} %', value <= bound)
            for value, (text, bound) in zip(values, CALM.items())]
