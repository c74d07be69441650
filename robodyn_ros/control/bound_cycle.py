"""The cycle of one robot, bound to the arrays of an arm."""

from __future__ import annotations

import numpy as np

from robodyn_ros.dynamics.jit.arguments import as_argument
from robodyn_ros.dynamics.jit.bound import BoundCall


class BoundCycle:
    """
    Arrays of one arm, and the cycle bound to them.

    Parameters
    ----------
    made : CompiledCycle
        The cycle.
    own : Function, ctypes function or int, optional
        Own law, with the signature of a law.

    Attributes
    ----------
    state, program : array
        State and program of the next cycle.
    memory, before : array
        Memory after the last cycle, and after the one before.
    torque : (nv,) array
        Torque of the last cycle.
    run : callable
        Runs a cycle; without arguments or result.

    """

    def __init__(self, made, own=None):
        self.state, self.program, self.memory, self.before = (
            np.zeros(made.sizes[name]) for name in ('state', 'program', 'memory', 'memory'))
        self.torque = np.zeros(made.dimensions['joints'])
        self._own, self._kind = own, made.function.arguments['path']
        self._rows = made.rows
        if own is not None:
            self._rows = made.copy_of_rows()
            self._rows[-1:] = as_argument('own law', made.tables['laws'], [own])
        self._segments = np.zeros((1, self._kind.columns))
        made.prepare()
        self._made = made
        self._bound = self.copy(self.state, self.before, self.program, self.torque, self.memory)
        self._place = made.function.place('path')
        self.run = self._bound.call

    def copy(self, state, before, program, torque, memory) -> BoundCall:
        """Return a call of the same cycle with other arrays, see `function.BoundCall`."""
        call = self._made.function.bound(
            self._rows, *list(self._made.functions.values())[1:], self._segments, state, before,
            program, torque, memory)
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
