"""
Calls of machine code from Python without arguments, which are stored in a block of memory.

A block of 64-bit integers holds the address of the code and its arguments, mostly addresses of
arrays. Before each call an array may be copied to another, for functions that take the result of
their last call as an argument. The GIL is not released: a call takes microseconds, and another
thread would hold the GIL for milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from robodyn_ros.dynamics.jit import builtin, machine

# fields of the block before the arguments
_HEAD = ('none', 'count_up', 'target', 'source', 'bytes', 'code')
_METH_NOARGS = 0x0004


class BoundCall:
    """
    A call of machine code with fixed arguments.

    Parameters
    ----------
    address : int
        Address of the code; its parameters are 64-bit integers or pointers, its return type void.
    arguments : sequence of int
        Arguments of the code.
    owned
        Object that is kept alive as long as the call.
    cache : Path or None
        Folder for compiled code.

    Attributes
    ----------
    arguments : (n,) array of int64
        Arguments of the next call.
    code, block : int
        Address of a function that makes the call, and of the block that is its argument.
    call : callable
        Makes the call; a built-in function, if this interpreter supports it.

    """

    def __init__(self, address: int, arguments: Sequence[int], owned, cache: Path | None):
        head = {'none': id(None), 'code': address, 'target': 0, 'source': 0, 'bytes': 0,
                'count_up': ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value}
        self._block = np.array([head[each] for each in _HEAD] + list(arguments),
                               dtype=np.int64).view(builtin.Context)
        self.arguments = np.asarray(self._block)[len(_HEAD):]
        code = _code(len(arguments), cache)
        self.code, self.block = code.address('bound'), self._block.ctypes.data
        self._block.owned = code, owned
        self.call: Callable[[], None] = self._builtin(len(arguments), cache) if (
            builtin.supported()) else self._through_ctypes(code)

    def feed(self, target: np.ndarray, source: np.ndarray) -> None:
        """Copy an array to another of the same size before each call."""
        self._block[2:5] = target.ctypes.data, source.ctypes.data, source.nbytes

    def _builtin(self, count: int, cache: Path | None) -> Callable:
        return builtin.new_builtin(_definition(count, cache), self._block)

    def _through_ctypes(self, code: machine.Code) -> Callable:
        function = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(code.address('bound'))
        call = partial(function, ctypes.c_void_p(self._block.ctypes.data))
        setattr(call, 'owned', self._block)  # keeps it alive
        return call


@lru_cache(maxsize=None)
def _code(count: int, cache: Path | None) -> machine.Code:
    return machine.load(f'bound|{machine.source_digest()}|{count}',
                        lambda: machine.Ir(bound_ir(count)), cache)


@lru_cache(maxsize=None)
def _definition(count: int, cache: Path | None):
    return builtin.definition('call', _code(count, cache).address('entry'), _METH_NOARGS, None)


def bound_ir(count: int) -> str:
    """Return the IR of `bound(block)`, and of `entry`, the built-in whose `self` has the block."""
    text = builtin.Text()
    names = [*_HEAD, *(f'a{k}' for k in range(count))]
    lines = ['declare i64 @memcpy(i64, i64, i64)',
             'define void @bound(i64 %block) {', 'start:']
    for k, name in enumerate(names):
        if name not in ('none', 'count_up'):
            lines += text.load(name, '%block', 8 * k)
        if name == 'bytes':
            lines.append('  %copied = call i64 @memcpy(i64 %target, i64 %source, i64 %bytes)')
    given = ', '.join(f'i64 %a{k}' for k in range(count))
    return '\n'.join([
        *lines, '  %kernel = inttoptr i64 %code to ptr',
        f'  call void %kernel({given})', '  ret void', '}',
        'define i64 @entry(i64 %self, i64 %nothing) {', 'start:',
        *text.load('block', '%self', builtin.DATA), '  call void @bound(i64 %block)',
        *text.load('none', '%block', 0), *text.load('count_up', '%block', 8),
        '  %hold = inttoptr i64 %count_up to ptr',
        '  call void %hold(i64 %none)', '  ret i64 %none', '}'])
