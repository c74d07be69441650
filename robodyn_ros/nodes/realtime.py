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
from types import SimpleNamespace

from rclpy.node import Node

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.parameters import Parameter

_LIMITS = ('put `{user} - {limit} {value}` into /etc/security/limits.d/robodyn.conf and log in '
           'again, or start it with CAP_{capability}')
_MCL_CURRENT, _MCL_FUTURE = 1, 2

REALTIME_PARAMETERS = (
    Parameter('realtime.priority', 'int', 0, 'Priority among real-time processes (SCHED_FIFO), '
              '1 to 98; 0: an ordinary process. Needs permission.', minimum=0, maximum=98,
              read_only=True),
    Parameter('realtime.lock_memory', 'bool', False, 'Keep all memory from being swapped out. '
              'Needs permission.', read_only=True),
    Parameter('realtime.processors', 'int_array', (), 'Numbers of the processors to stay on; '
              'empty: all.', read_only=True),
)


def enter_realtime(values: SimpleNamespace, python: bool = True
                   ) -> tuple[list[str], list[str]]:
    """
    Ask for what the parameters say.

    Parameters
    ----------
    values : SimpleNamespace
        The values of `REALTIME_PARAMETERS`.
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
    for wish, ask in ((values.realtime_processors, _stay_on), (values.realtime_lock_memory, _lock),
                      (values.realtime_priority, _prioritise)):
        if wish:
            try:
                granted.append(ask(wish, _threads(python)))
            except OSError as error:
                refused.append(str(error))
    return granted, refused


def configure_realtime(node: Node, values: SimpleNamespace, python: bool = True) -> None:
    """Ask for what the parameters say, log the answers, and leave what exists to no collector."""
    granted, refused = enter_realtime(values, python)
    for text in granted:
        node.get_logger().info(text)
    for text in refused:
        node.get_logger().warning(text)
    gc.collect()  # takes a while: not when there is an arm to hold
    gc.freeze()  # collections need not look at it again


def bring_on_time(thread: int, values: SimpleNamespace) -> None:
    """Ask the same for a thread that was made since; what is refused was logged before."""
    for wish, ask in ((values.realtime_processors, _stay_on),
                      (values.realtime_priority, _prioritise)):
        if wish:
            with contextlib.suppress(OSError, ParameterError):
                ask(wish, [thread])


def be_ordinary(thread: int, values: SimpleNamespace) -> None:
    """Take the priority from a thread that has nothing urgent to do, until `bring_on_time`."""
    if values.realtime_priority:
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
