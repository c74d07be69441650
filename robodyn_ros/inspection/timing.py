"""
Times of calls that are compared, in turns.

Other processes and the clock rate disturb times. All calls therefore take short turns, one after
the other, and each round of turns gives one ratio. A disturbance affects one turn, or all of a
round alike; the median of the ratios is robust to both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import time
import timeit
from typing import Any, NamedTuple

import numpy as np


class Budget(NamedTuple):
    """
    Time of a measurement.

    Attributes
    ----------
    turn : float
        Time of a turn in s, or one call if that is longer; less than a time slice of the kernel.
    total : float
        Time of all rounds of a comparison, s.
    min_rounds, max_rounds : int
        Bounds of the number of rounds.

    """

    turn: float = 5e-4
    total: float = 0.35
    min_rounds: int = 5
    max_rounds: int = 200


@dataclass
class Call:
    """
    Python statements to time.

    Attributes
    ----------
    text : str
        Statements; the last line is an expression, whose value is the result.
    names : dict
        Variables of the statements.
    convert : callable
        Conversion of the result to the form in which libraries are compared; not timed.
    size : int
        Number of states or steps in one run; times are divided by it.

    """

    text: str
    names: dict
    convert: Callable[[Any], Any] = field(default=lambda result: result)
    size: int = 1

    def result(self) -> Any:
        """Run once; return the converted result."""
        *statements, last = self.text.split('\n')
        exec('\n'.join(statements), self.names)  # noqa: S102
        return self.convert(eval(last, self.names))  # noqa: S307

    def timer(self) -> Callable[[int], float]:
        """Return a function of a number of runs that returns their time in s."""
        return timeit.Timer(self.text, globals=self.names).timeit


def interleaved_times(timers: Sequence[Callable[[int], float]], budget: Budget) -> np.ndarray:
    """Return the seconds per call of each timer in each round; (rounds, timers)."""
    counts = [calls_per_turn(timer, budget.turn) for timer in timers]
    rows: list[list[float]] = []
    end = time.perf_counter() + budget.total
    while (len(rows) < budget.min_rounds
           or len(rows) < budget.max_rounds and time.perf_counter() < end):
        rows.append([timer(count) / count for timer, count in zip(timers, counts)])
    return np.array(rows)


def calls_per_turn(timer: Callable[[int], float], seconds: float) -> int:
    """Return the number of calls that take a time in s, after a warm-up."""
    count = 1
    while (took := timer(count)) < seconds:
        count = max(2 * count, int(0.5 * count * seconds / took))
    return max(1, round(count * seconds / took))


def quartiles(values: np.ndarray) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile."""
    return tuple(np.percentile(values, (25, 50, 75)).tolist())
