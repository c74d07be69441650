"""The control cycle called from Python: its arrays, and what has to be done around a call."""

from __future__ import annotations

from collections.abc import Callable
import ctypes

import numpy as np

from robodyn_ros.control import blocks
from robodyn_ros.control.compiled import BLOCKS, CompiledCycle
from robodyn_ros.control.state import REQUESTS
from robodyn_ros.control.steps import laws
from robodyn_ros.control.terms import Term
from robodyn_ros.exceptions import ArgumentError, near_matches


class Host:
    """
    One arm's memory and program, and the cycle that works on them.

    Parameters
    ----------
    made : CompiledCycle
        The cycle of the robot.
    own : callable, optional
        The law of the user, as a C function with the signature of a law.

    Attributes
    ----------
    bound : BoundCycle
        The cycle with the arrays of this arm.
    values : dict of str to array
        Numbers of the blocks 'state', 'memory', 'program'.
    state, memory, program : namespace
        Views of these blocks, fields by name. The program is written between two cycles only;
        with `apply` the memory follows it at once.
    remote : object or None
        Loop elsewhere that runs the cycle, with `submit()`; the memory is a copy of its own then.

    """

    def __init__(self, made: CompiledCycle, own: Callable | None = None):
        self.made, self.bound = made, made.bound(own)
        self.values = {name: getattr(self.bound, name) for name in BLOCKS}
        self.state, self.memory, self.program = (
            blocks.views(cls, self.values[name], made.dimensions)
            for name, cls in BLOCKS.items())
        self._head = self.bound.state[:2]  # kind and time
        self._run, self._torque = self.bound.run, self.bound.torque
        self.remote = None

    def run(self, kind: float, now: float) -> np.ndarray:
        """Go on by a cycle, whose state has been written; return the torque."""
        self._head[:] = kind, now
        self._run()
        return self._torque

    def apply(self, now: float = 0.0) -> None:
        """Let the memory follow the requests of the program."""
        if self.remote is None:
            self.run(REQUESTS, now)
        else:
            self.remote.submit()

    def place(self, name: str) -> int:
        """Return the place of a field in the memory."""
        return next(entry.begin for entry in blocks.entries(
            BLOCKS['memory'], self.made.dimensions) if entry.name == name)

    def on_floats(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Return torque and next memory of a cycle with the present arrays, computed by Python.

        Nothing changes; for a debugger, and to compare with machine code.
        """
        return self.made.function.interpret(
            *self.made.functions.values(), self.bound.segments, *self.values.values())

    def explain(self, name: str = 'memory') -> str:
        """
        Return a block as text: a line for each field, with its numbers, unit and meaning.

        Raises ArgumentError for a name other than state, memory and program.
        """
        if name not in BLOCKS:
            raise ArgumentError(f'there is no block {name!r}; {near_matches(name, BLOCKS)}')
        return blocks.explain(BLOCKS[name], self.values[name], self.made.dimensions)


def law_function(dimensions: dict[str, int], ask: Callable) -> Callable:
    """
    Return a law in Python as a C function with the signature of a law.

    Parameters
    ----------
    dimensions : dict of str to int
        Of the robot.
    ask : callable
        `ask(runtime, arrays)` gets the gravity and payload parameters, and the inputs of a law by
        rows, see `laws.INPUTS`. It returns the first rows of `Term`, and a code, 0 if it worked.

    """
    n, pointer = dimensions['joints'], ctypes.POINTER(ctypes.c_double)
    size, runtime_size = laws.output_size(dimensions), dimensions['runtime']
    rows = laws.sizes(dimensions)[1] // n

    def law(runtime, arrays, _gains, _task, _share, _limit, out):
        result = np.ctypeslib.as_array(out, (size,))
        result.fill(np.nan)  # an exception does not pass machine code: the torque is refused then
        terms, code = ask(np.ctypeslib.as_array(runtime, (runtime_size,)),
                          np.ctypeslib.as_array(arrays, (rows * n,)).reshape(rows, n))
        result.fill(0.0)
        result[:terms.size] = terms.ravel()
        result[len(Term) * n] = code

    return ctypes.CFUNCTYPE(None, *[pointer] * 7)(law)
