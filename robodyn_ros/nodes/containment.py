"""
Containment of exceptions, so that no message or request ends a node.

Invalid messages are refused with a `RobodynError` where they are read. All other exceptions are
caught here: defects of this package, of rclpy or of a library.
"""

from __future__ import annotations

from collections.abc import Callable
import traceback
from typing import Any

from rclpy.executors import Executor, ShutdownException, TimeoutException
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
              otherwise: Any = None, what: str = 'a message was dropped') -> Any:
    """
    Return the result of a call, or `otherwise` after an exception, whose stack trace is logged.

    Parameters
    ----------
    log : RcutilsLogger
        Logger of the node.
    act : callable
        Processes a message, or does a task; leaves a consistent state if it raises.
    *arguments
        Arguments of the call.
    otherwise
        Result after an exception.
    what : str
        What an exception means, for the log.

    """
    try:
        return act(*arguments)
    except Exception:
        log.error(f'{what}: {stack_trace()}', throttle_duration_sec=_PAUSE)
        return otherwise


def serve(executor: Executor, log: RcutilsLogger, timeout: float = 0.0, most: int = 1) -> None:
    """
    Run the callbacks of an executor that wait; log an exception in one.

    In rclpy an exception in a callback ends the process, also one in its own parameter services,
    such as for a parameter of an unknown type.

    Parameters
    ----------
    executor : Executor
        Executor of the node.
    log : RcutilsLogger
        Logger of the node.
    timeout : float
        Longest wait for a callback, in s. With another one than at the last call, the executor
        begins anew with goals that are pursued, before whatever else waits.
    most : int
        Longest sequence of callbacks.

    Raises
    ------
    ExternalShutdownException
        ROS was shut down.

    """
    for _ in range(most):
        try:
            callback, _entity, _node = executor.wait_for_ready_callbacks(timeout)
        except (TimeoutException, ShutdownException):
            return
        callback()
        try:
            callback.result()
        except Exception:
            log.error(f'a request was dropped: {stack_trace()}', throttle_duration_sec=_PAUSE)
