"""The thread of a native loop: what it needs of the system, its begin, its end."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack, suppress
import ctypes
import logging
import os
import platform
import sys
from threading import Thread

from robodyn_ros.dynamics.jit import machine
from robodyn_ros.nodes.native.block import Block
from robodyn_ros.nodes.native.rcl import NativeLoopError

LOGGER = logging.getLogger(__name__)
STUCK = 70  # exit code where the last turn takes too long
_END = 5.0  # s that it may take
_MACHINES = ('x86_64', 'aarch64')


class LoopThread:
    """
    Runs `loop(block)` of machine code until the word `stop` is set, or until it ends by itself.

    Parameters
    ----------
    name : str
        Of the thread.
    code : Code
        It has the function `loop`.
    block : Block
        Its words.
    end : callable
        Called if the interpreter ends while the thread runs; calls `stop`.
    wake : callable, optional
        Lets a turn that waits begin.

    Attributes
    ----------
    native_id : int
        Number that the system gave to the thread that was started last.

    """

    def __init__(self, name: str, code: machine.Code, block: Block, end: Callable[[], None],
                 wake: Callable[[], None] | None = None):
        self._name, self._block, self._end, self._wake = name, block, end, wake
        self._loop = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address('loop'))
        self._thread: Thread | None = None
        self._held = ExitStack()
        self.native_id = 0

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped since, even if it has ended by itself."""
        return self._thread is not None

    def start(self, *owners) -> None:
        """
        Begin.

        Parameters
        ----------
        *owners
            Of handles, which are not destroyed while the thread runs; None is passed over.

        Raises
        ------
        NativeLoopError
            The system has no thread for it.

        """
        self._held = ExitStack()
        for each in owners:
            if each is not None:
                self._held.enter_context(each.handle)
        self._block['stop'] = 0
        thread = Thread(target=self._loop, args=(self._block.address,), daemon=True,
                        name=self._name)
        try:
            thread.start()
        except RuntimeError as error:
            self._held.close()
            raise NativeLoopError(f'no thread for the {self._name}: {error}') from error
        self._thread, self.native_id = thread, thread.native_id
        atexit.register(self._end)  # whatever ends the interpreter

    def stop(self) -> None:
        """End it, and wait for that."""
        self._block['stop'] = 1
        if self._wake is not None:
            with suppress(RuntimeError, ValueError):  # without this it ends at its next turn
                self._wake()
        self._thread.join(_END)
        if self._thread.is_alive():  # all that could be destroyed now it may still use
            LOGGER.critical('the %s does not end within %g s', self._name, _END)
            os._exit(STUCK)
        atexit.unregister(self._end)
        self._thread = None
        self._held.close()


def check_platform() -> None:
    """Raise `NativeLoopError` where machine code and structures would not fit each other."""
    if (sys.platform != 'linux' or platform.machine() not in _MACHINES
            or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != 'little'):
        raise NativeLoopError(
            f'needed is Linux on {" or ".join(_MACHINES)}; this is {sys.platform} on '
            f'{platform.machine()}')
