"""
The door from Python to a kernel: a built-in function made at run time.

Python calls a C function of the kind METH_FASTCALL with an array of object addresses. The code
below is that function in LLVM IR: it looks at each argument's type, element type, shape,
alignment and contiguity, and at `out=`; when all is as the kernel needs it, it passes the data
pointers on. Anything else (lists, float32, strides, batches, wrenches, mistakes) goes to the
Python method it stands for, which converts, computes or raises. A wrong argument thus costs
time, never memory.

Offsets into NumPy's array object are those of its public C ABI (`PyArrayObject_fields`), which
every compiled extension relies on; `supported` tries them on real arrays once and switches this
door off where they do not hold (then kernels are called through ctypes).
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
import sys
import sysconfig
from typing import Callable

import numpy as np

from robodyn_ros.dynamics.machine import Code

# byte offsets: PyObject.ob_type; PyArrayObject_fields data, nd, dimensions, descr, flags;
# PyVarObject.ob_size and the first item of a tuple
_TYPE, _DATA, _NDIM, _DIMENSIONS, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64
_TUPLE_SIZE, _TUPLE_ITEM = 16, 16 + tuple.__basicsize__ - object.__basicsize__
_VECTORCALL_OFFSET = 56  # PyTypeObject.tp_vectorcall_offset
_CARRAY, _WRITEABLE = 0x0101, 0x0400  # C-contiguous and aligned; writeable
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_NPY_DOUBLE, _ARRAY_NEW = 12, 93

# the context array that `self` carries: what the code needs to know of this process
_CONTEXT = ('array_type', 'double', 'out', 'none', 'fallback', 'vectorcall', 'incref',
            'array_new', 'runtime', 'dimensions')


class _Context(np.ndarray):
    """`self` of the built-in: addresses the code reads, and the objects that keep them alive."""


class _MethodDef(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('doc', ctypes.c_char_p)]


def entry_ir(sizes: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """
    Return the IR of `entry`, to stand in one module with `kernel`.

    Parameters
    ----------
    sizes : tuple of int
        Length of each array argument (the runtime parameters left out).
    shape : tuple of int
        Shape of the result.

    """
    count = len(sizes)
    text = _Text()
    lines = ['define i64 @entry(i64 %self, i64 %args, i64 %nargs, i64 %names) {', 'start:',
             *text.load('context', '%self', _DATA)]
    for k, name in enumerate(_CONTEXT):
        lines += text.load(name, '%context', 8 * k)
    lines += [f'  %enough = icmp eq i64 %nargs, {count}',
              '  br i1 %enough, label %keywords, label %slow', 'keywords:',
              '  %plain = icmp eq i64 %names, 0',
              '  br i1 %plain, label %positional, label %named', 'named:',
              *text.load('many', '%names', _TUPLE_SIZE), *text.load('name', '%names', _TUPLE_ITEM),
              '  %one = icmp eq i64 %many, 1', '  %isout = icmp eq i64 %name, %out',
              '  %only = and i1 %one, %isout', '  br i1 %only, label %hasout, label %slow',
              'hasout:', *text.load('given', '%args', 8 * count),
              '  %isnone = icmp eq i64 %given, %none',
              '  br i1 %isnone, label %positional, label %checkout', 'checkout:']
    lines += text.check('%given', shape, _CARRAY | _WRITEABLE, 'positional')
    lines += ['positional:',
              '  %target = phi i64 [ 0, %keywords ], [ 0, %hasout ], '
              f'[ %given, %{text.last_check} ]']
    for k, size in enumerate(sizes):
        lines += text.load(f'arg{k}', '%args', 8 * k)
        lines += [*text.check(f'%arg{k}', (size,), _CARRAY, f'good{k}'), f'good{k}:']
    for k in range(count):
        lines += text.load(f'data{k}', f'%arg{k}', _DATA)
    lines += _result(text, count, shape)
    return '\n'.join([*lines, 'slow:',
                      '  %call = inttoptr i64 %vectorcall to ' + text.function('i64', 4),
                      '  %answer = call i64 %call(i64 %fallback, i64 %args, i64 %nargs, '
                      'i64 %names)', '  ret i64 %answer', 'failed:', '  ret i64 0', '}'])


def _result(text: _Text, count: int, shape: tuple[int, ...]) -> list[str]:
    arguments = ', '.join(['i64 %runtime', *(f'i64 %data{k}' for k in range(count))])
    return ['  %fresh = icmp eq i64 %target, 0', '  br i1 %fresh, label %make, label %reuse',
            'make:', '  %new = inttoptr i64 %array_new to ' + text.array_new(),
            f'  %made = call i64 %new(i64 %array_type, i32 {len(shape)}, i64 %dimensions, '
            f'i32 {_NPY_DOUBLE}, i64 0, i64 0, i32 0, i32 0, i64 0)',
            '  %null = icmp eq i64 %made, 0', '  br i1 %null, label %failed, label %run',
            'reuse:', '  %hold = inttoptr i64 %incref to ' + text.function('void', 1),
            '  call void %hold(i64 %target)', '  br label %run', 'run:',
            '  %result = phi i64 [ %made, %make ], [ %target, %reuse ]',
            *text.load('dataout', '%result', _DATA),
            f'  call void @kernel({arguments}, i64 %dataout)', '  ret i64 %result']


class _Text:
    """Writes loads at an offset of an object, and the checks of an array."""

    def __init__(self):
        import llvmlite.binding as llvm
        self._opaque = llvm.llvm_version_info[0] >= 16
        self._count = 0
        self.last_check = ''

    def pointer(self, pointee: str) -> str:
        return 'ptr' if self._opaque else f'{pointee}*'

    def function(self, result: str, arguments: int) -> str:
        return self.pointer(f'{result} ({", ".join(["i64"] * arguments)})')

    def array_new(self) -> str:
        return self.pointer('i64 (i64, i32, i64, i32, i64, i64, i32, i32, i64)')

    def load(self, name: str, address: str, offset: int, kind: str = 'i64') -> list[str]:
        self._count += 1
        at = f'%at{self._count}'
        return [f'  {at} = add i64 {address}, {offset}',
                f'  {at}p = inttoptr i64 {at} to {self.pointer(kind)}',
                f'  %{name} = load {kind}, {self.pointer(kind)} {at}p']

    def check(self, array: str, shape: tuple[int, ...], flags: int, good: str) -> list[str]:
        """Return the checks that `array` is a double array of this shape, else `slow`."""
        lines = []

        def demand(offset, kind, wanted, mask=None, base=array, last=False):
            self._count += 1
            name, label = f'v{self._count}', good if last else f'more{self._count}'
            nonlocal lines
            lines += self.load(name, base, offset, kind)
            value = f'%{name}'
            if mask is not None:
                lines.append(f'  {value}m = and {kind} {value}, {mask}')
                value += 'm'
            lines += [f'  {value}ok = icmp eq {kind} {value}, {wanted}',
                      f'  br i1 {value}ok, label %{label}, label %slow']
            if not last:
                lines.append(f'{label}:')
                self.last_check = label

        demand(_TYPE, 'i64', '%array_type')
        demand(_DESCR, 'i64', '%double')
        demand(_NDIM, 'i32', len(shape))
        demand(_FLAGS, 'i32', flags, mask=flags, last=not shape)
        if shape:
            self._count += 1
            dimensions = f'dims{self._count}'
            lines += self.load(dimensions, array, _DIMENSIONS)
            for axis, size in enumerate(shape):
                demand(8 * axis, 'i64', size, base=f'%{dimensions}', last=axis == len(shape) - 1)
        return lines


def make_entry(code: Code, name: str, doc: str, fallback: Callable, runtime: np.ndarray,
               shape: tuple[int, ...]) -> Callable:
    """
    Return the built-in function for compiled code.

    Parameters
    ----------
    code : Code
        Module with `entry`.
    name, doc : str
        What `help` shows.
    fallback : bound method
        Takes the same arguments; called with whatever the fast path does not take.
    runtime : (k,) array
        The runtime parameters; read at every call.
    shape : tuple of int
        Shape of the result.

    """
    dimensions = np.array(shape or (0,), dtype=np.intp)
    api = ctypes.pythonapi
    out = sys.intern('out')
    addresses = {
        'array_type': id(np.ndarray), 'double': id(np.dtype(np.float64)), 'out': id(out),
        'none': id(None), 'fallback': id(fallback),
        'vectorcall': _vectorcall(fallback), 'incref': _address(api.Py_IncRef),
        'array_new': _array_api()[_ARRAY_NEW], 'runtime': runtime.ctypes.data,
        'dimensions': dimensions.ctypes.data}
    context = np.array([addresses[each] for each in _CONTEXT], dtype=np.uintp).view(_Context)
    method = _MethodDef(name.encode(), code.address('entry'), _METH_FASTCALL_KEYWORDS,
                        doc.encode())
    context.owned = (code, fallback, runtime, dimensions, out)
    # a built-in reads its definition to the very end, after the collector has cleared what its
    # `self` owns: the definition, some hundred bytes, stays for good
    api.Py_IncRef(ctypes.py_object(method))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object,
                            ctypes.c_void_p)(('PyCFunction_NewEx', api))
    return new(ctypes.addressof(method), context, None)


@lru_cache(maxsize=1)
def supported() -> bool:
    """Return whether this interpreter and NumPy have the layout that `entry` expects."""
    if (sys.implementation.name != 'cpython' or sysconfig.get_config_var('Py_GIL_DISABLED')
            or ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16):
        return False
    try:
        return all(_layout_holds(array) for array in (
            np.zeros(3), np.ones((2, 5)), np.ones((4, 4))[:, ::2], np.float32([1.0])))
    except (AttributeError, ImportError, OSError, ValueError):
        return False


def _layout_holds(array: np.ndarray) -> bool:
    def read(offset, kind):
        return kind.from_address(id(array) + offset).value

    version = ctypes.CFUNCTYPE(ctypes.c_uint)(_array_api()[0])()
    dimensions = (ctypes.c_ssize_t * array.ndim).from_address(
        read(_DIMENSIONS, ctypes.c_size_t))
    flags = read(_FLAGS, ctypes.c_int)
    return (version >> 24 in (1, 2)
            and read(_TYPE, ctypes.c_size_t) == id(np.ndarray)
            and read(_DATA, ctypes.c_size_t) == array.ctypes.data
            and read(_NDIM, ctypes.c_int) == array.ndim
            and tuple(dimensions) == array.shape
            and read(_DESCR, ctypes.c_size_t) == id(array.dtype)
            and bool(flags & 0x0001) == array.flags.c_contiguous
            and bool(flags & _WRITEABLE) == array.flags.writeable)


def _vectorcall(method: Callable) -> int:
    """Return the C function that calls a bound method with an array of arguments."""
    try:
        return _address(ctypes.pythonapi.PyObject_Vectorcall)
    except AttributeError:  # before Python 3.11 it is inline: read the slot that it reads
        offset = ctypes.c_ssize_t.from_address(id(type(method)) + _VECTORCALL_OFFSET).value
        return ctypes.c_size_t.from_address(id(method) + offset).value


def _address(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value


@lru_cache(maxsize=1)
def _array_api():
    try:
        from numpy._core._multiarray_umath import _ARRAY_API
    except ImportError:
        from numpy.core._multiarray_umath import _ARRAY_API
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ('PyCapsule_GetPointer', ctypes.pythonapi))
    return (ctypes.c_size_t * (_ARRAY_NEW + 1)).from_address(pointer(_ARRAY_API, None))
