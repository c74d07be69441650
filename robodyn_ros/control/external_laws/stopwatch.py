"""How long a piece of foreign code took, by its own fault."""

from __future__ import annotations

import time

try:
    from resource import getrusage, RUSAGE_THREAD
except ImportError:  # not on Linux: all time counts
    getrusage = None


class Stopwatch:
    """
    Measures calls on this thread.

    Time in which the system ran something else instead is not the code's fault: it is left out of
    a call that would be too long. Time in which the code itself waited (sleep, files, locks) is
    not.
    """

    def __init__(self) -> None:
        self._begun = self._used = 0.0
        self._waits = 0

    def start(self) -> None:
        """Begin."""
        self._waits, self._used = _waits(), time.thread_time()
        self._begun = time.perf_counter()

    def seconds(self, most: float) -> float:
        """Return how long it took; `most` is what would be too long."""
        passed = time.perf_counter() - self._begun
        if passed <= most or getrusage is None or _waits() != self._waits:
            return passed
        return time.thread_time() - self._used


def _waits() -> int:
    """Return how often this thread has given up the processor by itself."""
    return getrusage(RUSAGE_THREAD).ru_nvcsw if getrusage else 0
