"""Host of the control cycle in Python: its arrays, and calls of the cycle."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

import numpy as np

from robodyn_ros.control.compiled import BLOCKS, CompiledCycle
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.arguments import as_argument
from robodyn_ros.dynamics.jit.bound import BoundCall
from robodyn_ros.exceptions import ArgumentError, near_matches
from robodyn_ros.safety.acceptance import REQUESTS


class BoundCycle:
    """
    Arrays of one arm, and the cycle bound to them.

    Parameters
    ----------
    compiled : CompiledCycle
        The cycle.
    own : Function, ctypes function or int, optional
        Own law, with the signature of a law.

    Attributes
    ----------
    state, program : array
        State and program of the next cycle.
    memory, previous_memory : array
        Memory after the last cycle, and after the one before.
    torque : (nv,) array
        Torque of the last cycle.
    run : callable
        Runs a cycle; without arguments or result.

    """

    def __init__(self, compiled, own=None):
        self.state, self.program, self.memory, self.previous_memory = (
            np.zeros(compiled.sizes[name]) for name in ('state', 'program', 'memory', 'memory'))
        self.torque = np.zeros(compiled.dimensions['joints'])
        self._own, self._kind = own, compiled.function.arguments['path']
        self._rows = compiled.rows
        if own is not None:
            self._rows = compiled.copy_of_rows()
            self._rows[-1:] = as_argument('own law', compiled.tables['laws'], [own])
        self._segments = np.zeros((1, self._kind.columns))
        compiled.prepare()
        self._compiled = compiled
        self._bound = self.copy(
            self.state, self.previous_memory, self.program, self.torque, self.memory)
        self._place = compiled.function.place('path')
        self.run = self._bound.call

    def copy(self, state, before, program, torque, memory) -> BoundCall:
        """Return a call of the same cycle with other arrays, see `function.BoundCall`."""
        call = self._compiled.function.bound(
            self._rows, *list(self._compiled.functions.values())[1:], self._segments, state,
            before, program, torque, memory)
        call.feed(before, memory)
        return call

    @property
    def segments(self) -> np.ndarray:
        """Segments of the trajectories, (rows, columns), see `path`; replaced as a whole."""
        return self._segments

    @segments.setter
    def segments(self, rows) -> None:
        table = as_argument('segments', self._kind, rows)
        self._bound.arguments[self._place:self._place + 2] = table.ctypes.data, len(table)
        self._segments = table


class Host:
    """
    Memory and program of one arm, and its control cycle.

    Parameters
    ----------
    compiled : CompiledCycle
        The cycle of the robot.
    own : callable, optional
        Own law, as a C function with the signature of a law.

    Attributes
    ----------
    bound : BoundCycle
        The cycle with the arrays of this arm.
    values : dict of str to array
        Numbers of the blocks 'state', 'memory', 'program'.
    state, memory, program : namespace
        Views of these blocks, fields by name. The program is written between two cycles only;
        `apply` handles its requests at once.
    remote : object or None
        External loop that runs the cycle, with `submit()` and `refresh()`; `memory` is then a
        copy of its memory.
    most_segments : float
        Largest number of segments of trajectories.

    """

    def __init__(self, compiled: CompiledCycle, own: Callable | None = None):
        self.compiled, self.bound = compiled, BoundCycle(compiled, own)
        self.values = {name: getattr(self.bound, name) for name in BLOCKS}
        self.state, self.memory, self.program = (
            blocks.views(cls, self.values[name], compiled.dimensions)
            for name, cls in BLOCKS.items())
        self._head = self.bound.state[:2]  # kind, now
        self._run, self._torque = self.bound.run, self.bound.torque
        self.remote: Any = None
        self.most_segments = math.inf

    def run(self, kind: float, now: float) -> np.ndarray:
        """Run a cycle for the state that was written; return the torque."""
        self._head[:] = kind, now
        self._run()
        return self._torque

    def apply(self, now: float = 0.0) -> None:
        """Handle the requests of the program in the memory."""
        if self.remote is None:
            self.run(REQUESTS, now)
        else:
            self.remote.submit()

    def refresh(self) -> bool:
        """Copy the memory of the newest cycle of an external loop; return whether there is one."""
        if self.remote is None:
            return False
        self.remote.refresh()
        return True

    def place(self, name: str) -> int:
        """Return the index of a field in the memory."""
        return next(entry.begin for entry in blocks.entries(
            BLOCKS['memory'], self.compiled.dimensions) if entry.name == name)

    def on_floats(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Return torque and next memory of a cycle with the present arrays, computed in Python.

        Changes nothing; for debugging, and for comparison with machine code.
        """
        torque, memory = self.compiled.function.interpret(
            *self.compiled.functions.values(), self.bound.segments, *self.values.values())
        return torque, memory

    def explain(self, name: str = 'memory') -> str:
        """
        Return a block as text: a line for each field, with its numbers, unit and meaning.

        Raises ArgumentError for a name other than state, memory and program.
        """
        if name not in BLOCKS:
            raise ArgumentError(f'there is no block {name!r}; {near_matches(name, BLOCKS)}')
        return blocks.explain(BLOCKS[name], self.values[name], self.compiled.dimensions)
