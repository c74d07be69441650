"""Choice of the loop of a node: native or Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from robodyn_ros.exceptions import ParameterError

_Loop = TypeVar('_Loop')


def open_loop(choice: str, problem: str, make: Callable[[], _Loop]) -> tuple[_Loop | None, str]:
    """
    Return the native loop, or None, and the reason why there is none.

    Parameters
    ----------
    choice : {'auto', 'native', 'python'}
        Parameter `loop`.
    problem : str
        Known reason why the loop cannot be native; empty if there is none.
    make : callable
        Returns the native loop.

    Raises
    ------
    ParameterError
        `choice` is 'native', and the native loop cannot run.

    """
    if choice == 'python':
        return None, 'the parameter loop is python'
    native = None
    if not problem:
        try:
            native = make()
        except Exception as error:  # of another middleware, or another version of rcl or LLVM
            problem = f'{type(error).__name__}: {error}'
    if problem and choice == 'native':
        raise ParameterError(f'loop: native is not possible: {problem}; set loop to auto',
                             parameter='loop', value='native')
    return native, problem
