"""
The door from Python to a kernel: a built-in function made at run time.

Python calls a C function of the kind METH_FASTCALL with an array of object addresses. The code
below is that function in LLVM IR: it looks at each argument's type, element type, shape,
alignment and contiguity, and at `out=`; when all is as the kernel needs it, it passes the data
pointers on. Anything else (lists, float32, strides, batches, wrenches, mistakes) goes to the
Python method it stands for, which converts, computes or raises. A wrong argument thus costs
time, never memory.

Where a number that is not finite makes the whole result one (see `Kernel`), the arguments are
looked through, and such a call goes to the method, too. Where a result can be infinite because
M has no inverse, it is looked through, and handed to `review`, which raises or lets it pass.

Two things make a call cheap. A result array that nobody holds any more is used again: a few are
kept in a list, and one whose only reference is that list is free. And where the last argument
is the name of a link, the object itself is looked for among the last names that were used; each
comes with the kernel for that link.

The code of a door depends on the shapes of arguments and result only: kernels share it. Offsets
into objects are those of the public C ABI of NumPy (`PyArrayObject_fields`) and of Python's
list and tuple, which every compiled extension relies on; `supported` tries them on real objects
once and switches this door off where they do not hold (then kernels are called through ctypes).
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
import math
from pathlib import Path
import sys
import sysconfig
from threading import Lock
from typing import Callable

import numpy as np

from robodyn_ros.dynamics import machine
from robodyn_ros.dynamics.finite import finite_ir
from robodyn_ros.dynamics.sines import VECTOR

# byte offsets: PyObject; PyArrayObject_fields data, nd, dimensions, descr, flags; PyVarObject
# size, first item of a tuple, items of a list
_COUNT, _TYPE, DATA, _NDIM, _DIMENSIONS, _DESCR, _FLAGS = 0, 8, 16, 24, 32, 56, 64
_TUPLE_SIZE, _TUPLE_ITEM = 16, 16 + tuple.__basicsize__ - object.__basicsize__
_LIST_ITEMS = 24
_VECTORCALL_OFFSET = 56  # PyTypeObject.tp_vectorcall_offset
_CARRAY, _WRITEABLE = 0x0101, 0x0400  # C-contiguous and aligned; writeable
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_NPY_DOUBLE, _ARRAY_NEW = 12, 93

# results kept for use again, and names of links that are known: powers of two
_KEPT = 4
_LINKS = 8

# the context array that `self` carries: what the code needs to know of this process
_CONTEXT = ('array_type', 'double', 'out', 'none', 'fallback', 'vectorcall', 'incref',
            'array_new', 'list_set', 'runtime', 'dimensions', 'kept', 'turn', 'kernel',
            'review', 'decref')
_TABLE = 8 * len(_CONTEXT)  # then pairs of a link's name and its kernel


class Context(np.ndarray):
    """`self` of the built-in: addresses the code reads, and the objects that keep them alive."""


class _MethodDef(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('doc', ctypes.c_char_p)]


class Entry:
    """
    A built-in function in front of kernels of one signature.

    Until `lead_to`, or `lead_link_to`, every call goes to `fallback`.

    Parameters
    ----------
    name, doc : str
        What `help` shows; Python's option -OO leaves no doc.
    fallback : bound method
        Takes the same arguments; called with whatever the fast path does not take.
    runtime : (k,) array
        The runtime parameters; read at every call.
    sizes : tuple of int
        Length of each array argument.
    shape : tuple of int
        Shape of the result.
    cache : Path or None
        Folder for compiled code.
    of_link : bool
        Whether the name of a link follows the arrays.
    finite : bool
        Whether arguments that are not finite go to `fallback`.
    review : bound method, optional
        Called with the same arguments when the result is not finite; its answer is dropped.

    Attributes
    ----------
    builtin : callable
        The function.

    """

    def __init__(self, name: str, doc: str | None, fallback: Callable, runtime: np.ndarray,
                 sizes: tuple[int, ...], shape: tuple[int, ...], cache: Path | None,
                 of_link: bool = False, finite: bool = False, review: Callable | None = None):
        dimensions = np.array(shape or (0,), dtype=np.intp)
        kept = [np.empty(shape) for _ in range(_KEPT)]
        code = _code(sizes, shape, of_link, cache, finite, review is not None)
        api, out = ctypes.pythonapi, sys.intern('out')
        addresses = {
            'array_type': id(np.ndarray) if of_link else 0, 'none': id(None),
            'double': id(np.dtype(np.float64)), 'out': id(out),
            'fallback': id(fallback), 'vectorcall': _vectorcall(fallback),
            'incref': _address(api.Py_IncRef), 'list_set': _address(api.PyList_SetItem),
            'array_new': _array_api()[_ARRAY_NEW], 'runtime': runtime.ctypes.data,
            'dimensions': dimensions.ctypes.data, 'kept': id(kept), 'turn': 0, 'kernel': 0,
            'review': id(review), 'decref': _address(api.Py_DecRef)}
        context = np.zeros(len(_CONTEXT) + 2 * _LINKS, dtype=np.uintp).view(Context)
        context[:len(_CONTEXT)] = [addresses[each] for each in _CONTEXT]
        context.owned = [code, fallback, review, runtime, dimensions, kept, out]
        self._context = context
        self._links = context.links = {}
        self._turn = 0
        self._lock = Lock()
        self.builtin = new_builtin(definition(
            name, code.address('entry'), _METH_FASTCALL_KEYWORDS, doc), context)

    def lead_to(self, code: machine.Code) -> None:
        """Lead to the `kernel` of this code; it stays loaded."""
        self._context.owned.append(code)
        self._context[_CONTEXT.index('kernel')] = code.address('kernel')
        # without it no argument is an array, so that no call gets as far as the kernel
        self._context[_CONTEXT.index('array_type')] = id(np.ndarray)

    def lead_link_to(self, link: str, code: machine.Code) -> None:
        """Lead from this very name of a link to the `kernel` of its code."""
        with self._lock:
            if any(known is link for known, _ in self._links.values()):
                return
            row = len(_CONTEXT) + 2 * (self._turn % _LINKS)
            self._turn += 1
            before = self._links.get(row)
            # the row must not name an object that is gone, nor lead to code that is
            self._context[row] = 0
            self._links[row] = link, code
            self._context[row + 1] = code.address('kernel')
            self._context[row] = id(link)
            del before


def definition(name: str, address: int, kind: int, doc: str | None) -> ctypes.Structure:
    """
    Return what Python reads of a built-in function at an address.

    A built-in reads it to the very end, after the collector has cleared what its `self` owns: its
    some hundred bytes stay for good.
    """
    made = _MethodDef(name.encode(), address, kind, (doc or '').encode())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(made))
    return made


def new_builtin(described: ctypes.Structure, context: Context) -> Callable:
    """Return a built-in function of a definition, with a `self`."""
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object,
                            ctypes.c_void_p)(('PyCFunction_NewEx', ctypes.pythonapi))
    return new(ctypes.addressof(described), context, None)


@lru_cache(maxsize=None)
def _code(sizes: tuple[int, ...], shape: tuple[int, ...], of_link: bool, cache: Path | None,
          finite: bool, reviewed: bool) -> machine.Code:
    form = sizes, shape, of_link, finite, reviewed
    key = f'entry|{machine.source_digest()}|{form}'
    return machine.load(key, lambda: machine.Ir(entry_ir(*form)), cache)


def entry_ir(sizes: tuple[int, ...], shape: tuple[int, ...], of_link: bool = False,
             finite: bool = False, reviewed: bool = False) -> str:
    """
    Return the IR of `entry`.

    Parameters
    ----------
    sizes : tuple of int
        Length of each array argument (the runtime parameters left out).
    shape : tuple of int
        Shape of the result.
    of_link : bool
        Whether the name of a link follows the arrays.
    finite, reviewed : bool
        Whether arguments, and whether the result, are looked through, see `Entry`.

    """
    count = len(sizes)
    positional = count + of_link
    text = Text()
    lines = ['define i64 @entry(i64 %self, i64 %args, i64 %nargs, i64 %names) {', 'start:',
             *text.load('context', '%self', DATA)]
    for k, name in enumerate(_CONTEXT):
        if not (of_link and name == 'kernel'):
            lines += text.load(name, '%context', 8 * k)
    lines += [f'  %enough = icmp eq i64 %nargs, {positional}',
              '  br i1 %enough, label %keywords, label %slow', 'keywords:',
              '  %plain = icmp eq i64 %names, 0',
              '  br i1 %plain, label %positional, label %named', 'named:',
              *text.load('many', '%names', _TUPLE_SIZE), *text.load('name', '%names', _TUPLE_ITEM),
              '  %one = icmp eq i64 %many, 1', '  %isout = icmp eq i64 %name, %out',
              '  %only = and i1 %one, %isout', '  br i1 %only, label %hasout, label %slow',
              'hasout:', *text.load('given', '%args', 8 * positional),
              '  %isnone = icmp eq i64 %given, %none',
              '  br i1 %isnone, label %positional, label %checkout', 'checkout:',
              *text.check('%given', shape, _CARRAY | _WRITEABLE, 'goodout'), 'goodout:',
              '  br label %positional', 'positional:',
              '  %target = phi i64 [ 0, %keywords ], [ 0, %hasout ], [ %given, %goodout ]']
    for k, size in enumerate(sizes):
        lines += [*text.load(f'arg{k}', '%args', 8 * k),
                  *text.check(f'%arg{k}', (size,), _CARRAY, f'good{k}'), f'good{k}:',
                  *text.load(f'data{k}', f'%arg{k}', DATA)]
    if finite:
        data = [(f'%data{k}', size) for k, size in enumerate(sizes)]
        lines += [*text.finite('given', data, 'sound', 'slow'), 'sound:']
    if of_link:
        lines += _kernel_of_link(text, count)
    lines += _result(text, shape)
    arguments = ', '.join(['i64 %runtime', *(f'i64 %data{k}' for k in range(count))])
    return '\n'.join([
        *lines, 'run:',
        '  %result = phi i64 [ %made, %fill ], [ %target, %reuse ], [ %free, %take ]',
        *text.load('dataout', '%result', DATA),
        '  %run_kernel = inttoptr i64 %kernel to ' + text.function('void', count + 2),
        f'  call void %run_kernel({arguments}, i64 %dataout)',
        *(_review(text, math.prod(shape)) if reviewed else ()), '  ret i64 %result', 'slow:',
        *text.vectorcall('answer', 'fallback'), '  ret i64 %answer', 'failed:', '  ret i64 0',
        '}'])


def _review(text: Text, size: int) -> list[str]:
    """Return the call of `review` for a result that is not finite, whose array it may cost."""
    release = '  %drop = inttoptr i64 %decref to ' + text.function('void', 1)
    return [*text.finite('found', [('%dataout', size)], 'fine', 'doubt'), 'doubt:',
            *text.vectorcall('verdict', 'review'), release,
            '  %raised = icmp eq i64 %verdict, 0',
            '  br i1 %raised, label %refused, label %allowed', 'refused:',
            '  call void %drop(i64 %result)', '  br label %failed',
            'allowed:', '  call void %drop(i64 %verdict)', '  br label %fine', 'fine:']


def _kernel_of_link(text: Text, count: int) -> list[str]:
    """Return the search for the object that names the link among the last ones."""
    lines = text.load('link', '%args', 8 * count)
    incoming = []
    for row in range(_LINKS):
        last = row == _LINKS - 1
        lines += [*text.load(f'link{row}', '%context', _TABLE + 16 * row),
                  f'  %known{row} = icmp eq i64 %link, %link{row}',
                  f'  br i1 %known{row}, label %found{row}, '
                  f'label %{"slow" if last else f"next{row}"}', f'found{row}:',
                  *text.load(f'kernel{row}', '%context', _TABLE + 16 * row + 8),
                  '  br label %linked', *([] if last else [f'next{row}:'])]
        incoming.append(f'[ %kernel{row}, %found{row} ]')
    return [*lines, 'linked:', f'  %kernel = phi i64 {", ".join(incoming)}']


def _result(text: Text, shape: tuple[int, ...]) -> list[str]:
    """Return the choice of the array for the result: the given, a kept, or a new one."""
    lines = ['  %wanted = icmp eq i64 %target, 0', '  br i1 %wanted, label %look, label %reuse',
             'reuse:', '  %hold = inttoptr i64 %incref to ' + text.function('void', 1),
             '  call void %hold(i64 %target)', '  br label %run', 'look:',
             *text.load('items', '%kept', _LIST_ITEMS), '  br label %try0']
    for k in range(_KEPT):
        after = f'try{k + 1}' if k + 1 < _KEPT else 'make'
        # one reference: the list's own. It may have been reshaped or locked meanwhile.
        lines += [f'try{k}:', *text.load(f'item{k}', '%items', 8 * k),
                  *text.load(f'count{k}', f'%item{k}', _COUNT, 'i32'),
                  f'  %single{k} = icmp eq i32 %count{k}, 1',
                  f'  br i1 %single{k}, label %look{k}, label %{after}', f'look{k}:',
                  *text.check(f'%item{k}', shape, _CARRAY | _WRITEABLE, f'free{k}', after),
                  f'free{k}:', '  br label %take']
    incoming = ', '.join(f'[ %item{k}, %free{k} ]' for k in range(_KEPT))
    return [*lines, 'take:', f'  %free = phi i64 {incoming}',
            *text.store('2', '%free', _COUNT, 'i32'), '  br label %run',
            'make:', '  %new = inttoptr i64 %array_new to ' + text.array_new(),
            f'  %made = call i64 %new(i64 %array_type, i32 {len(shape)}, i64 %dimensions, '
            f'i32 {_NPY_DOUBLE}, i64 0, i64 0, i32 0, i32 0, i64 0)',
            '  %null = icmp eq i64 %made, 0', '  br i1 %null, label %failed, label %fill',
            # it takes the place of a kept one, in turn: the list gets a reference of its own
            'fill:', *text.store('2', '%made', _COUNT, 'i32'),
            f'  %place = and i64 %turn, {_KEPT - 1}', '  %following = add i64 %turn, 1',
            *text.store('%following', '%context', 8 * _CONTEXT.index('turn')),
            '  %set = inttoptr i64 %list_set to ' + text.pointer('i32 (i64, i64, i64)'),
            '  %done = call i32 %set(i64 %kept, i64 %place, i64 %made)', '  br label %run']


class Text:
    """Writes loads and stores at an offset of an object, and the checks of an array."""

    def __init__(self):
        self._opaque = machine.pointer_type() == 'ptr'
        self._count = 0

    def pointer(self, pointee: str) -> str:
        return 'ptr' if self._opaque else f'{pointee}*'

    def function(self, result: str, arguments: int) -> str:
        return self.pointer(f'{result} ({", ".join(["i64"] * arguments)})')

    def array_new(self) -> str:
        return self.pointer('i64 (i64, i32, i64, i32, i64, i64, i32, i32, i64)')

    def _at(self, address: str, offset: int, kind: str) -> tuple[str, list[str]]:
        self._count += 1
        at = f'%at{self._count}'
        return f'{at}p', [f'  {at} = add i64 {address}, {offset}',
                          f'  {at}p = inttoptr i64 {at} to {self.pointer(kind)}']

    def load(self, name: str, address: str, offset: int, kind: str = 'i64') -> list[str]:
        at, lines = self._at(address, offset, kind)
        return [*lines, f'  %{name} = load {kind}, {self.pointer(kind)} {at}']

    def store(self, value: str, address: str, offset: int, kind: str = 'i64') -> list[str]:
        at, lines = self._at(address, offset, kind)
        return [*lines, f'  store {kind} {value}, {self.pointer(kind)} {at}']

    def vectorcall(self, name: str, function: str) -> list[str]:
        """Return the call of a Python object of the context with the arguments as they came."""
        return [f'  %call_{name} = inttoptr i64 %vectorcall to ' + self.function('i64', 4),
                f'  %{name} = call i64 %call_{name}(i64 %{function}, i64 %args, i64 %nargs, '
                'i64 %names)']

    def finite(self, name: str, data: list[tuple[str, int]], good: str, bad: str) -> list[str]:
        """Return the test that doubles at some addresses are finite: go to good or bad."""
        return finite_ir(name, data, self.pointer('double'), self.pointer(VECTOR), good, bad)

    def check(self, array: str, shape: tuple[int, ...], flags: int, good: str,
              bad: str = 'slow') -> list[str]:
        """Return the checks that `array` is a double array of this shape: go to good or bad."""
        self._count += 1
        dimensions = f'dims{self._count}'
        demands = [(_TYPE, 'i64', '%array_type'), (_DESCR, 'i64', '%double'),
                   (_NDIM, 'i32', len(shape)), (_FLAGS, 'i32', flags)]
        demands += [(8 * axis, 'i64', size) for axis, size in enumerate(shape)]
        lines = []
        for k, (offset, kind, wanted) in enumerate(demands):
            last = k == len(demands) - 1
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
    """Return whether this interpreter and NumPy have the layout that `entry` expects."""
    if (sys.implementation.name != 'cpython' or sysconfig.get_config_var('Py_GIL_DISABLED')
            or ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16
            or sys.byteorder != 'little'):
        return False
    try:
        return _counts_hold() and all(_layout_holds(array) for array in (
            np.zeros(3), np.ones((2, 5)), np.ones((4, 4))[:, ::2], np.float32([1.0])))
    except (AttributeError, ImportError, OSError, ValueError):
        return False


def _counts_hold() -> bool:
    item = np.zeros(3)
    kept = [item]
    alone, items = [], ctypes.c_size_t.from_address(id(kept) + _LIST_ITEMS).value
    for _ in range(2):
        alone.append(ctypes.c_int32.from_address(id(kept[0]) + _COUNT).value)
        item = None
    return (alone == [2, 1]
            and ctypes.c_size_t.from_address(items).value == id(kept[0]))


def _layout_holds(array: np.ndarray) -> bool:
    def read(offset, kind):
        return kind.from_address(id(array) + offset).value

    version = ctypes.CFUNCTYPE(ctypes.c_uint)(_array_api()[0])()
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
