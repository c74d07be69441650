"""Duration of a call of external code, without preemption by other processes."""

from __future__ import annotations

import time

try:
    import resource
    _WHOSE: int | None = resource.RUSAGE_THREAD
except (ImportError, AttributeError):  # not on Linux: wall time only
    _WHOSE = None


class Stopwatch:
    """
    Measures the duration of calls on this thread.

    For a call that would be too long, time in which the system ran other threads instead is
    subtracted; time in which the code itself waited (sleep, files, locks) is not.
    """

    def __init__(self) -> None:
        self._begun = self._used = 0.0
        self._waits = 0

    def start(self) -> None:
        """Start a measurement."""
        self._waits, self._used = _waits(), time.thread_time()
        self._begun = time.perf_counter()

    def seconds(self, most: float) -> float:
        """Return the duration in s; `most`: duration above which preemption is subtracted."""
        passed = time.perf_counter() - self._begun
        if passed <= most or _WHOSE is None or _waits() != self._waits:
            return passed
        return time.thread_time() - self._used


def _waits() -> int:
    """Return the number of voluntary context switches of this thread."""
    return 0 if _WHOSE is None else resource.getrusage(_WHOSE).ru_nvcsw
