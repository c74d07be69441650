"""Algorithms of the dynamics as functions of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.compiled import METHODS, METHODS_OF_LINK
from robodyn_ros.exceptions import near_matches, ParameterError
from robodyn_ros.export.c_function import CFunction
from robodyn_ros.export.places import Array
from robodyn_ros.export.syntax import comment, identifier

LOADS = 'loads'  # name of the argument with gravity and payloads
_UNITS = {'q': 'rad or m', 'qd': 'rad/s or m/s', 'qdd': 'rad/s^2 or m/s^2', 'tau': 'N m or N',
          'pose': '4x4, row by row, m', 'M': 'nv x nv, row by row, kg m^2, kg m or kg',
          'J': '6 x nv, row by row, linear first'}
_RESULTS = {'inverse_dynamics': 'tau', 'gravity': 'tau', 'bias': 'tau', 'mass_matrix': 'M',
            'forward_dynamics': 'qdd', 'forward_kinematics': 'pose', 'jacobian': 'J'}


class Documented(NamedTuple):
    """A function of C, with the text that explains it."""

    function: CFunction
    comment: list[str]


def dynamics_functions(dynamics: Dynamics, names: Sequence[str], prefix: str) -> list[Documented]:
    """
    Return functions of C for methods of the dynamics.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    names : sequence of str
        Methods of arrays of `Dynamics`; of a link as `name:link`, without one that of the tip.
    prefix : str
        Begins their names.

    Raises
    ------
    ParameterError
        No method, or no link, has such a name; or two of them have the same name in C.

    """
    found = [_function(dynamics, *_split(dynamics, name), prefix) for name in dict.fromkeys(names)]
    taken = [each.function.name for each in found]
    for name in taken:
        if taken.count(name) > 1:
            raise ParameterError(f'two functions would be called {name} in C: leave one out',
                                 value=name)
    return found


def _split(dynamics: Dynamics, text: str) -> tuple[str, str | None]:
    name, _, link = text.partition(':')
    if name not in METHODS:
        raise ParameterError(f'no function of the dynamics is called {name!r}; '
                             f'{near_matches(name, METHODS)}', value=name)
    of_link = name in METHODS_OF_LINK
    if link and not of_link:
        raise ParameterError(f'{name} is not that of a link: leave {":" + link!r} out', value=text)
    if link and link not in dynamics.model.links:
        raise ParameterError(f'{name}: the robot has no link {link!r}; '
                             + near_matches(link, dynamics.model.links), value=link)
    return name, (link or dynamics.model.tip) if of_link else None


def _function(dynamics: Dynamics, name: str, link: str | None, prefix: str) -> Documented:
    kernel = dynamics.kernel_of(name, link)
    program = replace(kernel.program(), in_place=False)
    result = _RESULTS.get(name, 'result')
    function = CFunction(
        '_'.join([prefix, name, *([identifier(link)] if link else [])]), program,
        (Array(LOADS, dynamics.runtime.size), *map(Array, kernel.names, kernel.sizes)),
        (Array(result, len(program.outputs)),))
    text = getattr(Dynamics, name).__doc__.strip()
    summary = text.splitlines()[0].partition(';')[0].rstrip('.') + '.'
    of_link = [f'Link: {comment(link)}.'] if link else []
    units = [f'{each}: {_UNITS.get(each, "SI units, shape " + str(kernel.shape))}.'
             for each in (*kernel.names, result)]
    return Documented(function, [summary, *of_link, *units])
