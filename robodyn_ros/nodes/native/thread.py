"""Thread of a native loop."""

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
STUCK = 70  # exit code if the last iteration takes too long
_END = 5.0  # s, longest for the last iteration
_MACHINES = ('x86_64', 'aarch64')


class LoopThread:
    """
    Runs `loop(block)` of machine code until the word `stop` is set, or until it returns.

    Parameters
    ----------
    name : str
        Name of the thread.
    code : Code
        Machine code with the function `loop`.
    block : Block
        Block of the loop.
    end : callable
        Called if the interpreter exits while the thread runs; calls `stop`.
    wake : callable, optional
        Ends a wait of the loop.

    Attributes
    ----------
    native_id : int
        Thread id of the last thread that was started.

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
        """Whether it was started and not stopped since, even if the loop has returned."""
        return self._thread is not None

    def start(self, *owners) -> None:
        """
        Start the thread.

        Parameters
        ----------
        *owners
            Owners of handles that must exist while the thread runs; None is ignored.

        Raises
        ------
        NativeLoopError
            The system cannot create a thread.

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
        self._thread, self.native_id = thread, thread.native_id or 0
        atexit.register(self._end)

    def stop(self) -> None:
        """Stop the thread, and wait for its end."""
        self._block['stop'] = 1
        if self._wake is not None:
            with suppress(RuntimeError, ValueError):  # without it the current wait times out
                self._wake()
        thread = self._thread
        assert thread is not None
        thread.join(_END)
        if thread.is_alive():  # it may still use what would be destroyed next
            LOGGER.critical('the %s does not end within %g s', self._name, _END)
            os._exit(STUCK)
        atexit.unregister(self._end)
        self._thread = None
        self._held.close()


def check_platform() -> None:
    """Raise `NativeLoopError` on platforms without the structures and clocks of `rcl`."""
    if (sys.platform != 'linux' or platform.machine() not in _MACHINES
            or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != 'little'):
        raise NativeLoopError(
            f'the native loop needs Linux on {" or ".join(_MACHINES)}; this is {sys.platform} on '
            f'{platform.machine()}')
