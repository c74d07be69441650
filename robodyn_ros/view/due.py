"""What is to happen at most so often."""

from __future__ import annotations


class Due:
    """
    Tells when it is time again.

    Parameters
    ----------
    period : float
        Seconds.

    """

    def __init__(self, period: float):
        self._period, self._next = period, float('-inf')

    def now(self, time: float) -> bool:
        """Return whether it is time, and if so take note; what is missed is not made up for."""
        if time < self._next:
            return False
        # on the beat if possible: a caller with a period of its own would miss every other one
        self._next = max(self._next + self._period, time + 0.5 * self._period)
        return True
