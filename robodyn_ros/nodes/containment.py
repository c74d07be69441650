"""
Containment of exceptions, so that no message or request ends a node.

Invalid messages are refused with a `RobodynError` where they are read. All other exceptions are
caught here: defects of this package, of rclpy or of a library.
"""

from __future__ import annotations

from collections.abc import Callable
import traceback
from typing import Any

from rclpy.executors import Executor, ExternalShutdownException
from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.exceptions import printable

_PAUSE = 1.0  # s between two log lines from the same place


def stack_trace() -> str:
    """
    Return the stack trace of the current exception, each line `printable`.

    All lines but the first are indented: the text of the exception may be of others, and a line of
    it could be taken for one of the log.
    """
    return '\n  '.join(map(printable, traceback.format_exc().splitlines()))


def contained(log: RcutilsLogger, act: Callable[..., Any], *arguments: Any,
              otherwise: Any = None) -> Any:
    """
    Return the result of a call, or `otherwise` after an exception, whose stack trace is logged.

    Parameters
    ----------
    log : RcutilsLogger
        Logger of the node.
    act : callable
        Processes a message; leaves a consistent state if it raises.
    *arguments
        Arguments of the call.
    otherwise
        Result after an exception.

    """
    try:
        return act(*arguments)
    except Exception:
        log.error(f'a message was dropped: {stack_trace()}', throttle_duration_sec=_PAUSE)
        return otherwise


def serve_once(executor: Executor, log: RcutilsLogger, timeout: float = 0.0) -> None:
    """
    Run at most one callback of an executor; log an exception in it.

    In rclpy an exception in a callback ends the process, also one in its own parameter services,
    such as for a parameter of an unknown type.

    Parameters
    ----------
    executor : Executor
        Executor of the node.
    log : RcutilsLogger
        Logger of the node.
    timeout : float
        Longest wait for a callback, in s.

    Raises
    ------
    ExternalShutdownException
        ROS was shut down.

    """
    try:
        executor.spin_once(timeout_sec=timeout)
    except ExternalShutdownException:
        raise
    except Exception:
        log.error(f'a request was dropped: {stack_trace()}', throttle_duration_sec=_PAUSE)
