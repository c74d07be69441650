"""
Flags, 1.0 if a condition holds, else 0.0, for functions over scalars.

For floats they are floats. For symbols they are conditions, and become numbers in machine code
only if used as such. As a flag, any scalar stands for `scalar > 0`. A comparison with NaN is 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
import math
from typing import cast

from robodyn_ros.dynamics.jit.graph import graph_of, number, Scalar, Symbol
from robodyn_ros.dynamics.jit.nested import flatten, unflatten
from robodyn_ros.dynamics.jit.trace import absolute, of_kind, select


def above(a: Scalar, b: Scalar) -> Scalar:
    """Return 1.0 where `a > b`."""
    graph = graph_of(a, b)
    if graph is None:
        return of_kind(1.0 if a > b else 0.0, a, b)
    return 0.0 if a is b else graph.flag('above', number(a), number(b))


def below(a: Scalar, b: Scalar) -> Scalar:
    """Return 1.0 where `a < b`."""
    return above(b, a)


def at_least(a: Scalar, b: Scalar) -> Scalar:
    """Return 1.0 where `a >= b`."""
    graph = graph_of(a, b)
    if graph is None:
        return of_kind(1.0 if a >= b else 0.0, a, b)
    return graph.flag('at_least', number(a), number(b))


def equal(a: Scalar, b: Scalar) -> Scalar:
    """Return 1.0 where `a == b`."""
    graph = graph_of(a, b)
    if graph is None:
        return of_kind(1.0 if a == b else 0.0, a, b)
    return graph.flag('equal', number(a), number(b))


def finite(x: Scalar) -> Scalar:
    """Return 1.0 where a scalar is neither NaN nor infinite."""
    return above(math.inf, absolute(x))


def both(a: Scalar, b: Scalar) -> Scalar:
    """Return 1.0 where both flags hold."""
    return _joined('both', a, b)


def either(a: Scalar, b: Scalar) -> Scalar:
    """Return 1.0 where at least one of two flags holds."""
    return _joined('either', a, b)


def _joined(operation: str, a: Scalar, b: Scalar) -> Scalar:
    for one, other in ((a, b), (b, a)):
        if not isinstance(one, Symbol):
            decides = (one > 0.0) == (operation == 'either')
            result = float(operation == 'either') if decides else flag(other)
            return result if isinstance(result, Symbol) else of_kind(result, a, b)
    if a is b:
        return flag(a)
    graph = graph_of(a, b)
    assert graph is not None
    return graph.flag(operation, graph.condition(a), graph.condition(b))


def no(a: Scalar) -> Scalar:
    """Return 1.0 where a flag does not hold."""
    if not isinstance(a, Symbol):
        return of_kind(0.0 if a > 0.0 else 1.0, a)
    return a.graph.opposite(a)


def flag(a: Scalar) -> Scalar:
    """Return 1.0 where `a > 0`, a flag as it is."""
    return a if isinstance(a, Symbol) and a.graph.is_flag(a) else above(a, 0.0)


def all_of(flags: Sequence[Scalar]) -> Scalar:
    """Return 1.0 where all flags hold; 1.0 for no flags."""
    return reduce(both, flags, cast(Scalar, 1.0))


def any_of(flags: Sequence[Scalar]) -> Scalar:
    """Return 1.0 where at least one flag holds."""
    return reduce(either, flags, cast(Scalar, 0.0))


def all_finite(values) -> Scalar:
    """Return 1.0 where all of the scalars, nested in any way, are finite."""
    return all_of([finite(each) for each in flatten(values)])


def any_above(values, bound: Scalar) -> Scalar:
    """Return 1.0 where one of the scalars, nested in any way, is above a bound."""
    return any_of([above(each, bound) for each in flatten(values)])


def when(condition: Scalar, values, otherwise):
    """
    Return `values` where a flag holds, else `otherwise`; both are evaluated, as in `select`.

    Parameters
    ----------
    condition : scalar
        A flag; where it is NaN, the result is `otherwise`, which should be the safe value.
    values, otherwise : nested scalars
        Two structures of the same form, see `nested`.

    """
    chosen, rest = flatten(values), flatten(otherwise)
    if len(chosen) != len(rest):
        raise TypeError(f'when() has {len(chosen)} scalars to choose and {len(rest)} otherwise')
    return unflatten(otherwise, [select(condition, a, b) for a, b in zip(chosen, rest)])


def first_of(*rows: tuple, otherwise):
    """
    Return the values of the first row whose condition holds: a decision table.

    Parameters
    ----------
    *rows : tuple
        `(condition, value, ...)`, values nested in any way; all are evaluated.
    otherwise : tuple
        The values where no condition holds, of the same structure.

    """
    result = tuple(otherwise)
    for condition, *values in reversed(rows):
        result = when(condition, tuple(values), result)
    return result
