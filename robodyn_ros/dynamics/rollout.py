"""Compiled loops that apply a step many times to many states."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.dynamics.jit import loops, machine
from robodyn_ros.dynamics.jit.arguments import as_argument, interpreted, passed
from robodyn_ros.dynamics.jit.flow import FunctionTable
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.program import Argument, trace
from robodyn_ros.exceptions import ArgumentError


class Rollout:
    """
    A compiled loop over steps, for many states at once; made by `Dynamics.rollout`.

    Parameters
    ----------
    step : callable
        `step(runtime, state, constants, inputs)` over lists of scalars.
    sizes : (int, int, int)
        Lengths of state, constants and inputs.
    tables : mapping of str to Table or FunctionTable
        Further arguments of the step, after the inputs.
    recorded : int
        Number of leading state values that are recorded.
    runtime : (k,) array
        Parameters common to all calls.
    key, compiled, cache
        As for `Kernel`.

    """

    def __init__(self, step: Callable, sizes: tuple[int, int, int],
                 tables: Mapping[str, Argument], recorded: int, runtime: NDArray,
                 key: str | None, compiled: bool, cache: Path | None):
        self.sizes, self.tables = sizes, dict(tables)
        self.recorded, self.runtime = recorded, runtime
        self._step = step
        self._codes = machine.Codes(key, cache)
        self._compiled: dict[str, Callable] = {}
        self._makers = {'many': self._make_many, 'one': self._make_one} if compiled else {}

    def __call__(self, state: ArrayLike, constants: ArrayLike, inputs: ArrayLike,
                 every: int = 1, threads: int = 1, tables: Sequence = (),
                 records: NDArray | None = None) -> tuple[NDArray, NDArray]:
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
            Number of threads.
        tables : sequence
            One per table, common to all runs, as for a call of `Function`.
        records : (N, T // every, r) array, optional
            Array for the records; a table may be of the same memory, to read earlier records.

        Returns
        -------
        state, records : (N, S), (N, T // every, r) array
            Final states, and records after every `every` steps.

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
                  if self._makers or not isinstance(kind, FunctionTable) else None
                  for (name, kind), given in zip(self.tables.items(), tables)]
        shape = (count, inputs.shape[-2] // every, self.recorded)
        records = np.empty(shape) if records is None else records
        if records.shape != shape or not records.flags.c_contiguous or records.dtype != float:
            raise ArgumentError(f'records must be a C-contiguous array of floats of shape {shape}')
        if count and inputs.shape[-2]:
            run = self._function('one' if count == 1 else 'many')
            loops.in_threads(lambda rows: run(
                state[rows], constants[rows], inputs if inputs.ndim == 2 else inputs[rows],
                every, records[rows], arrays, tables), count, threads)
        return state, records

    def warm(self) -> None:
        """Compile the loop over many states, or load it from the cache."""
        self._function('many')

    def _function(self, form: str) -> Callable:
        """Return the function for one state, or for many, compiled at the first call."""
        if not self._makers:
            return self._interpret
        if form not in self._compiled:
            self._compiled[form] = self._makers[form]()
        return self._compiled[form]

    def _load(self, form: str, make_ir: Callable, in_place: bool) -> machine.Code:
        def text():
            program = trace(self._step, (len(self.runtime), *self.sizes, *self.tables.values()),
                            in_place=in_place)
            if len(program.outputs) != self.sizes[0]:
                raise ArgumentError(f'the step returns {len(program.outputs)} numbers, and '
                                    f'the state has {self.sizes[0]}')
            return make_ir(program, self.recorded)

        return self._codes.of(form, text)

    def _make_many(self) -> Callable:
        code = self._load('rollout', loops.rollout_ir, False)
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3, *[ctypes.c_void_p] * 5,
                                    *[ctypes.c_int64] * 2, ctypes.c_void_p,
                                    *self._table_types())(code.address('rollout'))
        size = loops.workspace_size(*self.sizes, self.sizes[0])

        def run(state, constants, inputs, every, records, arrays, tables):
            workspace = np.empty(size)  # one per call, for calls from several threads
            steps, m = inputs.shape[-2:]
            function(len(state), steps, every, loops.aligned(workspace),
                     self.runtime.ctypes.data, state.ctypes.data, constants.ctypes.data,
                     inputs.ctypes.data, steps * m if inputs.ndim == 3 else 0, m,
                     records.ctypes.data, *passed(self.tables.values(), arrays))

        setattr(run, 'code', code)  # keeps it loaded
        return run

    def _make_one(self) -> Callable:
        code = self._load('rollout_one', loops.rollout_one_ir, True)
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 4,
                                    ctypes.c_int64, ctypes.c_void_p, *self._table_types())(
                                        code.address('rollout_one'))

        def run(state, constants, inputs, every, records, arrays, tables):
            steps, m = inputs.shape[-2:]
            function(steps, every, self.runtime.ctypes.data, state.ctypes.data,
                     constants.ctypes.data, inputs.ctypes.data, m, records.ctypes.data,
                     *passed(self.tables.values(), arrays))

        setattr(run, 'code', code)
        return run

    def _table_types(self) -> list:
        return [ctypes.c_void_p, ctypes.c_int64] * len(self.tables)

    def _interpret(self, state, constants, inputs, every, records, arrays, tables):
        rows = interpreted(self.tables, arrays, tables)
        runtime = self.runtime.tolist()
        for row, (values, fixed) in enumerate(zip(state, constants.tolist())):
            for k, given in enumerate((inputs if inputs.ndim == 2 else inputs[row]).tolist()):
                values[:] = flatten(self._step(runtime, values.tolist(), fixed, given,
                                               *rows))
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
