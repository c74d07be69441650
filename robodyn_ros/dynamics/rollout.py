"""Compiled loops that apply a step many times to many states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.dynamics.jit import loops, machine
from robodyn_ros.dynamics.jit.arguments import as_argument, passed
from robodyn_ros.dynamics.jit.bound import BoundCall
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.program import Program, Table, trace
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


class Coupling(NamedTuple):
    """
    Function of one state that is called in each step of a rollout.

    Attributes
    ----------
    first : callable
        `first(runtime, state, constants, inputs, *tables)` over lists of scalars returns the
        argument of the function, and what is kept for the step.
    kept : int
        Length of what is kept.
    function : StatefulFunction
        The function.

    """

    first: Callable
    kept: int
    function: StatefulFunction


class Rollout:
    """
    A compiled loop over steps, for many states at once; made by `Dynamics.rollout`.

    Parameters
    ----------
    step : callable
        `step(runtime, state, constants, given, *tables)` over lists of scalars returns the next
        state. `given` are the inputs; with a function what is kept, its result, and the observed
        values of its next memory.
    sizes : (int, int, int)
        Lengths of state, constants and inputs.
    tables : mapping of str to Table
        Further arguments of the step.
    recorded : int
        Number of leading state values that are recorded.
    runtime : (k,) array
        Parameters common to all calls.
    key, compiled, cache
        As for `Kernel`.
    coupling : Coupling, optional
        Function that is called in each step, which is compiled in any case.

    """

    def __init__(self, step: Callable, sizes: tuple[int, int, int], tables: Mapping[str, Table],
                 recorded: int, runtime: NDArray, key: str | None, compiled: bool,
                 cache: Path | None, coupling: Coupling | None = None):
        self.sizes, self.tables, self.coupling = sizes, dict(tables), coupling
        self.recorded, self.runtime = recorded, runtime
        self._step = step
        self._codes = machine.Codes(key, cache)
        self._run: Callable | None = None if compiled or coupling else self._interpret

    def __call__(self, state: ArrayLike, constants: ArrayLike, inputs: ArrayLike,
                 every: int = 1, threads: int = 1, tables: Sequence = (),
                 records: NDArray | None = None, memories: NDArray | None = None,
                 programs: NDArray | None = None) -> tuple[NDArray, NDArray, NDArray]:
        """
        Apply the step along the inputs.

        Parameters
        ----------
        state : (N, S) array_like
            Initial state of each of N runs.
        constants : (C,) or (N, C) array_like
            Constants of all runs, or of each run.
        inputs : (T, m) or (N, T, m) array_like
            Inputs of T steps; for all runs, or for each run.
        every : int
            Number of steps per record.
        threads : int
            Number of threads; a function is called from one.
        tables : sequence
            Rows of each table, common to all runs.
        records : (N, T // every, r) array, optional
            Array for the records; a table may be of the same memory, to read earlier records.
        memories, programs : (N, ...) array, optional
            Memory and program of the function of each run.

        Returns
        -------
        state, records, memories : (N, S), (N, T // every, r), (N, ...) array
            Final states, records after every `every` steps, and final memories.

        Raises
        ------
        ArgumentError
            Wrong shape or type, naming the argument.

        """
        S, C, m = self.sizes
        state = np.array(_doubles('state', state, 'N', S))
        count = len(state)
        constants = _doubles('constants', constants, None, C)
        if constants.shape not in ((C,), (count, C)):
            raise ArgumentError(f'constants must have shape ({C},) or ({count}, {C}); '
                                f'got {constants.shape}')
        constants = np.ascontiguousarray(np.broadcast_to(constants, (count, C)))
        inputs = _doubles('inputs', inputs, None, m)
        if inputs.ndim not in (2, 3) or inputs.ndim == 3 and len(inputs) != count:
            raise ArgumentError(f'inputs must have shape (T, {m}) or ({count}, T, {m}); '
                                f'got {inputs.shape}')
        for name, number in (('every', every), ('threads', threads)):
            if not isinstance(number, (int, np.integer)) or number < 1:
                raise ArgumentError(f'{name} is {number!r}: it must be a whole number above 0')
        if len(tables) != len(self.tables):
            raise ArgumentError(f'takes {len(self.tables)} tables, got {len(tables)}')
        arrays = [as_argument(name, kind, given)
                  for (name, kind), given in zip(self.tables.items(), tables)]
        steps = inputs.shape[-2]
        records = np.empty((count, steps // every, self.recorded)) if records is None else records
        function = self.coupling and self.coupling.function
        memories, programs = (np.empty((count, 0)) if each is None else each
                              for each in (memories, programs))
        for name, array, shape in (
                ('records', records, (count, steps // every, self.recorded)),
                ('memories', memories, (count, function.memory if function else 0)),
                ('programs', programs, (count, function.program if function else 0))):
            if array.shape != shape or not array.flags.c_contiguous or array.dtype != float:
                raise ArgumentError(f'{name} must be a C-contiguous array of floats of shape '
                                    f'{shape}; got {array.dtype} of shape {array.shape}',
                                    name=name)
        memories, others = memories.copy(), np.empty_like(memories)
        if count and steps:
            run = self._compiled()
            loops.in_threads(lambda rows: run(
                state[rows], constants[rows], inputs if inputs.ndim == 2 else inputs[rows],
                every, records[rows], arrays, (memories, others, programs)),
                count, 1 if function else threads)
        return state, records, others if steps % 2 else memories

    def prepare(self) -> None:
        """Compile the loop, or load it from the cache."""
        self._compiled()

    def _compiled(self) -> Callable:
        run = self._run = self._run or self._make()
        return run

    def _traced(self) -> tuple[Program, loops.Coupled | None]:
        """Return the program of the step, and that of the call of the function."""
        (state, constants, inputs), kinds = self.sizes, self.tables.values()
        runtime, coupled, given = len(self.runtime), None, inputs
        if self.coupling:
            first, kept, function = self.coupling
            given = kept + len(function.result) + len(function.observed)
            coupled = loops.Coupled(
                trace(first, (runtime, state, constants, inputs, *kinds),
                      (len(function.argument), kept), in_place=False),
                function.memory, function.program, function.observed)
        step = trace(self._step, (runtime, state, constants, given, *kinds), in_place=False)
        if len(step.outputs) != state:
            raise ArgumentError(f'the step returns {len(step.outputs)} numbers, and the state '
                                f'has {state}')
        return step, coupled

    def _make(self) -> Callable:
        def ir():
            step, coupled = self._traced()
            return loops.rollout_ir(step, self.recorded, coupled)

        code = self._codes.of('rollout', ir)
        types: list = []
        call: tuple = ()
        size = loops.workspace_size(*self.sizes, self.sizes[0])
        if self.coupling:
            inner = self.coupling.function
            arguments = inner.call.arguments.ctypes.data
            call = (inner.call.code, inner.call.block, inner.argument.ctypes.data,
                    inner.result.ctypes.data, *(arguments + 8 * each for each in inner.addresses))
            types = [ctypes.c_void_p] * (len(call) + 3)
            size += loops.workspace_size(len(inner.argument), self.coupling.kept,
                                         len(inner.result) + len(inner.observed))
        function = ctypes.CFUNCTYPE(
            None, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * 5, *[ctypes.c_int64] * 2,
            ctypes.c_void_p, *types, *[ctypes.c_void_p, ctypes.c_int64] * len(self.tables))(
                code.address('rollout'))

        def run(state, constants, inputs, every, records, arrays, of_function):
            workspace = np.empty(size)  # one per call, for calls from several threads
            steps, m = inputs.shape[-2:]
            own = [each.ctypes.data for each in of_function] if call else []
            function(len(state), steps, every, loops.aligned(workspace),
                     self.runtime.ctypes.data, state.ctypes.data, constants.ctypes.data,
                     inputs.ctypes.data, steps * m if inputs.ndim == 3 else 0, m,
                     records.ctypes.data, *call, *own, *passed(self.tables.values(), arrays))

        setattr(run, 'code', code)  # keeps it loaded
        return run

    def _interpret(self, state, constants, inputs, every, records, arrays, _of_function):
        rows, runtime = [each.tolist() for each in arrays], self.runtime.tolist()
        for row, (values, fixed) in enumerate(zip(state, constants.tolist())):
            for k, given in enumerate((inputs if inputs.ndim == 2 else inputs[row]).tolist()):
                values[:] = flatten(self._step(runtime, values.tolist(), fixed, given, *rows))
                if (k + 1) % every == 0:
                    records[row, k // every] = values[:self.recorded]


def _doubles(name: str, array: ArrayLike, rows: str | None, size: int) -> NDArray:
    try:
        converted = np.require(array, np.float64, ['C', 'A'])
    except (TypeError, ValueError) as error:
        raise ArgumentError(f'{name} is not an array of numbers: {error}', name=name) from error
    if converted.shape[-1:] != (size,) or rows and converted.ndim != 2:
        wanted = f'({rows}, {size})' if rows else f'(..., {size})'
        raise ArgumentError(f'{name} must have shape {wanted}; got {converted.shape}', name=name)
    return converted
