"""Kernels of one robot: checked calls with arrays in and one array out."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import Callable, Mapping

import numpy as np

from robodyn_ros.dynamics.jit import builtin, fastcall, llvm, loops, machine
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.program import Program, trace
from robodyn_ros.exceptions import ArgumentError

# largest number of bodies that is compiled; LLVM's time grows superlinearly
LARGEST_COMPILED = 150
_FEW = 1000


class Kernel:
    """
    One algorithm for one robot, compiled at the first call.

    Parameters
    ----------
    function : callable
        `function(runtime, *arguments)` over lists of scalars; returns scalars, nested in any way.
    arguments : mapping of str to int
        Name and length of each array argument.
    shape : tuple of int
        Shape of the result of one state.
    runtime : (k,) array
        Parameters common to all calls, which may change between calls.
    key : str or None
        Identifier of everything that the traced program depends on, for the cache on disk; None:
        the program itself is the key (it is then traced at every start).
    compiled : bool
        False runs `function` on Python floats: the reference, and for very large robots.
    cache : Path or None
        Folder for compiled code.
    threads : int
        Number of threads for a batch.
    finite : bool
        Whether a state with a number that is not finite has NaN as its whole result. Otherwise
        that depends on the products with zero that are folded for this robot.
    review : bound method, optional
        `review(*arrays)` is called for states that are finite and whose result is not.

    """

    def __init__(self, function: Callable, arguments: Mapping[str, int], shape: tuple[int, ...],
                 runtime: np.ndarray, key: str | None = None, compiled: bool = True,
                 cache: Path | None = None, threads: int = 1, finite: bool = False,
                 review: Callable | None = None):
        self.names = tuple(arguments)
        self.sizes = tuple(arguments.values())
        self.shape = tuple(shape)
        self.runtime = runtime
        self.threads = threads
        self.finite, self.review = finite, review
        self._function = function
        self._cache = cache
        self._codes = machine.Codes(key, cache)
        self._program: Program | None = None
        self._one: Callable | None = None
        self._batch: Callable | None = None
        self._code: machine.Code | None = None
        if not compiled:
            self._one, self._batch = self._interpret, self._interpret_rows

    def __call__(self, *arrays, out: np.ndarray | None = None) -> np.ndarray:
        """
        Return the result for one state, or row by row for a batch.

        Parameters
        ----------
        *arrays : (n,) or (N, n) array_like
            One per argument. If one of them is a batch, single states are used for all rows.
        out : array, optional
            Buffer for the result; float64, of the result's shape.

        Raises
        ------
        ArgumentError
            Wrong number, shape or type of an argument, naming it.

        """
        checked, count = self._check(arrays)
        shape = self.shape if count is None else (count, *self.shape)
        result = self._target(out, shape, checked if count is not None else ())
        bad = None
        if count is None:
            # before the call, because the result may overwrite an argument
            bad = _not_finite(checked) if self.finite else None
            self.call_one(result, *checked)
        elif count and self._run_batch(count, result, checked) and self.finite:
            bad = _not_finite(checked)
        if bad is not None:
            result[bad] = np.nan
        if self.review is not None:
            self._check_result(self.review, result, checked, bad)
        if out is not None and result is not out:
            out[...] = result
        return result if out is None else out

    def _check_result(self, review: Callable, result: np.ndarray, checked: list[np.ndarray],
                      bad) -> None:
        if _all_finite(result):
            return
        axes = tuple(range(result.ndim - len(self.shape), result.ndim))
        not_finite = ~np.isfinite(result).all(axis=axes)
        if bad is not None:
            not_finite &= ~bad
        if not_finite.any():
            review(*(array[not_finite] for array in checked))

    @property
    def call_one(self) -> Callable:
        """Return the unchecked call for one state: `out` and arrays, contiguous float64."""
        if self._one is None:
            self._one = self._compile_one()
        return self._one

    def prepare(self) -> None:
        """Compile, or load from the cache."""
        self.call_one

    def builtin(self, name: str, doc: str | None) -> Callable:
        """
        Return the fastest way to call this kernel.

        It is a built-in function of machine code, if this interpreter supports it; arguments
        that it does not handle are passed to the kernel's checked call.
        """
        code, fallback = self.code, self.__call__
        if code is None or not builtin.supported():
            return fallback
        call = fastcall.FastCall(name, doc, fallback, self.runtime, self.sizes, self.shape,
                                 self._cache, False, self.finite, self.review)
        call.bind(code)
        return call.builtin

    @property
    def code(self) -> machine.Code | None:
        """Return the machine code with `kernel`; None if the algorithm runs in Python."""
        self.prepare()
        return self._code

    def program(self) -> Program:
        """Return the traced program."""
        if self._program is None:
            program = trace(self._function, (len(self.runtime), *self.sizes))
            self._check_size(len(program.outputs))
            self._program = program
        return self._program

    def _check_size(self, count: int) -> None:
        if count != math.prod(self.shape):
            raise ArgumentError(f'the function returns {count} scalars, which do not fill the '
                                f'shape {self.shape}', count=count, shape=self.shape)

    def _check(self, arrays) -> tuple[list[np.ndarray], int | None]:
        if len(arrays) != len(self.names):
            raise ArgumentError(f'takes {len(self.names)} arrays ({", ".join(self.names)}), '
                                f'got {len(arrays)}')
        checked = [as_doubles(array, name, size)
                   for array, name, size in zip(arrays, self.names, self.sizes)]
        counts = {name: len(array) for name, array in zip(self.names, checked)
                  if array.ndim == 2}
        if len(set(counts.values())) > 1:
            raise ArgumentError(f'batches of different lengths: {counts}', **counts)
        if not counts:
            return checked, None
        count = next(iter(counts.values()))
        rows = [np.ascontiguousarray(np.broadcast_to(array, (count, size)))
                for array, size in zip(checked, self.sizes)]
        return rows, count

    def _target(self, out, shape, inputs) -> np.ndarray:
        if out is None:
            return np.empty(shape)
        if not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape:
            described = (f'{out.dtype} array of shape {out.shape}'
                         if isinstance(out, np.ndarray) else type(out).__name__)
            raise ArgumentError(f'out must be a float64 array of shape {shape}, got {described}')
        if not out.flags.writeable:
            raise ArgumentError('out is read-only')
        usable = out.flags.carray and not any(np.may_share_memory(out, each) for each in inputs)
        return out if usable else np.empty(shape)

    def _interpret(self, out: np.ndarray, *arrays: np.ndarray) -> None:
        result = flatten(self._function(
            self.runtime.tolist(), *(array.tolist() for array in arrays)))
        self._check_size(len(result))
        out.flat[:] = result

    def _interpret_rows(self, count: int, out: np.ndarray, arrays) -> bool:
        for row in range(count):
            self._interpret(out[row], *(array[row] for array in arrays))
        return True

    def _compile_one(self) -> Callable:
        code = self._code = self._codes.of('single', lambda: llvm.kernel_ir(self.program()))
        address = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(self.sizes) + 2))(
            code.address('kernel'))
        runtime = self.runtime.ctypes.data

        def call_one(out, *arrays):
            address(runtime, *(array.ctypes.data for array in arrays), out.ctypes.data)

        return call_one

    def _run_batch(self, count: int, out: np.ndarray, arrays) -> bool:
        """Compute all rows; return False if all numbers in them are known to be finite."""
        batch = self._batch = self._batch or self._compile_batch()
        return any(loops.in_threads(lambda rows: batch(
            len(out[rows]), out[rows], [array[rows] for array in arrays]), count, self.threads))

    def _compile_batch(self) -> Callable:
        code = self._codes.of('finite batch' if self.finite else 'batch', lambda: loops.batch_ir(
            self.program(), self.finite))
        address = ctypes.CFUNCTYPE(
            ctypes.c_int64, ctypes.c_int64, *[ctypes.c_void_p] * (len(self.sizes) + 3))(
                code.address('batch'))
        size = loops.workspace_size(*self.sizes, math.prod(self.shape))
        runtime = self.runtime.ctypes.data

        def batch(count, out, arrays):
            # one per call, for batches in several threads
            workspace = np.empty(size)
            return address(count, loops.aligned(workspace), runtime,
                           *(array.ctypes.data for array in arrays), out.ctypes.data)

        return batch


def _not_finite(arrays: list[np.ndarray]) -> np.ndarray | None:
    """Return a mask of states that are not finite, (N,) or (); None if all are finite."""
    if all(map(_all_finite, arrays)):
        return None
    return ~np.logical_and.reduce([np.isfinite(array).all(axis=-1) for array in arrays])


def _all_finite(array: np.ndarray) -> bool:
    # for a few numbers the sum of squares is faster; for many, BLAS would start threads
    return (array.size < _FEW and math.isfinite(np.vdot(array, array))
            or bool(np.isfinite(array).all()))


def as_doubles(array, name: str, size: int) -> np.ndarray:
    """
    Return an argument as a C-contiguous float64 array of shape (size,) or (N, size).

    Raises
    ------
    ArgumentError
        Not numbers, or not of that shape.

    """
    try:
        given = np.asarray(array)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f'{name} is not an array of numbers: {error}', name=name) from error
    if given.dtype.kind not in 'fiub':
        raise ArgumentError(f'{name} must be real numbers, got {given.dtype}', name=name)
    if given.ndim not in (1, 2) or given.shape[-1] != size:
        raise ArgumentError(
            f'{name} must have shape ({size},), or (N, {size}) for a batch; got {given.shape}',
            name=name, shape=given.shape)
    converted = np.ascontiguousarray(given, dtype=np.float64)
    return converted if converted.flags.aligned else converted.copy()
