"""Search for the worst case of a fault: differential evolution over its time, length and size."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import differential_evolution

from robodyn_ros.montecarlo.cases import Case
from robodyn_ros.montecarlo.results import values
from robodyn_ros.montecarlo.runs import Result, simulate_group
from robodyn_ros.montecarlo.scenario import scenario, seeds_of
from robodyn_ros.montecarlo.study import FaultStudy, GROUP

SEARCHED = ('speed', 'step', 'beyond')
_TOLERANCE = 1e-3  # relative spread of a population that has converged


class Worst(NamedTuple):
    """
    Worst case that was found.

    Attributes
    ----------
    case : str
        Name of the fault.
    figure : str
        Figure that was made as large as possible.
    seed : int
        Seed of arm, joints and motion.
    draw : dict of str to float
        Values of the draw, in place of those of the seed.
    value : float
        Value of the figure.
    failed : tuple of str
        Criteria that do not hold.

    """

    case: str
    figure: str
    seed: int
    draw: dict[str, float]
    value: float
    failed: tuple[str, ...]


def search(study: FaultStudy, case: Case, figure: str, seed: int, generations: int = 6) -> Worst:
    """
    Return the worst case of a fault, for the arm and motion of a seed.

    Parameters
    ----------
    study : FaultStudy
        What the runs have in common.
    case : Case
        The fault.
    figure : str
        One of `SEARCHED`.
    seed : int
        Seed.
    generations : int
        Generations of the search, of `GROUP` runs each.

    """
    motion = scenario(study, seed, case).motion
    times = next(times for each, times in zip(study.motions, study.begins) if each is motion)
    ranges = {'moment': (float(times[0]), float(times[-1]) + 1e-6), 'duration': case.duration,
              'amount': case.amount}
    free = {name: span for name, span in ranges.items() if span[1] > span[0]}
    found: list[tuple[float, dict, Result]] = []

    def evaluate(population: np.ndarray) -> np.ndarray:
        results = runs_of(study, case, seed, [dict(zip(free, map(float, row)))
                                              for row in population.T])
        figures = values(results, figure)
        found.extend((float(x), dict(zip(free, map(float, row))), each)
                     for x, row, each in zip(figures, population.T, results))
        return -np.minimum(figures, 1e6)

    differential_evolution(
        evaluate, list(free.values()), maxiter=generations - 1, popsize=GROUP // len(free),
        seed=seed, polish=False, tol=_TOLERANCE, vectorized=True, updating='deferred')
    value, draw, result = max(found, key=lambda each: each[0])
    return Worst(case.name, figure, seed, draw, value, result.failed)


def runs_of(study: FaultStudy, case: Case, seed: int, draws: list[dict]) -> list[Result]:
    """Return the results of one arm and motion with several draws of a fault."""
    runs = [scenario(study, seed, case, **draw) for draw in draws]
    results: list[Result] = []
    for k in range(0, len(runs), GROUP):
        results += simulate_group(study, runs[k:k + GROUP])
    return results


def search_all(study: FaultStudy, cases: list[Case], seeds: int, tick: Callable[[str], None]
               ) -> list[Worst]:
    """Return the worst cases of faults with any length or size, the worst first."""
    found = []
    for case in cases:
        if case.duration[1] > case.duration[0] or case.amount[1] > case.amount[0]:
            for seed in seeds_of([case], 0, seeds):
                for figure in SEARCHED:
                    found.append(search(study, case, figure, seed))
                    tick(f'{case.name}, {figure} {found[-1].value:.3g}')
    return sorted(found, key=lambda each: -each.value)
