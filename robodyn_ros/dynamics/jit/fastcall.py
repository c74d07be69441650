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

The code of a door depends on the shapes of arguments and result only: kernels share it. Where
`builtin.supported` finds objects of another layout, kernels are called through ctypes.
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

_VECTORCALL_OFFSET = 56  # PyTypeObject.tp_vectorcall_offset
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_NPY_DOUBLE = 12

# results kept for use again, and names of links that are known: powers of two
_KEPT = 4
_LINKS = 8

# the context array that `self` carries: what the code needs to know of this process
_CONTEXT = ('array_type', 'double', 'out', 'none', 'fallback', 'vectorcall', 'incref',
            'array_new', 'list_set', 'runtime', 'dimensions', 'kept', 'turn', 'kernel',
            'review', 'decref')
_TABLE = 8 * len(_CONTEXT)  # then pairs of a link's name and its kernel


class FastCall:
    """
    A built-in function in front of kernels of one signature.

    Until `bind`, or `bind_link`, every call goes to `fallback`.

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
        """Lead to the `kernel` of this code; it stays loaded."""
        self._context.owned.append(code)
        self._context[_CONTEXT.index('kernel')] = code.address('kernel')
        # without it no argument is an array, so that no call gets as far as the kernel
        self._context[_CONTEXT.index('array_type')] = id(np.ndarray)

    def bind_link(self, link: str, code: machine.Code) -> None:
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
        Whether arguments, and whether the result, are looked through, see `FastCall`.

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
             *text.load('items', '%kept', LIST_ITEMS), '  br label %try0']
    for k in range(_KEPT):
        after = f'try{k + 1}' if k + 1 < _KEPT else 'make'
        # one reference: the list's own. It may have been reshaped or locked meanwhile.
        lines += [f'try{k}:', *text.load(f'item{k}', '%items', 8 * k),
                  *text.load(f'count{k}', f'%item{k}', COUNT, 'i32'),
                  f'  %single{k} = icmp eq i32 %count{k}, 1',
                  f'  br i1 %single{k}, label %look{k}, label %{after}', f'look{k}:',
                  *text.check(f'%item{k}', shape, CARRAY | WRITEABLE, f'free{k}', after),
                  f'free{k}:', '  br label %take']
    incoming = ', '.join(f'[ %item{k}, %free{k} ]' for k in range(_KEPT))
    return [*lines, 'take:', f'  %free = phi i64 {incoming}',
            *text.store('2', '%free', COUNT, 'i32'), '  br label %run',
            'make:', '  %new = inttoptr i64 %array_new to ' + text.array_new(),
            f'  %made = call i64 %new(i64 %array_type, i32 {len(shape)}, i64 %dimensions, '
            f'i32 {_NPY_DOUBLE}, i64 0, i64 0, i32 0, i32 0, i64 0)',
            '  %null = icmp eq i64 %made, 0', '  br i1 %null, label %failed, label %fill',
            # it takes the place of a kept one, in turn: the list gets a reference of its own
            'fill:', *text.store('2', '%made', COUNT, 'i32'),
            f'  %place = and i64 %turn, {_KEPT - 1}', '  %following = add i64 %turn, 1',
            *text.store('%following', '%context', 8 * _CONTEXT.index('turn')),
            '  %set = inttoptr i64 %list_set to ' + text.pointer('i32 (i64, i64, i64)'),
            '  %done = call i32 %set(i64 %kept, i64 %place, i64 %made)', '  br label %run']


def _vectorcall(method: Callable) -> int:
    """Return the C function that calls a bound method with an array of arguments."""
    try:
        return address_of(ctypes.pythonapi.PyObject_Vectorcall)
    except AttributeError:  # before Python 3.11 it is inline: read the slot that it reads
        offset = ctypes.c_ssize_t.from_address(id(type(method)) + _VECTORCALL_OFFSET).value
        return ctypes.c_size_t.from_address(id(method) + offset).value
