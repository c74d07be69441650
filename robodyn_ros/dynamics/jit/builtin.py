"""
Built-in functions made at run time: access of machine code to Python's and NumPy's objects.

Offsets in objects are those of the public C ABI of NumPy (`PyArrayObject_fields`) and of Python's
list and tuple, as every compiled extension uses them; `supported` tests them once on real
objects.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
import sys
import sysconfig
from typing import Any, Callable, cast

import numpy as np

# byte offsets: PyObject; PyArrayObject_fields data, nd, dimensions, descr, flags; PyVarObject
# size, first item of a tuple, items of a list
COUNT, _TYPE, DATA, _NDIM, _DIMENSIONS, _DESCR, _FLAGS = 0, 8, 16, 24, 32, 56, 64
TUPLE_SIZE, TUPLE_ITEM = 16, 16 + tuple.__basicsize__ - object.__basicsize__
LIST_ITEMS = 24
CARRAY, WRITEABLE = 0x0101, 0x0400  # C-contiguous and aligned; writeable
ARRAY_NEW = 93  # index of PyArray_New in the C API table of NumPy


class Context(np.ndarray):
    """`self` of a built-in: addresses that its code reads, and objects that keep them valid."""

    owned: Any
    links: dict


class _MethodDef(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('doc', ctypes.c_char_p)]


def definition(name: str, address: int, kind: int, doc: str | None) -> ctypes.Structure:
    """
    Return the definition of a built-in function at an address.

    The definition is never freed: Python reads it when the built-in is deallocated, after the
    garbage collector has cleared what `self` owns.
    """
    made = _MethodDef(name.encode(), address, kind, (doc or '').encode())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


def new_builtin(described: ctypes.Structure, context: Context) -> Callable:
    """Return the built-in function of a definition, with `context` as `self`."""
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object,
                            ctypes.c_void_p)(('PyCFunction_NewEx', ctypes.pythonapi))
    return new(ctypes.addressof(described), context, None)


class Text:
    """Writer of LLVM IR: loads and stores at offsets of objects, and checks of arrays."""

    def __init__(self):
        self._count = 0

    def _at(self, address: str, offset: int) -> tuple[str, list[str]]:
        self._count += 1
        at = f'%at{self._count}'
        return f'{at}p', [f'  {at} = add i64 {address}, {offset}',
                          f'  {at}p = inttoptr i64 {at} to ptr']

    def load(self, name: str, address: str, offset: int, kind: str = 'i64') -> list[str]:
        """Return the load of a value at an offset from an address."""
        at, lines = self._at(address, offset)
        return [*lines, f'  %{name} = load {kind}, ptr {at}']

    def store(self, value: str, address: str, offset: int, kind: str = 'i64') -> list[str]:
        """Return the store of a value at an offset from an address."""
        at, lines = self._at(address, offset)
        return [*lines, f'  store {kind} {value}, ptr {at}']

    def vectorcall(self, name: str, function: str) -> list[str]:
        """Return the call of a Python object of the context with the original arguments."""
        return [f'  %call_{name} = inttoptr i64 %vectorcall to ptr',
                f'  %{name} = call i64 %call_{name}(i64 %{function}, i64 %args, i64 %nargs, '
                'i64 %names)']

    def check(self, array: str, shape: tuple[int, ...], flags: int, good: str,
              bad: str = 'slow') -> list[str]:
        """Return the checks that `array` is a double array of this shape, with two branches."""
        self._count += 1
        dimensions = f'dims{self._count}'
        required = [(_TYPE, 'i64', '%array_type'), (_DESCR, 'i64', '%double'),
                    (_NDIM, 'i32', len(shape)), (_FLAGS, 'i32', flags)]
        required += [(8 * axis, 'i64', size) for axis, size in enumerate(shape)]
        lines = []
        for k, (offset, kind, wanted) in enumerate(required):
            last = k == len(required) - 1
            self._count += 1
            name, label = f'v{self._count}', good if last else f'more{self._count}'
            if k == 4:
                lines += self.load(dimensions, array, _DIMENSIONS)
            lines += self.load(name, array if k < 4 else f'%{dimensions}', offset, kind)
            if offset == _FLAGS and k == 3:
                lines.append(f'  %{name}m = and {kind} %{name}, {wanted}')
                name += 'm'
            lines += [f'  %{name}ok = icmp eq {kind} %{name}, {wanted}',
                      f'  br i1 %{name}ok, label %{label}, label %{bad}']
            if not last:
                lines.append(f'{label}:')
        return lines


@lru_cache(maxsize=1)
def supported() -> bool:
    """Return whether interpreter and NumPy have the expected object layout."""
    if (sys.implementation.name != 'cpython' or sysconfig.get_config_var('Py_GIL_DISABLED')
            or ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16
            or sys.byteorder != 'little'):
        return False
    try:
        return _counts_hold() and all(_layout_holds(array) for array in (
            np.zeros(3), np.ones((2, 5)), np.ones((4, 4))[:, ::2], np.ones(1, dtype=np.float32)))
    except (AttributeError, ImportError, OSError, ValueError):
        return False


def _counts_hold() -> bool:
    item: np.ndarray | None = np.zeros(3)
    kept = [item]
    alone, items = [], ctypes.c_size_t.from_address(id(kept) + LIST_ITEMS).value
    for _ in range(2):
        alone.append(ctypes.c_int32.from_address(id(kept[0]) + COUNT).value)
        item = None
    return (alone == [2, 1]
            and ctypes.c_size_t.from_address(items).value == id(kept[0]))


def _layout_holds(array: np.ndarray) -> bool:
    def read(offset, kind):
        return kind.from_address(id(array) + offset).value

    version = ctypes.CFUNCTYPE(ctypes.c_uint)(array_api()[0])()
    dimensions = (ctypes.c_ssize_t * array.ndim).from_address(
        read(_DIMENSIONS, ctypes.c_size_t))
    flags = read(_FLAGS, ctypes.c_int)
    return (version >> 24 in (1, 2)
            and read(_TYPE, ctypes.c_size_t) == id(np.ndarray)
            and read(DATA, ctypes.c_size_t) == array.ctypes.data
            and read(_NDIM, ctypes.c_int) == array.ndim
            and tuple(dimensions) == array.shape
            and read(_DESCR, ctypes.c_size_t) == id(array.dtype)
            and bool(flags & 0x0001) == array.flags.c_contiguous
            and bool(flags & WRITEABLE) == array.flags.writeable)


def address_of(function) -> int:
    """Return the address of a ctypes function."""
    return cast(int, ctypes.cast(function, ctypes.c_void_p).value)


@lru_cache(maxsize=1)
def array_api():
    """Return the table of NumPy's C API functions."""
    try:
        from numpy._core._multiarray_umath import _ARRAY_API
    except ImportError:
        from numpy.core._multiarray_umath import _ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ('PyCapsule_GetPointer', ctypes.pythonapi))
    return (ctypes.c_size_t * (ARRAY_NEW + 1)).from_address(pointer(_ARRAY_API, None))
