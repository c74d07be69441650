"""
The life of a node's process: start, run, stop on a signal in good order, exit code.

A node's `main` is one call of `run_process`. Exit codes: 0 after SIGINT, SIGTERM or the end of the
work, 1 after a defect (with its stack trace), 2 after a mistake of the user (one message, no
stack trace).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Callable, Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from robodyn_ros.exceptions import ParameterError, RobodynError, shown

USER_MISTAKE = 2
# seconds that leaving ROS may take before the process ends without it
TEARDOWN_LIMIT = 5.0


class StopRequest:
    """
    Whether SIGINT, SIGTERM or SIGHUP asked the process to stop.

    Until `defer` is called a signal interrupts at once (KeyboardInterrupt): nothing moves yet,
    and a node that still loads its robot must not keep anybody waiting. After that it only sets
    `requested`, however often it comes, so that a node can bring its robot to rest.

    Attributes
    ----------
    requested : bool
        Whether to stop.
    reason : str
        Name of the signal, empty before.

    """

    def __init__(self) -> None:
        self.requested = False
        self.reason = ''
        self._deferred = False

    def install(self) -> None:
        """Take over the signals; to be called from the main thread."""
        # a closed terminal or a lost ssh session (SIGHUP) is no reason to drop an arm
        for name in ('SIGINT', 'SIGTERM', 'SIGHUP'):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._handle)

    def defer(self) -> None:
        """From now on only take note of signals."""
        self._deferred = True

    def _handle(self, number: int, _frame) -> None:
        self.reason = self.reason or signal.Signals(number).name
        self.requested = True
        if not self._deferred:
            raise KeyboardInterrupt


def run(node: Node, until: Callable[[], bool], timeout: float | None = None,
        patience: float = 0.05) -> bool:
    """
    Deliver a node's callbacks until a condition holds.

    Parameters
    ----------
    node : Node
        Its callbacks are called in this thread.
    until : callable
        Looked at after every callback and at least every `patience` seconds.
    timeout : float, optional
        Most seconds to run, on the steady clock; for bounded shutdowns.
    patience : float
        Longest wait between two looks at `until`; signals are noticed that late.

    Returns
    -------
    bool
        Whether the condition holds; False after the timeout, or when ROS was shut down.

    """
    end = None if timeout is None else time.monotonic() + timeout
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        while not until():
            left = patience if end is None else min(patience, end - time.monotonic())
            if left <= 0.0 or not node.context.ok():
                return False
            executor.spin_once(timeout_sec=left)
        return True
    except ExternalShutdownException:
        return False
    finally:
        executor.remove_node(node)
        executor.shutdown(timeout_sec=1.0)


def run_until_stopped(node: Node, stop: StopRequest) -> None:
    """Deliver callbacks until a signal comes: the work of a node that only reacts."""
    run(node, lambda: stop.requested)


def run_process(name: str, make_node: Callable[[StopRequest], Node],
                work: Callable[[Node, StopRequest], None] = run_until_stopped,
                args: Sequence[str] | None = None) -> int:
    """
    Live the whole life of a node's process, and return its exit code.

    Parameters
    ----------
    name : str
        Of the node, for messages before there is one.
    make_node : callable
        `make_node(stop)` makes the node. A `RobodynError` is a mistake of the user.
    work : callable
        `work(node, stop)` does what the node is for, and returns soon after `stop.requested`,
        in good order. Signals no longer interrupt here.
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
    finally:
        stop.defer()
        _shut_ros_down()


def _start_ros(arguments: list[str]) -> None:
    try:
        unknown = remove_ros_args(arguments)[1:]
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # several unrelated types, all of them about the command line
        reason = str(error).strip().partition('\n')[0]
        raise RobodynError(f'the ROS arguments are not understood: {reason}; they are written as '
                           'in `--ros-args -p urdf_file:=arm.urdf`') from error
    if unknown:
        raise RobodynError(f'unknown argument {unknown[0]!r}: parameters are set as in '
                           '`--ros-args -p urdf_file:=arm.urdf`', arguments=unknown)


def init_tool(enclave: str = '', context: rclpy.Context | None = None) -> None:
    """
    Start ROS for a tool with options of its own, which reads no ROS arguments.

    Parameters
    ----------
    enclave : str
        Of SROS 2, whose keys and permissions the process has; '' for none.
    context : Context, optional
        Default the one of rclpy.

    Raises
    ------
    ParameterError
        There is no such enclave, or no keys are found where they are enforced.

    """
    arguments = ['--ros-args', '--enclave', enclave] if enclave else []
    try:
        rclpy.init(args=arguments, context=context,
                   signal_handler_options=SignalHandlerOptions.NO)
    except Exception as error:  # its type is no part of rclpy's interface
        reason = str(error).strip().partition('\n')[0]
        raise ParameterError(
            f'ROS cannot be started{f" in the enclave {shown(enclave)}" if enclave else ""}: '
            f'{reason}; where SROS 2 is enforced, name an enclave of the keystore, as in '
            '--enclave /operator', enclave=enclave) from error


def _shut_ros_down() -> None:
    """Shut ROS down, with the nodes that are left; end the process if that hangs."""
    emergency = threading.Timer(TEARDOWN_LIMIT, os._exit, (1,))
    emergency.daemon = True
    emergency.start()
    try:
        rclpy.try_shutdown()
    finally:
        emergency.cancel()
