"""
What keeps a node alive whatever a message or a request says.

What makes no sense is refused with a `RobodynError`, where it is read. Here the rest is caught: a
defect of this package, of rclpy or of a library that some message brought to light.
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
    """Return the stack trace of the exception that is being handled, each line `printable`."""
    return '\n'.join(map(printable, traceback.format_exc().splitlines()))


def contained(log: RcutilsLogger, act: Callable[..., Any], *arguments: Any,
              otherwise: Any = None) -> Any:
    """
    Return what a call returns, or `otherwise` after an exception, whose stack trace is logged.

    Parameters
    ----------
    log : RcutilsLogger
        Of the node.
    act : callable
        Deals with a message; leaves everything usable if it raises.
    *arguments
        Of the call.
    otherwise
        In place of the result.

    """
    try:
        return act(*arguments)
    except Exception:
        log.error(f'a message was dropped: {stack_trace()}', throttle_duration_sec=_PAUSE)
        return otherwise


def serve_once(executor: Executor, log: RcutilsLogger, patience: float = 0.0) -> None:
    """
    Run at most one callback of an executor; an exception in it is logged, and ends nothing.

    rclpy lets what a callback raises end the process, also what its own parameter services raise,
    as for a parameter of a type that does not exist.

    Parameters
    ----------
    executor : Executor
        Of the node.
    log : RcutilsLogger
        Of the node.
    patience : float
        Seconds to wait for a callback.

    Raises
    ------
    ExternalShutdownException
        ROS was shut down.

    """
    try:
        executor.spin_once(timeout_sec=patience)
    except ExternalShutdownException:
        raise
    except Exception:
        log.error(f'a request was dropped: {stack_trace()}', throttle_duration_sec=_PAUSE)
