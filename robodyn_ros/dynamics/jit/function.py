"""Functions over scalars with a C signature, to be called by machine code or from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit import llvm, machine
from robodyn_ros.dynamics.jit.arguments import as_argument, interpreted, passed
from robodyn_ros.dynamics.jit.bound import BoundCall
from robodyn_ros.dynamics.jit.flow import FunctionTable
from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.program import Argument, Program, trace
from robodyn_ros.exceptions import ArgumentError, KernelError

_KERNEL = 'function|kernel'


class Function:
    """
    A function over scalars, traced and compiled at the first use.

    Its C signature has one `const double *` per argument, in order; a table takes two parameters,
    a pointer to its first row (`const double *`, or `void *const *` of functions) and an
    `int64_t`, its number of rows; then one `double *` per output. Outputs must not overlap
    arguments or each other. It does not allocate or lock, and is thread-safe.

    Parameters
    ----------
    body : callable
        `body(*arguments)` gets a list of scalars per block, and an argument for `flow.lookup` and
        `flow.call` per table. It returns the output, nested in any way; if there are
        several, one item each, in order.
    arguments : mapping of str to int, Table or FunctionTable
        Name of each argument, and its length or kind.
    outputs : mapping of str to int
        Name and length of each output.
    key : str or None
        Identifier of everything that the traced program depends on, for the cache on disk; None:
        the program itself is the key (it is then traced at every start).
    cache : Path or None
        Folder for compiled code; None: no cache on disk.

    Attributes
    ----------
    key : str or None
        Cache key.
    cache : Path or None
        Folder for compiled code.
    compile_fast : bool
        Whether it was compiled in this process, with little optimisation because of its length.

    Raises
    ------
    KernelError
        At the first use: the body's result does not have the shape of `outputs`.

    """

    def __init__(self, body: Callable, arguments: Mapping[str, Argument],
                 outputs: Mapping[str, int], key: str | None = None, cache: Path | None = None):
        self.body, self.arguments, self.outputs = body, dict(arguments), dict(outputs)
        self.key, self.cache = key, cache
        self.compile_fast = False
        self._codes = machine.Codes(key, cache)

    def program(self) -> Program:
        """Return the traced program."""
        return trace(self._checked_body, tuple(self.arguments.values()),
                     tuple(self.outputs.values()), in_place=False, shared=())

    def _checked_body(self, *arguments) -> list:
        """Return the outputs as one list each."""
        result = self.body(*arguments)
        rows = [result] if len(self.outputs) == 1 else result
        if len(rows) != len(self.outputs):
            raise KernelError(f'the function returns {len(rows)} items for the outputs '
                              f'{", ".join(self.outputs)}')
        rows = [flatten(row) for row in rows]
        for (name, size), row in zip(self.outputs.items(), rows):
            if len(row) != size:
                raise KernelError(f'the function returns {len(row)} scalars for the output '
                                  f'{name!r}, which has {size}', output=name)
        return rows

    def prepare(self) -> None:
        """Compile, or load from the cache."""
        self._code()

    def load(self) -> bool:
        """Load from the cache, unless another thread compiles; return whether it is loaded."""
        return self._codes.load(_KERNEL)

    def _code(self) -> machine.Code:
        return self._codes.of(_KERNEL, self._ir)

    def _ir(self) -> machine.Ir:
        made = llvm.kernel_ir(self.program())
        self.compile_fast = made.compile_fast
        return made

    @property
    def address(self) -> int:
        """Return the address of its machine code, valid during the life of this object."""
        return self._code().address('kernel')

    def __call__(self, *arguments) -> NDArray | tuple[NDArray, ...]:
        """
        Return the outputs as new arrays: a single array, or a tuple.

        Parameters
        ----------
        *arguments : array_like
            Numbers of each block; (rows, columns) of each table; for a table of functions a
            sequence of `Function`, `ctypes` function, address, or None for an empty row, or an
            int64 array of addresses, 0 for an empty row.

        Raises
        ------
        ArgumentError
            Wrong number, shape or type of an argument, naming it.

        """
        results = [np.empty(size) for size in self.outputs.values()]
        values, _kept = self._given(*arguments, *results)
        ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * len(values))(self.address)(*values)
        return results[0] if len(results) == 1 else tuple(results)

    def bind(self, *arrays) -> Callable[[], None]:
        """
        Return a call without arguments that reads and writes these arrays.

        Parameters
        ----------
        *arrays
            Arguments as for a call, then one writeable array per output. C-contiguous arrays of
            float64 or of addresses are used in place at each call, so that a row of a table may
            be filled later. Others are copied now.

        Raises
        ------
        ArgumentError
            As for a call; or an output is not such an array, or overlaps another array.

        """
        return self.bound(*arrays).call

    def bound(self, *arrays) -> BoundCall:
        """Return the call of `bind`, with its block of addresses."""
        values, kept = self._given(*arrays)
        return BoundCall(self.address, values, (self, kept, arrays), self.cache)

    def _given(self, *arrays) -> tuple[list[int], list]:
        """Return the parameters for arrays, and the arrays that they refer to."""
        names = [*self.arguments, *self.outputs]
        if len(arrays) != len(names):
            raise ArgumentError(f'takes {len(names)} arrays ({", ".join(names)}), '
                                f'got {len(arrays)}')
        kept = [as_argument(name, kind, array) for (name, kind), array in
                zip(self.arguments.items(), arrays)]
        outs = arrays[len(kept):]
        for k, (name, size) in enumerate(self.outputs.items()):
            _check_output(name, size, outs[k], [*kept, *outs[:k]])
        return [*passed(self.arguments.values(), kept),
                *(out.ctypes.data for out in outs)], [*kept, *outs]

    def place(self, name: str) -> int:
        """Return the index of an argument's first parameter in the C signature."""
        before = list(self.arguments).index(name)
        return sum(1 if isinstance(kind, int) else 2
                   for kind in list(self.arguments.values())[:before])

    def interpret(self, *arguments) -> NDArray | tuple[NDArray, ...]:
        """
        Return the outputs as a call does, computed by `body` on `ieee` floats.

        Functions of a table may also be Python functions over lists of floats.
        """
        arrays = [None if isinstance(kind, FunctionTable) else as_argument(name, kind, each)
                  for (name, kind), each in zip(self.arguments.items(), arguments, strict=True)]
        given = _doubles(interpreted(self.arguments, arrays, arguments))
        rows = [np.array(row, dtype=np.float64) for row in self._checked_body(*given)]
        return rows[0] if len(rows) == 1 else tuple(rows)


def _doubles(values: list) -> list:
    """Return nested lists with every float as `Ieee`."""
    return [_doubles(each) if isinstance(each, list) else
            Ieee(each) if isinstance(each, float) else each for each in values]


def _check_output(name: str, size: int, out, others: Sequence[NDArray]) -> None:
    if (not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != (size,)
            or not out.flags.carray):
        described = (f'{out.dtype} array of shape {out.shape}'
                     if isinstance(out, np.ndarray) else type(out).__name__)
        raise ArgumentError(f'{name} must be a writeable contiguous float64 array of shape '
                            f'({size},), got {described}', name=name)
    if any(np.may_share_memory(out, each) for each in others):
        raise ArgumentError(f'{name} overlaps another array of the call', name=name)
