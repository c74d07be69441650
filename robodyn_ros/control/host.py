"""Host of the control cycle in Python: its arrays, and calls of the cycle."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

import numpy as np

from robodyn_ros.control.bound_cycle import BoundCycle
from robodyn_ros.control.compiled import BLOCKS, CompiledCycle
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.exceptions import ArgumentError, near_matches
from robodyn_ros.safety.acceptance import REQUESTS


class Host:
    """
    Memory and program of one arm, and its control cycle.

    Parameters
    ----------
    made : CompiledCycle
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

    def __init__(self, made: CompiledCycle, own: Callable | None = None):
        self.made, self.bound = made, BoundCycle(made, own)
        self.values = {name: getattr(self.bound, name) for name in BLOCKS}
        self.state, self.memory, self.program = (
            blocks.views(cls, self.values[name], made.dimensions)
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
            BLOCKS['memory'], self.made.dimensions) if entry.name == name)

    def on_floats(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Return torque and next memory of a cycle with the present arrays, computed in Python.

        Changes nothing; for debugging, and for comparison with machine code.
        """
        torque, memory = self.made.function.interpret(
            *self.made.functions.values(), self.bound.segments, *self.values.values())
        return torque, memory

    def explain(self, name: str = 'memory') -> str:
        """
        Return a block as text: a line for each field, with its numbers, unit and meaning.

        Raises ArgumentError for a name other than state, memory and program.
        """
        if name not in BLOCKS:
            raise ArgumentError(f'there is no block {name!r}; {near_matches(name, BLOCKS)}')
        return blocks.explain(BLOCKS[name], self.values[name], self.made.dimensions)
