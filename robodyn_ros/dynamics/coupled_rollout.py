"""Compiled loops over steps in which a function of one state is called, for many states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit import loops, machine
from robodyn_ros.dynamics.jit.arguments import as_argument, passed
from robodyn_ros.dynamics.jit.bound import BoundCall
from robodyn_ros.dynamics.jit.coupled_loop import coupled_ir
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.program import Table, trace
from robodyn_ros.exceptions import ArgumentError


@dataclass(frozen=True, eq=False)
class StatefulFunction:
    """
    Function with a memory that is called in each step, and the arrays it is bound to.

    Attributes
    ----------
    call : BoundCall
        Its call.
    argument, result : array
        Its argument, and its first result.
    memory, program : int
        Lengths of its memory, which is its second result as well, and of its program.
    addresses : (int, int, int)
        Indices of the addresses of memory, program and next memory in the arguments of the call.
    observed : tuple of int
        Indices of the values of the next memory that follow the result in the loop.

    """

    call: BoundCall
    argument: NDArray
    result: NDArray
    memory: int
    program: int
    addresses: tuple[int, int, int]
    observed: tuple[int, ...]


class CoupledRollout:
    """
    A compiled loop over steps, for many states at once; made by `Dynamics.coupled_rollout`.

    Parameters
    ----------
    first : callable
        `first(runtime, state, constants, inputs, *tables)` over lists of scalars returns the
        argument of the function, and what is kept for the second part.
    then : callable
        `then(runtime, kept, constants, result, *tables)` returns the next state, from the
        result of the function followed by the observed values of its next memory.
    sizes : (int, int, int, int)
        Lengths of state, constants, inputs, and of what is kept.
    function : StatefulFunction
        The function.
    tables : mapping of str to Table
        Tables of both parts.
    recorded : int
        Number of leading state values that are recorded.
    runtime : (k,) array
        Parameters common to all calls.
    key, cache
        As for `Kernel`.

    """

    def __init__(self, first: Callable, then: Callable, sizes: tuple[int, int, int, int],
                 function: StatefulFunction, tables: Mapping[str, Table], recorded: int,
                 runtime: NDArray, key: str | None, cache: Path | None):
        self.sizes, self.tables, self.recorded = sizes, dict(tables), recorded
        self.runtime, self.function = runtime, function
        self._first, self._then = first, then
        self._codes = machine.Codes(key, cache)
        self._run: Callable | None = None

    def __call__(self, state: NDArray, memories: NDArray, programs: NDArray, constants: NDArray,
                 inputs: NDArray, tables: Sequence, records: NDArray | None = None
                 ) -> tuple[NDArray, NDArray, NDArray]:
        """
        Apply the step along the inputs.

        Parameters
        ----------
        state, memories, programs, constants : (N, ...) array
            State of each run, memory and program of its function, and constants.
        inputs : (T, m) or (N, T, m) array
            Inputs of T steps; for all runs, or for each run.
        tables : sequence
            Rows of each table.
        records : (N, T, r) array, optional
            Array for the records; a table may be of the same memory, to read earlier records.

        Returns
        -------
        state, memories, records : (N, ...) array
            Final states and memories, and the leading state values after each step.

        Raises
        ------
        ArgumentError
            Wrong shape, naming the argument.

        """
        size, fixed, m, _ = self.sizes
        function, count = self.function, len(state)
        given = {'state': (state, size), 'memories': (memories, function.memory),
                 'programs': (programs, function.program), 'constants': (constants, fixed)}
        for name, (array, length) in given.items():
            _check(name, array, (count, length))
        steps = inputs.shape[-2]
        _check('inputs', inputs, (steps, m) if inputs.ndim == 2 else (count, steps, m))
        shape = (count, steps, self.recorded)
        records = np.empty(shape) if records is None else records
        _check('records', records, shape)
        arrays = [as_argument(name, kind, each)
                  for (name, kind), each in zip(self.tables.items(), tables, strict=True)]
        state, memories, others = state.copy(), memories.copy(), np.empty_like(memories)
        if count and steps:
            self._compiled()(
                count, steps, state, constants, inputs, records, memories, others, programs,
                passed(self.tables.values(), arrays))
        return state, others if steps % 2 else memories, records

    def first(self, *values) -> tuple[list, list]:
        """Return the first part of a step, for floats."""
        argument, kept = self._first(*values)
        return flatten(argument), flatten(kept)

    def then(self, *values) -> list:
        """Return the second part of a step, for floats."""
        return flatten(self._then(*values))

    def warm(self) -> None:
        """Compile the loop, or load it from the cache."""
        self._compiled()

    def _compiled(self) -> Callable:
        run = self._run = self._run or self._make()
        return run

    def _make(self) -> Callable:
        inner, (size, fixed, m, kept) = self.function, self.sizes
        argument, result = len(inner.argument), len(inner.result) + len(inner.observed)
        kinds = tuple(self.tables.values())

        def ir():
            runtime = len(self.runtime)
            first = trace(self._first, (runtime, size, fixed, m, *kinds), (argument, kept),
                          in_place=False)
            then = trace(self._then, (runtime, kept, fixed, result, *kinds), (size,),
                         in_place=False)
            return coupled_ir(first, then, self.recorded, inner.memory, inner.program,
                              inner.observed)

        code = self._codes.of('coupled', ir)
        types = [ctypes.c_int64] * 2 + [ctypes.c_void_p] * 5 + [ctypes.c_int64] * 2
        function = ctypes.CFUNCTYPE(None, *types, *[ctypes.c_void_p] * 11,
                                    *[ctypes.c_void_p, ctypes.c_int64] * len(kinds))(
                                        code.address('coupled'))
        length = loops.workspace_size(size, fixed, m, argument, kept, result)
        call, arguments = inner.call, inner.call.arguments.ctypes.data

        def run(count, steps, state, constants, inputs, records, memories, others, programs,
                tables):
            workspace = np.empty(length)
            function(count, steps, loops.aligned(workspace), self.runtime.ctypes.data,
                     state.ctypes.data, constants.ctypes.data, inputs.ctypes.data,
                     steps * m if inputs.ndim == 3 else 0, m, records.ctypes.data,
                     call.code, call.block, inner.argument.ctypes.data, inner.result.ctypes.data,
                     *(arguments + 8 * each for each in inner.addresses),
                     memories.ctypes.data, others.ctypes.data, programs.ctypes.data, *tables)

        setattr(run, 'code', code)  # keeps it loaded
        return run


def _check(name: str, array: NDArray, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != float or not array.flags.c_contiguous:
        raise ArgumentError(f'{name} must be a C-contiguous array of floats of shape {shape}; '
                            f'got {array.dtype} of shape {array.shape}', name=name)
