"""
Real-time settings of a process on Linux: priority, locked memory, processors.

Most systems refuse these settings by default; a refusal of what was asked for is logged with its
remedy, and the process continues without. The settings apply to all threads of the process,
including those of DDS; with a native loop, threads that run Python keep the ordinary priority. So
does the thread of Fast DDS that sends samples later or again: it tries the lock of a writer in use
without a pause, and with a real-time priority the thread that has the lock, and all others of that
processor, got no time for tenths of a second. The garbage collector is set up as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
import ctypes
import gc
import os
import threading
from typing import Any

from rclpy.node import Node

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.settings import parameter, settings

_LIMITS = ('put `{user} - {limit} {value}` into /etc/security/limits.d/robodyn.conf and log in '
           'again, or start it with CAP_{capability}')
_MCL_CURRENT, _MCL_FUTURE = 1, 2
_WHERE_PERMITTED = -1
_USUAL_PRIORITY = 40  # below the threads of interrupts (50) and what a driver takes
_BUSY_WAITING = 'dds.asyn'  # how the names of threads begin that wait for a lock without a pause


@settings('realtime')
class RealtimeSettings:
    """Scheduling of a node."""

    priority: int = parameter(
        _WHERE_PERMITTED, 'Priority among real-time processes (SCHED_FIFO), 1 to 98; 0: an '
        'ordinary process; -1: 40 where the system permits it.', '', _WHERE_PERMITTED, 98,
        read_only=True)
    lock_memory: bool = parameter(
        False, 'Locking of all memory (mlockall). Needs permission.', read_only=True)
    processors: tuple[int, ...] = parameter(
        (), 'Numbers of the processors to run on; empty: all.', kind='int_array', read_only=True)


def enter_realtime(values: RealtimeSettings, python: bool = True, alone: bool = False
                   ) -> tuple[list[str], list[str]]:
    """
    Apply the real-time settings of the parameters.

    Parameters
    ----------
    values : RealtimeSettings
        The settings.
    python : bool
        Whether to include the threads that run Python.
    alone : bool
        Whether the process is this node alone. If not, a priority that was not requested leaves
        the threads that run Python as they are.

    Returns
    -------
    granted, refused : list of str
        Settings that were granted; those that were refused, with reason and remedy.

    Raises
    ------
    ParameterError
        There is no such processor.

    """
    granted, refused = [], []
    value: Any
    apply: Callable[[Any, Sequence[int]], str]
    asked = values.priority != _WHERE_PERMITTED
    for value, apply, threads in (
            (values.processors, _set_processors, _threads(python)),
            (values.lock_memory, _lock_memory, []),
            (_priority(values), _set_priority, _threads(python and (asked or alone)))):
        if value:
            try:
                granted.append(apply(value, threads))
            except OSError as error:
                if asked or apply is not _set_priority:
                    refused.append(str(error))
    return granted, refused


def configure_realtime(node: Node, values: RealtimeSettings, python: bool = True,
                       alone: bool = False) -> None:
    """Apply the settings, log the results, and exempt existing objects from collection."""
    granted, refused = enter_realtime(values, python, alone)
    for text in granted:
        node.get_logger().info(text)
    for text in refused:
        node.get_logger().warning(text)
    gc.unfreeze()  # a configuration before this one may have left garbage
    gc.collect()  # slow, hence before an arm is held
    gc.freeze()


def configure_thread(thread: int, values: RealtimeSettings) -> None:
    """Apply the settings to a new thread; refusals were logged before."""
    value: Any
    apply: Callable[[Any, Sequence[int]], str]
    for value, apply in ((values.processors, _set_processors),
                         (_priority(values), _set_priority)):
        if value:
            with contextlib.suppress(OSError, ParameterError):
                apply(value, [thread])


def reset_priority() -> Callable[[], None]:
    """Give this thread the ordinary priority; return a function that restores the one it had."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def restore() -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, *before)

    return restore


def _priority(values: RealtimeSettings) -> int:
    """Return the priority to ask for, 0 for an ordinary one."""
    return _USUAL_PRIORITY if values.priority == _WHERE_PERMITTED else values.priority


def _set_processors(processors: Sequence[int], threads: Sequence[int]) -> str:
    try:
        for thread in threads:
            os.sched_setaffinity(thread, processors)
    except (OSError, OverflowError, ValueError) as error:
        available = sorted(os.sched_getaffinity(0))
        raise ParameterError(
            f"parameter 'realtime.processors' is {list(processors)}: this process may use "
            f'{available}', value=list(processors)) from error
    return f'on processors {sorted(processors)}'


def _lock_memory(_lock: bool, _threads_: Sequence[int]) -> str:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(_MCL_CURRENT | _MCL_FUTURE):
        raise OSError(
            f'memory is not locked ({os.strerror(ctypes.get_errno())}): '
            + _LIMITS.format(user=_user(), limit='memlock', value='unlimited',
                             capability='IPC_LOCK'))
    return 'memory locked'


def _set_priority(priority: int, threads: Sequence[int]) -> str:
    try:
        for thread in threads:
            policy = ((os.SCHED_OTHER, os.sched_param(0)) if _waits_busily(thread)
                      else (os.SCHED_FIFO, os.sched_param(priority)))
            os.sched_setscheduler(thread, *policy)
    except OSError as error:
        raise OSError(
            f'no real-time priority ({error.strerror}): '
            + _LIMITS.format(user=_user(), limit='rtprio', value=priority,
                             capability='SYS_NICE')) from error
    return f'real-time priority {priority}'


def _threads(python: bool) -> list[int]:
    """Return the ids of the threads; new threads inherit the settings of their creator."""
    ordinary = set() if python else {each.native_id for each in threading.enumerate()}
    return [int(name) for name in os.listdir('/proc/self/task') if int(name) not in ordinary]


def _waits_busily(thread: int) -> bool:
    with open(f'/proc/self/task/{thread}/comm', encoding='utf-8', errors='replace') as file:
        return file.read().startswith(_BUSY_WAITING)


def _user() -> str:
    return os.environ.get('USER') or str(os.getuid())
