"""Data exchanged with a loop that runs the cycle: programs to it, rows of its ring from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
import time

import numpy as np

from robodyn_ros.control.host import Host
from robodyn_ros.control.shared_block import ROW
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.nodes.native.block import Block
from robodyn_ros.nodes.native.rcl import NativeLoopError

_TIMEOUT = 2.0  # s until the loop uses a new program, on the busiest machine
_POLL = 1e-4    # s


class Row:
    """
    Inputs and results of one iteration of a loop.

    Attributes
    ----------
    stamp : int
        Stamp of the newest joint state, in ns.
    arrival, wall, end : float
        Begin of the iteration on the steady clock, the same on the clock of stamps, and its end
        on the steady clock, in s.
    sent : int
        Torques sent so far.
    kind : float
        Kind of the cycle, see `safety.acceptance`.
    memory, turn : array
        Memories of the cycle and of the turn.

    """

    __slots__ = ('stamp', 'arrival', 'wall', 'end', 'sent', 'kind', '_numbers', '_begin')

    def __init__(self, header: list[int], numbers: np.ndarray, kind_place: int, memory_size: int):
        _, self.stamp, *_, self.sent = header
        self.arrival, self.wall, self.end = numbers[2:5].tolist()
        self._numbers, self._begin = numbers, numbers.size - memory_size
        self.kind = numbers.item(self._begin + kind_place)

    @property
    def memory(self) -> np.ndarray:
        """Return the memory of the cycle."""
        return self._numbers[self._begin:]

    @property
    def turn(self) -> np.ndarray:
        """Return the memory of the turn."""
        return self._numbers[len(ROW):self._begin]


class LoopData:
    """
    Writes programs of a host for a loop, and reads what the loop did with them.

    The loop uses the newest of three programs, and writes a row for each cycle into a ring.

    Parameters
    ----------
    host : Host
        Memory and program of the arm; the memory is a copy of the loop's, see `load_row`.
    block : Block
        Words shared with the loop.
    code : Code
        Machine code with the function `swap`, see `Writer.swap`.
    write_program : callable
        Writes words and segments of a program, called with its place and its number.
    wake_up : callable, optional
        Ends a wait of the loop.
    turn : array, optional
        Becomes the memory of the turn in a row that is loaded.

    Attributes
    ----------
    block : Block
        Words shared with the loop.
    number : int
        Number of the newest program.
    missed : int
        Iterations that were overwritten before `rows` was called.

    """

    def __init__(self, host: Host, block: Block, code: machine.Code,
                 write_program: Callable[[int, int], None],
                 wake_up: Callable[[], object] = lambda: None,
                 turn: np.ndarray | None = None):
        self._host, self.block, self._code = host, block, code
        self._write_program, self._wake_up = write_program, wake_up
        self._turn = turn
        self._swap = ctypes.PYFUNCTYPE(None, ctypes.c_int64)(code.address('swap'))
        self._kind_place = host.place('acceptance.kind')
        self._read = self._begin = self.number = self.missed = 0

    def set_arrays(self, ring: np.ndarray, programs: Sequence[np.ndarray] | np.ndarray) -> None:
        """Set the ring, (rows, words), and the arrays of the programs."""
        self._ring, self._programs = ring, list(programs)

    def begin(self) -> int:
        """Give the program of the host to a loop whose rows so far do not count; see `put`."""
        self.reset_watchdog()
        self._read = self._begin = self.block['count']
        return self.put()

    def reset_watchdog(self) -> None:
        """Reset the watchdog of the loop, which stops motions if this process does not react."""
        self.block.set_number('alive', time.monotonic())

    # --- programs ---------------------------------------------------------------------------

    def submit(self) -> None:
        """
        Submit the program of the host, and wait until the loop has used it.

        Raises
        ------
        NativeLoopError
            The loop does not react.

        """
        number = self.put()
        self._wake_up()
        self.wait(number)
        self.refresh()

    def submit_changes(self) -> None:
        """Submit the program of the host if it has changed."""
        if self._programs[self.block['current']].tobytes() != self._host.bound.program.tobytes():
            self.put()

    def put(self) -> int:
        """Make the program of the host the newest one; return its number."""
        block = self.block
        free = ({0, 1, 2} - {block['current'], block['using']}).pop()
        self._programs[free][:] = self._host.bound.program
        self.number += 1
        self._write_program(free, self.number)
        block['chosen'] = free
        self._swap(block.address)
        return self.number

    def wait(self, number: int) -> None:
        """Wait until the loop has used a program; raises NativeLoopError if it does not."""
        end = time.monotonic() + _TIMEOUT
        while self.block['used'] < number:
            if time.monotonic() > end:
                raise NativeLoopError('the control loop does not react')
            time.sleep(_POLL)

    # --- results ----------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """Return the iterations since the last call that were not overwritten."""
        count, ring = self.block['count'], self._ring
        kept = self._rows(np.arange(max(self._read, count - len(ring) + 1), count))
        self.missed += count - self._read - len(kept)
        self._read = count
        return kept

    def _rows(self, numbers: np.ndarray) -> list[Row]:
        """Return iterations by their numbers, without those that have been overwritten."""
        places = numbers % len(self._ring)
        words = self._ring[places]
        words = words[(words[:, 0] == numbers) & (self._ring[places, 0] == numbers)]
        return [Row(header, row, self._kind_place, self._host.bound.memory.size)
                for header, row in zip(words[:, :len(ROW)].tolist(), words.view(np.float64))]

    def newest(self) -> Row:
        """Return the newest iteration."""
        while not (rows := self._rows(np.array([self.block['count'] - 1]))):
            pass
        return rows[0]

    def refresh(self) -> None:
        """Copy the memory of the newest iteration, if there was one, to the host."""
        if self.block['count'] != self._begin:
            self.load_row(self.newest())

    def load_row(self, row: Row) -> None:
        """Copy the memory of an iteration to the host, and that of the turn."""
        self._host.bound.memory[:] = row.memory
        if self._turn is not None:
            self._turn[:] = row.turn
