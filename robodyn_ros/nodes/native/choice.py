"""Which loop a node has: in machine code or in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from robodyn_ros.exceptions import ParameterError

_Loop = TypeVar('_Loop')


def open_loop(wish: str, problem: str, make: Callable[[], _Loop]) -> tuple[_Loop | None, str]:
    """
    Return the native loop, if it is to run, and the reason where it is not.

    Parameters
    ----------
    wish : {'auto', 'native', 'python'}
        The parameter `loop`.
    problem : str
        Why it cannot be native, as far as that is known; empty if it can.
    make : callable
        Makes the native loop.

    Raises
    ------
    ParameterError
        It is to run, and cannot.

    """
    if wish == 'python':
        return None, 'the parameter loop says so'
    native = None
    if not problem:
        try:
            native = make()
        except Exception as error:  # of the middleware, of another version of rcl or of LLVM
            problem = f'{type(error).__name__}: {error}'
    if problem and wish == 'native':
        raise ParameterError(f'loop is native, which cannot be: {problem}; set loop to auto',
                             parameter='loop', value='native')
    return native, problem
