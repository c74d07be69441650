"""The control cycle called from Python: its arrays, and what has to be done around a call."""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from types import SimpleNamespace

import numpy as np

from robodyn_ros.control import blocks
from robodyn_ros.control.steps import laws, path
from robodyn_ros.control.steps.compiled import CompiledCycle
from robodyn_ros.control.steps.memory import Memory
from robodyn_ros.control.steps.program import Program
from robodyn_ros.control.steps.state import REQUESTS, State
from robodyn_ros.control.terms import Term


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
    memory, program : namespace
        Views of the blocks, fields by name. The program is written between two cycles only, and
        with `apply` the memory follows it at once.
    values : dict of str to array
        Numbers of the blocks 'state', 'memory', 'program', for `blocks.explain` and
        `blocks.differences`.
    torque : (nv,) array
        Result of the last cycle.
    table : (rows, columns) array
        Segments of the trajectories, see `steps.path`.

    """

    def __init__(self, made: CompiledCycle, own: Callable | None = None):
        self.made, self._own = made, own
        self.values = {name: made.zeros(name) for name in ('state', 'memory', 'program')}
        n = self._n = made.dimensions['joints']
        self._next, self.torque = made.zeros('memory'), np.zeros(n)
        self.state, self.memory, self.program = (
            blocks.views(cls, self.values[name], made.dimensions)
            for name, cls in (('state', State), ('memory', Memory), ('program', Program)))
        self.table = np.zeros((1, path.columns(n)))
        self._head = self.values['state'][:2]  # kind and time
        self._bind()

    def replace_table(self, table: np.ndarray) -> None:
        """Use other segments from the next cycle on."""
        self.table = table
        self._bind()

    def _bind(self) -> None:
        made = self.made
        self._call = made.function.bind(
            [*made.laws, self._own], *list(made.functions.values())[1:], self.table,
            *self.values.values(), self.torque, self._next)

    def run(self, kind: float, now: float) -> np.ndarray:
        """Go on by a cycle; the state has been written. Return the torque."""
        self._head[:] = kind, now
        self._call()
        self.values['memory'][:] = self._next
        return self.torque

    def apply(self, now: float = 0.0) -> None:
        """Let the memory follow the requests of the program."""
        self.run(REQUESTS, now)


_MADE: dict = {}


def compiled_cycle(dynamics, link, learning_link, slot, longest_pause, schedule):
    rows = SimpleNamespace(
        rows=schedule._rows.tolist(), factors=schedule._factors.tolist(),
        continuous=list(map(bool, dynamics.model.continuous)),
        sharpness=float(schedule._sharpness))
    key = (dynamics.model.name, dynamics.nv, dynamics.runtime.size, dynamics.tree, link,
           learning_link, slot, longest_pause, repr(rows))
    if key not in _MADE:
        _MADE[key] = CompiledCycle(dynamics, link, learning_link, slot, longest_pause, rows)
    return _MADE[key]


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
