"""Log lines about the compilation of machine code that is not in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import logging
import time

from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.dynamics.jit.machine import LOGGER


class _FirstRecord(logging.Handler):
    """Handler that logs a line at the first record, and stores its time."""

    def __init__(self, log: RcutilsLogger, line: str):
        super().__init__()
        self._log, self._line = log, line
        self.begun: float | None = None

    def emit(self, _record: logging.LogRecord) -> None:
        if self.begun is None:
            self.begun = time.monotonic()
            self._log.info(self._line)


@contextmanager
def compilation_logged(log: RcutilsLogger, robot: str) -> Iterator[None]:
    """
    Log the begin and the duration of compilation within a `with` block.

    Nothing is logged if all code is in the cache.

    Parameters
    ----------
    log : RcutilsLogger
        Logger of the node.
    robot : str
        Name of the robot.

    """
    first = _FirstRecord(log, f'compiling the dynamics of {robot}, first time only')
    level = LOGGER.level
    LOGGER.addHandler(first)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(first)
        LOGGER.setLevel(level)
    if first.begun is not None:
        log.info(f'compiled in {time.monotonic() - first.begun:.1f} s')
