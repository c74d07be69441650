"""
What a process can ask of Linux to be on time: a priority, memory that stays, processors.

Each is tried, and refused by most systems until they are told to allow it; what is refused is
said with the remedy, and the process goes on without. The garbage collector is no matter for
Linux, and is told as well. All threads of the process are meant, those of DDS as well; where the
control loop is a thread of its own, those that run Python stay ordinary ones.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import ctypes
import gc
import os
import threading

from rclpy.node import Node

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.settings import parameter, settings

_LIMITS = ('put `{user} - {limit} {value}` into /etc/security/limits.d/robodyn.conf and log in '
           'again, or start it with CAP_{capability}')
_MCL_CURRENT, _MCL_FUTURE = 1, 2


@settings('realtime')
class RealtimeSettings:
    """Scheduling of a node."""

    priority: int = parameter(
        0, 'Priority among real-time processes (SCHED_FIFO), 1 to 98; 0: an ordinary process. '
        'Needs permission.', '', 0, 98, read_only=True)
    lock_memory: bool = parameter(
        False, 'Locking of all memory (mlockall). Needs permission.', read_only=True)
    processors: tuple[int, ...] = parameter(
        (), 'Numbers of the processors to run on; empty: all.', kind='int_array', read_only=True)


def enter_realtime(values: RealtimeSettings, python: bool = True
                   ) -> tuple[list[str], list[str]]:
    """
    Ask for what the parameters say.

    Parameters
    ----------
    values : RealtimeSettings
        The parameters.
    python : bool
        Whether threads that run Python are meant, too.

    Returns
    -------
    granted, refused : list of str
        What was granted; what was refused, why, and what to do about it.

    Raises
    ------
    ParameterError
        There is no such processor.

    """
    granted, refused = [], []
    for wish, ask in ((values.processors, _stay_on), (values.lock_memory, _lock),
                      (values.priority, _prioritise)):
        if wish:
            try:
                granted.append(ask(wish, _threads(python)))
            except OSError as error:
                refused.append(str(error))
    return granted, refused


def configure_realtime(node: Node, values: RealtimeSettings, python: bool = True) -> None:
    """Ask for what the parameters say, log the answers, and leave what exists to no collector."""
    granted, refused = enter_realtime(values, python)
    for text in granted:
        node.get_logger().info(text)
    for text in refused:
        node.get_logger().warning(text)
    gc.collect()  # takes a while: not when there is an arm to hold
    gc.freeze()  # collections need not look at it again


def bring_on_time(thread: int, values: RealtimeSettings) -> None:
    """Ask the same for a thread that was made since; what is refused was logged before."""
    for wish, ask in ((values.processors, _stay_on),
                      (values.priority, _prioritise)):
        if wish:
            with contextlib.suppress(OSError, ParameterError):
                ask(wish, [thread])


def be_ordinary(thread: int, values: RealtimeSettings) -> None:
    """Take the priority from a thread that has nothing urgent to do, until `bring_on_time`."""
    if values.priority:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _stay_on(processors: Sequence[int], threads: Sequence[int]) -> str:
    try:
        for thread in threads:
            os.sched_setaffinity(thread, processors)
    except (OSError, OverflowError, ValueError) as error:
        there = sorted(os.sched_getaffinity(0))
        raise ParameterError(
            f"parameter 'realtime.processors' is {list(processors)}: this process may use "
            f'{there}', value=list(processors)) from error
    return f'on processors {sorted(processors)}'


def _lock(_wish: bool, _threads_: Sequence[int]) -> str:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(_MCL_CURRENT | _MCL_FUTURE):
        raise OSError(
            f'memory is not locked ({os.strerror(ctypes.get_errno())}): '
            + _LIMITS.format(user=_user(), limit='memlock', value='unlimited',
                             capability='IPC_LOCK'))
    return 'memory locked'


def _prioritise(priority: int, threads: Sequence[int]) -> str:
    try:
        for thread in threads:
            os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        raise OSError(
            f'no real-time priority ({error.strerror}): '
            + _LIMITS.format(user=_user(), limit='rtprio', value=priority,
                             capability='SYS_NICE')) from error
    return f'real-time priority {priority}'


def _threads(python: bool) -> list[int]:
    """Return the threads there are; those to come take after the one that makes them."""
    ordinary = set() if python else {each.native_id for each in threading.enumerate()}
    return [int(name) for name in os.listdir('/proc/self/task') if int(name) not in ordinary]


def _user() -> str:
    return os.environ.get('USER') or str(os.getuid())
