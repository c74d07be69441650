"""Limit of the rate of an action."""

from __future__ import annotations


class Throttle:
    """
    Limits an action to once per period.

    Parameters
    ----------
    period : float
        Period in s.

    """

    def __init__(self, period: float):
        self._period, self._next = period, float('-inf')

    def ready(self, time: float) -> bool:
        """Return whether the action is due at a time in s; missed periods are not repeated."""
        if time < self._next:
            return False
        # at multiples of the period if possible, so that a periodic caller keeps the rate
        self._next = max(self._next + self._period, time + 0.5 * self._period)
        return True
