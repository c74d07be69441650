"""The results of many runs: per fault, with bounds of the rates, as table, JSON and picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from robodyn_ros.cli.picture import colour, picture
from robodyn_ros.cli.report import number, table
from robodyn_ros.reliability.cases import Case
from robodyn_ros.reliability.compiled.runs import Result

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


def summary(name: str, results: Sequence[Result]) -> Summary:
    """Return the summary of the runs of a fault."""
    figures = {each: values(results, each) for each in ('torque', *DRAWN)}
    failed = [each for each in results if each.failed]
    fast, fell, steep = (Rate(int(count.sum()), len(results)) for count in (
        figures['speed'] > FAST, figures['speed'] > FALL, figures['step'] > RATE_LIMIT))
    return Summary(
        name, Rate(len(failed), len(results)), fast, fell, steep,
        {each: float(found.max(initial=0.0)) for each, found in figures.items()},
        Counter(text for each in failed for text in each.failed),
        [each.seed for each in failed], sum(bool(each.fault) for each in results))


def summaries(cases: Sequence[Case], results: Iterable[Result]) -> list[Summary]:
    """Return the summaries of all faults that have runs, in their order."""
    by_case: dict[str, list[Result]] = {case.name: [] for case in cases}
    for each in results:
        by_case[each.case].append(each)
    return [summary(name, found) for name, found in by_case.items() if found]


def values(results: Sequence[Result], name: str) -> np.ndarray:
    """Return a figure of all runs; what is not a number counts as infinite."""
    return np.nan_to_num([getattr(each.figures, name) for each in results], nan=math.inf)


_HEADS = ('fault', 'runs', 'failed', '>150 %', 'fell', '>rate', '% torque', '% step', '% speed',
          'beyond', 'drift')


def _cells(each: Summary) -> list[str]:
    worst = each.worst
    return [each.name, str(each.failed.runs), each.failed.text(), each.fast.text(),
            each.fell.text(), each.steep.text(), *(number(100.0 * worst[name]) for name in (
                'torque', 'step', 'speed')), *(number(1e3 * worst[name]) for name in (
                    'beyond', 'drift'))]


def lines(found: Sequence[Summary]) -> list[str]:
    """Return the table, and the runs that do not meet the criteria."""
    shown = [[each.name, str(each.failed.runs), each.failed.text(), each.fast.text(),
              each.steep.text(), *_cells(each)[7:]] for each in found]
    text = table(('fault', 'runs', 'failed', '>150 %', '>rate', '% step', '% speed', 'beyond',
                  'drift'), shown)
    for each in found:
        for criterion, count in each.criteria.most_common():
            text.append(f'{each.name}: {count} not {criterion}')
        if each.seeds:
            more = ', ...' if len(each.seeds) > SHOWN else ''
            text.append(f'{each.name}: seeds {", ".join(map(str, each.seeds[:SHOWN]))}{more}')
    return [*text, '', verdict(found)]


def verdict(found: Sequence[Summary]) -> str:
    """Return one line about all runs."""
    runs, failed = (sum(each.failed[k] for each in found) for k in (1, 0))
    low, high = Rate(failed, runs).bounds
    return (f'{runs - failed} of {runs} runs passed; with 95 % confidence '
            f'{number(100.0 * low)} to {number(100.0 * high)} % fail')


def markdown(found: Sequence[Summary]) -> str:
    """Return the table of docs/reliability.md."""
    rows = [_HEADS, ['---'] * len(_HEADS), *map(_cells, found)]
    return '\n'.join([*(f'| {" | ".join(row)} |' for row in rows), '', f'{verdict(found)}.', ''])


def as_json(found: Sequence[Summary], settings: dict) -> str:
    """Return settings and summaries as JSON, with the seeds of all runs that failed."""
    def of(each: Summary) -> dict:
        rates = {name: {'runs': getattr(each, name).events, 'bounds': getattr(each, name).bounds}
                 for name in ('failed', 'fast', 'fell', 'steep')}
        worst = {name: x if math.isfinite(x) else None for name, x in each.worst.items()}
        return {'fault': each.name, 'runs': each.failed.runs, **rates, 'worst': worst,
                'criteria': dict(each.criteria), 'faults': each.faults, 'seeds': each.seeds}

    return json.dumps({**settings, 'faults': [of(each) for each in found]}, indent=1) + '\n'


def draw_histograms(path: Path, results: Sequence[Result]) -> None:
    """Write histograms of the figures of all runs (raises ImportError without matplotlib)."""
    with picture(path, len(DRAWN), 1, figsize=(8.0, 2.2 * len(DRAWN)), layout='constrained') as (
            _, axes):
        for k, (axis, (name, (label, scale))) in enumerate(zip(axes, DRAWN.items())):
            found = scale * values(results, name)
            finite = np.maximum(found[np.isfinite(found)], 1e-3)
            edges = np.geomspace(finite.min(initial=1e-3), finite.max(initial=1.0) * 1.001, 80)
            axis.hist(finite, edges, color=colour(k))
            axis.set(xscale='log', yscale='log', xlabel=label, ylabel='runs')
