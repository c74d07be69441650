"""
Timing of a stream: when a message counts, and how far the arm follows behind.

The times of single points without a stamp are recovered from their arrival: they are multiples of
a period, with jitter and losses. The period is the peak of the periodogram of the arrivals near
their median interval, then the slope of their regression line.
"""

from __future__ import annotations

from collections import deque
from statistics import median

import numpy as np

_INTERVALS = 31      # intervals of which the period is the median
_ARRIVALS = 100      # messages of the regression
_CORRECTION = 0.02   # part of the distance from its line that is corrected per message
_USUAL = 0.5         # largest relative difference of time_from_start and period
_LOCK = 6            # messages after which the period is searched first,
_CHECKED = 6         # and number from one check of it to the next
_SEARCHED = 0.25     # part of the probable period within which it is searched
_SCATTER = 0.24      # of the period, root mean square of the jitter above which that is wrong
_SMOOTHING = 0.05    # part by which the mean lead changes per message
_SLEW = 0.03         # largest change of the delay per time
_CHANGES = 0.3       # of the period, difference of the delay to the best one that is removed
_SETTLED = 6         # messages after which the delay is kept


class StreamTiming:
    """
    Times of the messages of one stream.

    Parameters
    ----------
    smoothing : float
        Time in s over which targets are smoothed; the delay is larger by what exceeds a period.

    Attributes
    ----------
    smoothing : float
    period : float
        Time between two messages in s; 0 before the second one.
    spacing : float
        Time between two points in s; `period` where messages have one point.
    delay : float
        Time in s by which the arm follows behind the times of the points.
    transport : float
        Mean time in s from the stamp of a message to its arrival; 0 without stamps.
    count : int
        Messages so far.
    arrival : float
        Time at which the last one arrived, in s.

    """

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing
        self.period = self.spacing = self.delay = self.transport = 0.0
        self.count, self.arrival = 0, -np.inf
        self._intervals: deque[float] = deque(maxlen=_INTERVALS)
        self._zero = self._lead = 0.0
        self._shifts = False
        self._grid = _Grid()

    def add(self, arrival: float, stamp: float | None, times) -> float:
        """
        Return the time at which the `time_from_start` of a message counts as 0.

        Parameters
        ----------
        arrival : float
            Time at which it arrived, in s.
        stamp : float or None
            Its stamp by the same clock; None: it has none.
        times : sequence of float
            Times from start of its points.

        """
        single = len(times) == 1
        gap = arrival - self.arrival if self.count else 0.0
        sent = arrival if stamp is None else stamp
        if self.count:
            self._intervals.append(sent - self._zero)
            self.period = max(median(self._intervals), 0.0)
        self._zero = sent
        if stamp is not None:
            self.transport += (arrival - stamp - self.transport) * self._part()
        elif single:
            sent = self._grid.time(arrival, float(times[0]))
            self.period = self._grid.step or self.period
        self.arrival = arrival
        self.spacing = (self.period or float(times[0])) if single else median(
            b - a for a, b in zip(times, times[1:]))
        self._lead += (sent + times[-1] - arrival - self._lead) * self._part()
        self._update_delay(gap, float(times[-1]) if single else 0.5 * self._lead)
        self.count += 1
        return sent

    def _part(self) -> float:
        return max(1.0 / (self.count + 1.0), _SMOOTHING)

    def _update_delay(self, passed: float, usual: float) -> None:
        """Let the next message arrive before the arm has passed the last target but one."""
        period = self.period or usual
        wanted = max(period + max(self.spacing, self.smoothing) - self._lead, 0.0)
        change, most = wanted - self.delay, _SLEW * passed
        if self.count < _SETTLED:
            self.delay = wanted
            return
        # constant in general: a change is a change of speed
        begins = abs(change) > _CHANGES * max(self.spacing, self.smoothing)
        self._shifts = begins or (self._shifts and abs(change) > most)
        if self._shifts:
            self.delay += min(max(change, -most), most)


class _Grid:
    """
    Times of regular messages from their arrivals.

    Attributes
    ----------
    step : float
        Period in s; 0 while it is not known.

    """

    def __init__(self) -> None:
        self.step = 0.0
        self._arrivals: deque[float] = deque(maxlen=_ARRIVALS)
        self._numbers: deque[int] = deque(maxlen=_ARRIVALS)
        self._count = 0
        self._time = self._offset = 0.0  # of the last message, and of number 0

    def time(self, arrival: float, usual: float) -> float:
        """Return the time of a message without its jitter; usual: probable period in s."""
        self._count += 1
        self._arrivals.append(arrival)
        if self._count < _LOCK:
            self._time = arrival
            return arrival
        searches = self._count == _LOCK or (
            self._count % _CHECKED == 0 and self._scatter() > _SCATTER)
        before = -1
        if searches:
            self._search(usual)
        else:
            before = self._numbers[-1]
            number = round((arrival - self._offset) / self.step)
            self._numbers.append(max(number, before + 1))
        self._fit()
        fitted = self._offset + self.step * self._numbers[-1]
        passed = (max(round((fitted - self._time) / self.step), 1) if searches
                  else self._numbers[-1] - before)
        # the regression line changes by its end with every message, this much less
        predicted = self._time + passed * self.step
        part = max(2.0 / (self._count - _LOCK + 2.0), _CORRECTION)
        self._time = predicted + part * (fitted - predicted)
        return self._time

    def _scatter(self) -> float:
        """Return the root mean square of the distances from the line, in periods."""
        a = np.array(self._arrivals)[:-1]  # the last one has no number yet
        n = np.array(self._numbers, dtype=float)[-a.size:]
        return float(np.sqrt(np.mean((a - self._offset - self.step * n) ** 2))
                     / max(self.step, 1e-6))

    def _search(self, usual: float) -> None:
        """Find period and numbers of all messages."""
        a = np.array(self._arrivals)
        a -= a[0]
        step, within = max(float(np.median(np.diff(a))), 1e-6), _SEARCHED
        if abs(usual / step - 1.0) < _USUAL:
            step, within = usual, 0.5 * _SEARCHED
        steps = step * np.linspace(1.0 - within, 1.0 + within, 41 + 4 * a.size)
        turns = np.exp(2j * np.pi * a / steps[:, None]).mean(axis=1)
        best = int(np.argmax(np.abs(turns)))
        step, phase = steps[best], np.angle(turns[best]) / (2.0 * np.pi)
        numbers = np.rint(a / step - phase).astype(int)
        count = np.arange(a.size)
        numbers = np.maximum.accumulate(numbers - count) + count  # each later than the one before
        self._numbers.clear()
        self._numbers.extend(numbers.tolist())

    def _fit(self) -> None:
        """Fit step and offset to arrivals and numbers."""
        a, n = np.array(self._arrivals), np.array(self._numbers, dtype=float)
        middle, mean = n.mean(), a.mean()
        spread = n - middle
        self.step = float(spread @ (a - mean) / (spread @ spread))
        self._offset = float(mean - self.step * middle)
