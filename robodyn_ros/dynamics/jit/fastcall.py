"""
Fast call of a kernel from Python: a built-in function made at run time.

Python calls a C function of the kind METH_FASTCALL with an array of object addresses. The code
below is that function in LLVM IR: it checks each argument's type, element type, shape, alignment
and contiguity, and `out=`; if all fit, it passes the data pointers to the kernel. Any other call
(lists, float32, strides, batches, wrenches, errors) is passed to the Python method that the
function replaces, which converts, computes or raises. A wrong argument is thus slow, never unsafe.

If NaN is required for arguments that are not finite (see `Kernel`), the arguments are tested, and
such a call is passed to the method, too. If a result can be infinite because M is singular, the
result is tested, and passed to `review`, which may raise.

Two measures make a call fast. Result arrays are used again: some are kept in a list, and one
without any other reference is free. And the name of a link is compared by object identity with
the last names used; each of these is stored with the kernel of its link.

The code depends on the shapes of arguments and result only, and is shared by kernels. If
`builtin.supported` is false, kernels are called through ctypes.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
import math
from pathlib import Path
import sys
from threading import Lock
from typing import Callable

import numpy as np

from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.builtin import (
    address_of, array_api, ARRAY_NEW, CARRAY, Context, COUNT, DATA, definition, LIST_ITEMS,
    new_builtin, Text, TUPLE_ITEM, TUPLE_SIZE, WRITEABLE)
from robodyn_ros.dynamics.jit.finite import finite_ir

_VECTORCALL_OFFSET = 56  # PyTypeObject.tp_vectorcall_offset
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_NPY_DOUBLE = 12

# number of results kept for reuse, and of stored link names: powers of two
_KEPT = 4
_LINKS = 8

# values of the context array in `self`: addresses of this process
_CONTEXT = ('array_type', 'double', 'out', 'none', 'fallback', 'vectorcall', 'incref',
            'array_new', 'list_set', 'runtime', 'dimensions', 'kept', 'turn', 'kernel',
            'review', 'decref')
_TABLE = 8 * len(_CONTEXT)  # then pairs of a link's name and its kernel


class FastCall:
    """
    A built-in function for kernels of one signature.

    Before `bind`, or `bind_link`, every call is passed to `fallback`.

    Parameters
    ----------
    name, doc : str
        Name and docstring; None under Python's option -OO.
    fallback : bound method
        Method with the same arguments, for calls that the built-in function does not handle.
    runtime : (k,) array
        Runtime parameters; read at every call.
    sizes : tuple of int
        Length of each array argument.
    shape : tuple of int
        Shape of the result.
    cache : Path or None
        Folder for compiled code.
    of_link : bool
        Whether the name of a link follows the arrays.
    finite : bool
        Whether calls with arguments that are not finite are passed to `fallback`.
    review : bound method, optional
        Called with the same arguments if the result is not finite; its result is ignored.

    Attributes
    ----------
    builtin : callable
        The built-in function.

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
            'incref': address_of(api.Py_IncRef), 'list_set': address_of(api.PyList_SetItem),
            'array_new': array_api()[ARRAY_NEW], 'runtime': runtime.ctypes.data,
            'dimensions': dimensions.ctypes.data, 'kept': id(kept), 'turn': 0, 'kernel': 0,
            'review': id(review), 'decref': address_of(api.Py_DecRef)}
        context = np.zeros(len(_CONTEXT) + 2 * _LINKS, dtype=np.uintp).view(Context)
        context[:len(_CONTEXT)] = [addresses[each] for each in _CONTEXT]
        context.owned = [code, fallback, review, runtime, dimensions, kept, out]
        self._context = context
        self._links = context.links = {}
        self._turn = 0
        self._lock = Lock()
        self.builtin = new_builtin(definition(
            name, code.address('entry'), _METH_FASTCALL_KEYWORDS, doc), context)

    def bind(self, code: machine.Code) -> None:
        """Connect the function to the `kernel` of this code, which is kept loaded."""
        self._context.owned.append(code)
        self._context[_CONTEXT.index('kernel')] = code.address('kernel')
        # until this is set no argument passes as an array, so that no call reaches the kernel
        self._context[_CONTEXT.index('array_type')] = id(np.ndarray)

    def bind_link(self, link: str, code: machine.Code) -> None:
        """Connect this string object, the name of a link, to the `kernel` of its code."""
        with self._lock:
            if any(known is link for known, _ in self._links.values()):
                return
            row = len(_CONTEXT) + 2 * (self._turn % _LINKS)
            self._turn += 1
            before = self._links.get(row)
            # the row is invalid while it changes: it must not refer to freed objects or code
            self._context[row] = 0
            self._links[row] = link, code
            self._context[row + 1] = code.address('kernel')
            self._context[row] = id(link)
            del before


@lru_cache(maxsize=None)
def _code(sizes: tuple[int, ...], shape: tuple[int, ...], of_link: bool, cache: Path | None,
          finite: bool, reviewed: bool) -> machine.Code:
    form = sizes, shape, of_link, finite, reviewed
    key = f'entry|{machine.source_digest()}|{form}'
    return machine.load(key, lambda: machine.Ir(entry_ir(*form)), cache)


def entry_ir(sizes: tuple[int, ...], shape: tuple[int, ...], of_link: bool = False,
             finite: bool = False, reviewed: bool = False) -> str:
    """
    Return the IR of `entry`, the function of a `FastCall`.

    Parameters
    ----------
    sizes : tuple of int
        Length of each array argument, without the runtime parameters.
    shape : tuple of int
        Shape of the result.
    of_link : bool
        Whether the name of a link follows the arrays.
    finite, reviewed : bool
        Whether arguments, and whether the result, are tested for being finite, see `FastCall`.

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
              *text.load('many', '%names', TUPLE_SIZE), *text.load('name', '%names', TUPLE_ITEM),
              '  %one = icmp eq i64 %many, 1', '  %isout = icmp eq i64 %name, %out',
              '  %only = and i1 %one, %isout', '  br i1 %only, label %hasout, label %slow',
              'hasout:', *text.load('given', '%args', 8 * positional),
              '  %isnone = icmp eq i64 %given, %none',
              '  br i1 %isnone, label %positional, label %checkout', 'checkout:',
              *text.check('%given', shape, CARRAY | WRITEABLE, 'goodout'), 'goodout:',
              '  br label %positional', 'positional:',
              '  %target = phi i64 [ 0, %keywords ], [ 0, %hasout ], [ %given, %goodout ]']
    for k, size in enumerate(sizes):
        lines += [*text.load(f'arg{k}', '%args', 8 * k),
                  *text.check(f'%arg{k}', (size,), CARRAY, f'good{k}'), f'good{k}:',
                  *text.load(f'data{k}', f'%arg{k}', DATA)]
    if finite:
        data = [(f'%data{k}', size) for k, size in enumerate(sizes)]
        lines += [*finite_ir('given', data, 'tested', 'slow'), 'tested:']
    if of_link:
        lines += _kernel_of_link(text, count)
    lines += _result(text, shape)
    arguments = ', '.join(['i64 %runtime', *(f'i64 %data{k}' for k in range(count))])
    return '\n'.join([
        *lines, 'run:',
        '  %result = phi i64 [ %made, %fill ], [ %target, %reuse ], [ %free, %take ]',
        *text.load('dataout', '%result', DATA),
        '  %run_kernel = inttoptr i64 %kernel to ptr',
        f'  call void %run_kernel({arguments}, i64 %dataout)',
        *(_review(text, math.prod(shape)) if reviewed else ()), '  ret i64 %result', 'slow:',
        *text.vectorcall('answer', 'fallback'), '  ret i64 %answer', 'failed:', '  ret i64 0',
        '}'])


def _review(text: Text, size: int) -> list[str]:
    """Return the call of `review` for a result that is not finite."""
    release = '  %drop = inttoptr i64 %decref to ptr'
    return [*finite_ir('found', [('%dataout', size)], 'accepted', 'notfinite'), 'notfinite:',
            *text.vectorcall('verdict', 'review'), release,
            '  %raised = icmp eq i64 %verdict, 0',
            '  br i1 %raised, label %refused, label %allowed', 'refused:',
            '  call void %drop(i64 %result)', '  br label %failed',
            'allowed:', '  call void %drop(i64 %verdict)', '  br label %accepted', 'accepted:']


def _kernel_of_link(text: Text, count: int) -> list[str]:
    """Return the search for the string object of the link among the stored ones."""
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
    """Return the selection of the result array: the given one, a kept one, or a new one."""
    lines = ['  %wanted = icmp eq i64 %target, 0', '  br i1 %wanted, label %look, label %reuse',
             'reuse:', '  %hold = inttoptr i64 %incref to ptr',
             '  call void %hold(i64 %target)', '  br label %run', 'look:',
             *text.load('items', '%kept', LIST_ITEMS), '  br label %try0']
    for k in range(_KEPT):
        after = f'try{k + 1}' if k + 1 < _KEPT else 'make'
        # one reference is the list's own; the shape or the flags may have been changed
        lines += [f'try{k}:', *text.load(f'item{k}', '%items', 8 * k),
                  *text.load(f'count{k}', f'%item{k}', COUNT, 'i32'),
                  f'  %single{k} = icmp eq i32 %count{k}, 1',
                  f'  br i1 %single{k}, label %look{k}, label %{after}', f'look{k}:',
                  *text.check(f'%item{k}', shape, CARRAY | WRITEABLE, f'free{k}', after),
                  f'free{k}:', '  br label %take']
    incoming = ', '.join(f'[ %item{k}, %free{k} ]' for k in range(_KEPT))
    return [*lines, 'take:', f'  %free = phi i64 {incoming}',
            *text.store('2', '%free', COUNT, 'i32'), '  br label %run',
            'make:', '  %new = inttoptr i64 %array_new to ptr',
            f'  %made = call i64 %new(i64 %array_type, i32 {len(shape)}, i64 %dimensions, '
            f'i32 {_NPY_DOUBLE}, i64 0, i64 0, i32 0, i32 0, i64 0)',
            '  %null = icmp eq i64 %made, 0', '  br i1 %null, label %failed, label %fill',
            # the new array replaces the kept ones in turn; the list holds its own reference
            'fill:', *text.store('2', '%made', COUNT, 'i32'),
            f'  %place = and i64 %turn, {_KEPT - 1}', '  %following = add i64 %turn, 1',
            *text.store('%following', '%context', 8 * _CONTEXT.index('turn')),
            '  %set = inttoptr i64 %list_set to ptr',
            '  %done = call i32 %set(i64 %kept, i64 %place, i64 %made)', '  br label %run']


def _vectorcall(method: Callable) -> int:
    """Return the address of the C function that calls a method with an array of arguments."""
    try:
        return address_of(ctypes.pythonapi.PyObject_Vectorcall)
    except AttributeError:  # inline before Python 3.11: read the slot of the type instead
        offset = ctypes.c_ssize_t.from_address(id(type(method)) + _VECTORCALL_OFFSET).value
        return ctypes.c_size_t.from_address(id(method) + offset).value
