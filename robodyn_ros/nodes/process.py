"""
Process of a node: start, run, controlled stop on a signal, exit code.

A node's `main` is one call of `run_process`. Exit codes: 0 after SIGINT, SIGTERM or the end of the
work, 1 after a defect (with its stack trace), 2 after a user error (one message, no stack trace).
"""

from __future__ import annotations

from functools import partial
import os
import signal
import sys
import threading
import time
from typing import Callable, Sequence, TypeVar

import rclpy
from rclpy.exceptions import InvalidNamespaceException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from robodyn_ros.exceptions import lacking, ParameterError, RobodynError, shown

USER_MISTAKE = 2
TEARDOWN_LIMIT = 5.0  # s for the shutdown of ROS, after which the process exits

_Node = TypeVar('_Node', bound=Node)
_Result = TypeVar('_Result')
# of the parser of parameter files, by a part of its message
_REMEDIES = {
    'same type': 'write all numbers of a list alike, as [0.0, 0.0, -9.81]',
    'No value': 'give the parameter a value, or remove its line'}


class StopRequest:
    """
    Whether SIGINT, SIGTERM or SIGHUP was received.

    Before `defer` a signal raises KeyboardInterrupt at once, as a node that still loads its robot
    moves nothing. Afterwards it only sets `requested`, so that a node can bring its robot to rest.

    Attributes
    ----------
    requested : bool
        Whether to stop.
    reason : str
        Name of the signal, empty before.
    owns_process : bool
        Whether it has the signals of the process, which then is that of one node alone.

    """

    def __init__(self) -> None:
        self.requested = self.owns_process = False
        self.reason = ''
        self._deferred = False

    def install(self) -> None:
        """Install the signal handlers; to be called in the main thread."""
        self.owns_process = True
        # SIGHUP: after a closed terminal or a lost ssh session the arm is brought to rest, too
        for name in ('SIGINT', 'SIGTERM', 'SIGHUP'):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._handle)

    def defer(self) -> None:
        """Only set `requested` at a signal from now on."""
        self._deferred = True

    def _handle(self, number: int, _frame) -> None:
        self.reason = self.reason or signal.Signals(number).name
        self.requested = True
        if not self._deferred:
            raise KeyboardInterrupt


def deferring_interrupt(call: Callable[[], _Result]) -> _Result:
    """
    Return the result of a call; Ctrl-C raises KeyboardInterrupt after it.

    Within a function of rclpy that converts a message, it would raise a TypeError instead. Other
    handlers of the signal than Python's own, and other threads, are left alone.
    """
    if (threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler):
        return call()
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: received.append(number))
    try:
        result = call()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt
    return result


def run(node: Node, until: Callable[[], bool], timeout: float | None = None,
        interval: float = 0.05) -> bool:
    """
    Run a node's callbacks until a condition holds.

    Parameters
    ----------
    node : Node
        Node whose callbacks are run in this thread.
    until : callable
        Condition, checked after every callback and at least every `interval` seconds; it may call
        this function itself.
    timeout : float, optional
        Longest duration on the steady clock, in s.
    interval : float
        Longest time between two checks of `until`, in s; the largest delay of a signal.

    Returns
    -------
    bool
        Whether the condition holds; False after the timeout or a shutdown of ROS.

    """
    end = None if timeout is None else time.monotonic() + timeout
    executor, outer = SingleThreadedExecutor(context=node.context), node.executor
    executor.add_node(node)
    try:
        while not deferring_interrupt(until):
            left = interval if end is None else min(interval, end - time.monotonic())
            if left <= 0.0 or not node.context.ok():
                return False
            deferring_interrupt(partial(executor.spin_once, timeout_sec=left))
        return True
    except ExternalShutdownException:
        return False
    finally:
        executor.remove_node(node)
        executor.shutdown(timeout_sec=1.0)
        if outer is not None:  # a node has one executor: it would serve no callback any more
            outer.add_node(node)


def run_until_stopped(node: Node, stop: StopRequest) -> None:
    """Run the callbacks of a node until a signal is received."""
    run(node, lambda: stop.requested)


def run_process(name: str, make_node: Callable[[StopRequest], _Node],
                work: Callable[[_Node, StopRequest], None] = run_until_stopped,
                args: Sequence[str] | None = None) -> int:
    """
    Run the process of a node, and return its exit code.

    Parameters
    ----------
    name : str
        Name of the node, for messages before it exists.
    make_node : callable
        `make_node(stop)` returns the node. A `RobodynError` is a user error.
    work : callable
        `work(node, stop)` runs the node, and returns soon after `stop.requested`. Signals do not
        interrupt it.
    args : sequence of str, optional
        Command line without the program's name; default `sys.argv[1:]`.

    """
    arguments = [name, *(sys.argv[1:] if args is None else args)]
    stop = StopRequest()
    stop.install()
    try:
        _start_ros(arguments)
        node = make_node(stop)
        stop.defer()
        work(node, stop)
        return 0
    except KeyboardInterrupt:
        return 0
    except ExternalShutdownException:
        return 0
    except RobodynError as error:
        get_logger(name).fatal(str(error))
        return USER_MISTAKE
    except Exception as error:
        if not (lack := lacking(error)):
            raise
        get_logger(name).fatal(lack)
        return USER_MISTAKE
    finally:
        stop.defer()
        _shut_ros_down()


def _start_ros(arguments: list[str]) -> None:
    try:
        unknown = remove_ros_args(arguments)[1:]
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # of several types
        if lack := lacking(error):
            raise RobodynError(lack) from error
        reason = str(error).strip().partition('\n')[0]
        remedy = next((each for text, each in _REMEDIES.items() if text in reason), 'they are '
                      'written as in `--ros-args -p urdf_file:=arm.urdf`')
        raise RobodynError(f'the ROS arguments are not understood: {reason}; {remedy}') from error
    if unknown:
        raise RobodynError(f'unknown argument {unknown[0]!r}: parameters are set as in '
                           '`--ros-args -p urdf_file:=arm.urdf`', arguments=unknown)


def tool_node(name: str, namespace: str = '', context: rclpy.Context | None = None) -> Node:
    """
    Return the node of a tool, without ROS arguments, parameter services and log topic.

    Parameters
    ----------
    name, namespace : str
        Name, and namespace of the arm.
    context : Context, optional
        Context; default that of rclpy.

    Raises
    ------
    ParameterError
        The namespace is invalid.

    """
    try:
        return Node(name, namespace=namespace, context=context, use_global_arguments=False,
                    enable_rosout=False, start_parameter_services=False)
    except InvalidNamespaceException as error:
        raise ParameterError(f'--namespace: {shown(namespace)} is not a valid namespace: '
                             + str(error).partition('\n')[0]) from error
    except RuntimeError as error:
        raise ParameterError(
            lacking(error) or f'the node {name} cannot be made: {error}') from error


def init_tool(enclave: str = '', context: rclpy.Context | None = None) -> None:
    """
    Start ROS for a tool with options of its own, without ROS arguments.

    Parameters
    ----------
    enclave : str
        Enclave of SROS 2 with the keys and permissions of the process; '' for none.
    context : Context, optional
        Context to initialize; default that of rclpy.

    Raises
    ------
    ParameterError
        There is no such enclave, or there are no keys although they are enforced.

    """
    arguments = ['--ros-args', '--enclave', enclave] if enclave else []
    try:
        rclpy.init(args=arguments, context=context,
                   signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # its type is not part of rclpy's interface
        if lack := lacking(error):
            raise ParameterError(lack) from error
        reason = str(error).strip().partition('\n')[0]
        raise ParameterError(
            f'ROS cannot be started{f" in the enclave {shown(enclave)}" if enclave else ""}: '
            f'{reason}; where SROS 2 is enforced, name an enclave of the keystore, as in '
            '--enclave /operator', enclave=enclave) from error


def _shut_ros_down() -> None:
    """Shut ROS down; exit the process if that hangs."""
    emergency = threading.Timer(TEARDOWN_LIMIT, os._exit, (1,))
    emergency.daemon = True
    emergency.start()
    try:
        rclpy.try_shutdown()
    finally:
        emergency.cancel()
