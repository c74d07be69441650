"""The results of many runs: per fault, with bounds of the rates, as table, JSON and picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
import json
import math
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from robodyn_ros.montecarlo.cases import Case, COMPILED
from robodyn_ros.montecarlo.distribution import distributed
from robodyn_ros.montecarlo.runs import Result, run_seeds
from robodyn_ros.montecarlo.scenario import seeds_of
from robodyn_ros.montecarlo.study import GROUP, Job, prepare_faults
from robodyn_ros.text import number, table

CONFIDENCE = 0.95
FAST = 1.5       # part of the velocity limit
FALL = 3.0       # part of the velocity limit that only a falling arm reaches
RATE_LIMIT = 1.0  # part of the rate limit of the torque
SHOWN = 10       # failed seeds of a fault that are listed
# figures of a run that are drawn, with their unit and scale
DRAWN = {'speed': ('speed (% of the limit)', 100.0),
         'step': ('torque step (% of the limit)', 100.0),
         'beyond': ('beyond position limits (mrad)', 1e3), 'drift': ('drift (mrad)', 1e3),
         'away': ('distance from the goal (mrad)', 1e3)}
# limits of the intervals of the histograms, in these units; the outer ones have all beyond
EDGES = np.geomspace(1e-3, 1e5, 81)


class Rate(NamedTuple):
    """Number of events in a number of runs, and the bounds of their probability."""

    events: int
    runs: int

    @property
    def bounds(self) -> tuple[float, float]:
        """
        Return bounds between which the probability is with 95 % confidence.

        Clopper and Pearson (1934): exact, from the binomial distribution. Without events, or with
        events only, one bound is 0 or 1 and the other one is one-sided.
        """
        k, n = self.events, self.runs
        if not n:
            return 0.0, 1.0
        tail = (1.0 - CONFIDENCE) / (1.0 if k in (0, n) else 2.0)
        low = float(beta.ppf(tail, k, n - k + 1)) if k else 0.0
        high = float(beta.ppf(1.0 - tail, k + 1, n - k)) if k < n else 1.0
        return low, high

    def text(self) -> str:
        """Return events and upper bound, such as '3 (<0.9 %)'."""
        return f'{self.events} (<{number(100.0 * self.bounds[1])} %)'


class Summary(NamedTuple):
    """
    Summary of the runs of a fault.

    Attributes
    ----------
    name : str
        Name of the fault.
    failed, fast, fell, steep : Rate
        Runs that do not meet the criteria; that exceed 150 % of a velocity limit; in which the
        arm falls; in which a torque step exceeds the rate limit.
    worst : dict of str to float
        Largest figures.
    criteria : Counter
        Number of runs by criterion that does not hold.
    seeds : list of int
        Seeds of the runs that do not meet the criteria.
    faults : int
        Runs at the end of which the controller reports a fault.
    counts : dict of str to list of int
        Number of runs per interval of each figure, see `EDGES`.

    """

    name: str
    failed: Rate
    fast: Rate
    fell: Rate
    steep: Rate
    worst: dict[str, float]
    criteria: Counter
    seeds: list[int]
    faults: int
    counts: dict[str, list[int]]


def summary(name: str, results: Sequence[Result]) -> Summary:
    """Return the summary of the runs of a fault."""
    figures = {each: values(results, each) for each in ('torque', *DRAWN)}
    failed = [each for each in results if each.failed]
    fast, fell, steep = (Rate(int(count.sum()), len(results)) for count in (
        figures['speed'] > FAST, figures['speed'] > FALL, figures['step'] > RATE_LIMIT))
    counts = {each: np.histogram(_within_edges(scale * figures[each]), EDGES)[0].tolist()
              for each, (_, scale) in DRAWN.items()}
    return Summary(
        name, Rate(len(failed), len(results)), fast, fell, steep,
        {each: float(found.max(initial=0.0)) for each, found in figures.items()},
        Counter(text for each in failed for text in each.failed),
        [each.seed for each in failed], sum(bool(each.fault) for each in results), counts)


def merged(one: Summary, other: Summary) -> Summary:
    """Return the summary of the runs of two summaries of a fault."""
    failed, fast, fell, steep = (Rate(a.events + b.events, a.runs + b.runs) for a, b in (
        (one.failed, other.failed), (one.fast, other.fast), (one.fell, other.fell),
        (one.steep, other.steep)))
    return Summary(
        one.name, failed, fast, fell, steep,
        {each: max(value, other.worst[each]) for each, value in one.worst.items()},
        one.criteria + other.criteria, sorted([*one.seeds, *other.seeds]),
        one.faults + other.faults,
        {each: [a + b for a, b in zip(row, other.counts[each])]
         for each, row in one.counts.items()})


def simulate_faults(job: Job, cases: Sequence[Case] = COMPILED, runs: int | None = None,
                    first: int = 0, workers: int = 1, scheduler: str | None = None
                    ) -> Iterator[tuple[Summary, int]]:
    """
    Yield summaries of runs with faults, in parts of one fault, and their numbers of steps.

    They depend on job and seeds alone, not on how the runs are shared; `summaries` joins them.

    Parameters
    ----------
    job : Job
        As returned by `Job.with_faults`.
    cases : sequence of Case
        The faults.
    runs : int, optional
        Number of runs, by turns of the faults; default `GROUP` of each.
    first : int
        Seed from which on those that stand for these faults are taken.
    workers, scheduler
        As for `simulate`.

    """
    seeds = seeds_of(cases, first, runs or GROUP * len(cases))
    return distributed(summarised, job, parts_of(seeds, len(cases)), workers, scheduler)


def summarised(job: Job, seeds: Sequence[int]) -> tuple[Summary, int]:
    """Return the summary of some seeds of a fault, and their number of steps, in any process."""
    found = run_seeds(prepare_faults(job), seeds)
    return summary(found[0].case, found), sum(each.steps for each in found)


def parts_of(seeds: Sequence[int], count: int) -> list[list[int]]:
    """
    Return the seeds in parts of one fault and as many runs as are simulated together, by turns.

    count: number of faults that the seeds stand for.
    """
    by_fault = [list(seeds[k::count]) for k in range(count)]
    return [each[k:k + GROUP] for k in range(0, len(by_fault[0]), GROUP) for each in by_fault
            if each[k:]]


def summaries(cases: Sequence[Case], parts: Iterable[Summary]) -> list[Summary]:
    """Return the summaries of all faults that have runs, in their order; parts: of some runs."""
    found: dict[str, Summary] = {}
    for each in parts:
        known = found.get(each.name)
        found[each.name] = each if known is None else merged(known, each)
    return [found[case.name] for case in cases if case.name in found]


def values(results: Sequence[Result], name: str) -> np.ndarray:
    """Return a figure of all runs; what is not a number counts as infinite."""
    return np.nan_to_num([getattr(each.figures, name) for each in results], nan=math.inf)


def cells(each: Summary) -> list[str]:
    """Return the cells of a fault in the table."""
    worst = each.worst
    return [each.name, str(each.failed.runs), each.failed.text(), each.fast.text(),
            each.fell.text(), each.steep.text(), *(number(100.0 * worst[name]) for name in (
                'torque', 'step', 'speed')), *(number(1e3 * worst[name]) for name in (
                    'beyond', 'drift'))]


_LEGEND = ('step, speed: % of torque rate and velocity limits; beyond position limits, drift: '
           'mrad (mm)')


def lines(found: Sequence[Summary]) -> list[str]:
    """Return the table, and the runs that do not meet the criteria."""
    shown = [[each.name, str(each.failed.runs), each.failed.text(), each.fast.text(),
              each.steep.text(), *cells(each)[7:]] for each in found]
    text = table(('fault', 'runs', 'failed', '>150 %', '>rate', '% step', '% speed', 'beyond',
                  'drift'), shown)
    for each in found:
        for criterion, count in each.criteria.most_common():
            text.append(f'{each.name}: {count} not {criterion}')
        if each.seeds:
            more = ', ...' if len(each.seeds) > SHOWN else ''
            text.append(f'{each.name}: seeds {", ".join(map(str, each.seeds[:SHOWN]))}{more}')
    return [*text, '', _LEGEND, verdict(found)]


def verdict(found: Sequence[Summary]) -> str:
    """Return one line about all runs."""
    runs, failed = (sum(each.failed[k] for each in found) for k in (1, 0))
    low, high = Rate(failed, runs).bounds
    return (f'{runs - failed} of {runs} runs passed; with 95 % confidence '
            f'{number(100.0 * low)} to {number(100.0 * high)} % fail')


def as_json(found: Sequence[Summary], settings: dict) -> str:
    """Return settings and summaries as JSON, with the seeds of all runs that failed."""
    def of(each: Summary) -> dict:
        rates = {name: {'runs': getattr(each, name).events, 'bounds': getattr(each, name).bounds}
                 for name in ('failed', 'fast', 'fell', 'steep')}
        worst = {name: x if math.isfinite(x) else None for name, x in each.worst.items()}
        return {'fault': each.name, 'runs': each.failed.runs, **rates, 'worst': worst,
                'criteria': dict(each.criteria), 'faults': each.faults, 'seeds': each.seeds}

    return json.dumps({**settings, 'faults': [of(each) for each in found]}, indent=1) + '\n'


def _within_edges(values_: np.ndarray) -> np.ndarray:
    return np.clip(values_, EDGES[0], EDGES[-1])
