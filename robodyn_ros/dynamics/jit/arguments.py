"""Conversion of arrays and tables to the arguments of functions with a C signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import ctypes
from typing import cast

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.flow import FunctionTable, Table
from robodyn_ros.dynamics.jit.kernel import as_doubles
from robodyn_ros.dynamics.jit.program import Argument
from robodyn_ros.exceptions import ArgumentError


def interpreted(kinds: Mapping[str, Argument], arrays: Iterable, given: Iterable) -> list:
    """Return the arguments of a body on floats: lists, and functions over lists."""
    return [[getattr(each, 'body', each) for each in owner]
            if isinstance(kind, FunctionTable) else array.tolist()
            for kind, array, owner in zip(kinds.values(), arrays, given)]


def passed(kinds: Iterable[Argument], arrays: Iterable[NDArray]) -> list[int]:
    """Return the addresses of arguments, and the numbers of rows of tables."""
    return [each for kind, array in zip(kinds, arrays) for each in (
        [array.ctypes.data] if isinstance(kind, int) else [array.ctypes.data, len(array)])]


def as_argument(name: str, kind: Argument, given) -> NDArray:
    """Return an argument as an array that machine code may read."""
    if isinstance(kind, FunctionTable):
        if isinstance(given, np.ndarray) and given.dtype == np.int64 and given.ndim == 1:
            return np.ascontiguousarray(given)
        return np.array([_address(f'{name}[{row}]', kind, each)
                         for row, each in enumerate(given)], dtype=np.int64)
    if isinstance(kind, Table):
        array = as_doubles(given if len(given) else np.empty((0, kind.columns)), name,
                           kind.columns)
        fits = array.ndim == 2
    else:
        array = as_doubles(given, name, kind)
        fits = array.ndim == 1
    if not fits:
        raise ArgumentError(f'{name} has shape {array.shape}: give one row of numbers for a '
                            'block, rows for a table', name=name)
    return array


def _address(name: str, kind: FunctionTable, function) -> int:
    if function is None:
        return 0
    if hasattr(function, 'address'):
        own = *function.arguments.values(), *function.outputs.values()
        if own != (*kind.inputs, kind.outputs):
            raise ArgumentError(f'{name} takes and returns {own} scalars; the table is for '
                                f'{(*kind.inputs, kind.outputs)}', name=name)
        return function.address
    if isinstance(function, (int, np.integer)):
        return int(function)
    if hasattr(function, 'restype'):  # of ctypes
        return cast(int, ctypes.cast(function, ctypes.c_void_p).value)
    raise ArgumentError(f'{name} is a {type(function).__name__}: give a Function, a ctypes '
                        'function, an address or None', name=name)
