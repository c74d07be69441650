"""
How long calls take that compute the same, and how many times longer than ours the others take.

The machine is never quiet, and its clock rate changes: so all of them take short turns, one after
the other, and every round of turns gives one ratio. A disturbance hits one turn, or all of a
round alike; the median of the ratios hardly notices either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import time
import timeit
from typing import Any, NamedTuple

import numpy as np

OURS = 'robodyn'


class Effort(NamedTuple):
    """
    How thoroughly to measure.

    Attributes
    ----------
    turn : float
        Seconds of one turn, or one call if that is longer; less than the kernel's time slices.
    patience : float
        Seconds for all rounds of one comparison.
    fewest, most : int
        How many rounds there are, however long or short they take.

    """

    turn: float = 5e-4
    patience: float = 0.35
    fewest: int = 5
    most: int = 200


@dataclass
class Call:
    """
    What is timed: Python text, as one writes it.

    Attributes
    ----------
    text : str
        Statements; the last line is an expression, whose value is the result.
    names : dict
        What the text refers to.
    convert : callable
        Makes of the result what all libraries are compared by; not timed.
    size : int
        How many states or steps the text is about: times are for one of them.

    """

    text: str
    names: dict
    convert: Callable[[Any], Any] = field(default=lambda result: result)
    size: int = 1

    def result(self) -> Any:
        """Run once; return the result, converted."""
        *statements, last = self.text.split('\n')
        exec('\n'.join(statements), self.names)  # noqa: S102
        return self.convert(eval(last, self.names))  # noqa: S307

    def timer(self) -> Callable[[int], float]:
        """Return a function of a number of runs that returns how many seconds they took."""
        return timeit.Timer(self.text, globals=self.names).timeit


class Row(NamedTuple):
    """
    One figure: a quantity of a robot, by a library; what it took in us, and times ours.

    Attributes
    ----------
    time, ratio : (float, float, float)
        Lower quartile, median, upper quartile.

    """

    group: str
    robot: str
    joints: int
    quantity: str
    library: str
    time: tuple[float, float, float]
    ratio: tuple[float, float, float]
    rounds: int


def compare(group: str, robot: str, joints: int, quantity: str, calls: dict[str, Call],
            effort: Effort = Effort()) -> list[Row]:
    """
    Let calls take turns, by library; return a row of figures for each.

    The first is ours.
    """
    seconds = by_turns([call.timer() for call in calls.values()], effort)
    seconds /= [call.size for call in calls.values()]
    return [Row(group, robot, joints, quantity, library, quartiles(1e6 * own),
                quartiles(own / seconds[:, 0]), len(seconds))
            for library, own in zip(calls, seconds.T)]


def by_turns(timers: Sequence[Callable[[int], float]], effort: Effort) -> np.ndarray:
    """Return the seconds per call of each timer in each round; (rounds, timers)."""
    counts = [enough(timer, effort.turn) for timer in timers]
    rows, end = [], time.perf_counter() + effort.patience
    while len(rows) < effort.fewest or len(rows) < effort.most and time.perf_counter() < end:
        rows.append([timer(count) / count for timer, count in zip(timers, counts)])
    return np.array(rows)


def enough(timer: Callable[[int], float], seconds: float) -> int:
    """Return how many calls take so long, after they have warmed up."""
    count = 1
    while (took := timer(count)) < seconds:
        count = max(2 * count, int(0.5 * count * seconds / took))
    return max(1, round(count * seconds / took))


def quartiles(values: np.ndarray) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile."""
    return tuple(np.percentile(values, (25, 50, 75)).tolist())
