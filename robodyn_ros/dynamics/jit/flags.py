"""
Flags of conditions, for functions over scalars: `a > b`, `a >= b`, `(a > b) & no(c)`, `a | b`.

Of floats they are truth values, of `Ieee` 1.0 or 0.0. Of symbols they are conditions, and become
numbers in machine code only if used as such. As a flag, any scalar stands for `scalar > 0`, with
`flag(x)` where it is a float. A comparison with NaN does not hold. `~` is no negation of a truth
value in Python: `no(a)` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
import math
from operator import and_, or_
from typing import cast

from robodyn_ros.dynamics.jit.graph import graph_of, number, Scalar, Symbol
from robodyn_ros.dynamics.jit.ieee import Ieee
from robodyn_ros.dynamics.jit.nested import flatten, unflatten
from robodyn_ros.dynamics.jit.trace import absolute, select


def _of_floats(holds: bool, *examples: Scalar) -> Scalar:
    return Ieee(holds) if any(isinstance(each, Ieee) for each in examples) else holds


def equal(a: Scalar, b: Scalar) -> Scalar:
    """Return 1.0 where `a == b`."""
    graph = graph_of(a, b)
    if graph is None:
        return _of_floats(a == b, a, b)
    return graph.flag('equal', number(a), number(b))


def finite(x: Scalar) -> Scalar:
    """Return 1.0 where a scalar is neither NaN nor infinite."""
    return absolute(x) < math.inf


def no(a: Scalar) -> Scalar:
    """Return 1.0 where a flag does not hold."""
    return a.graph.opposite(a) if isinstance(a, Symbol) else _of_floats(not a > 0.0, a)


def flag(a: Scalar) -> Scalar:
    """Return 1.0 where `a > 0`, a flag as it is."""
    return a.graph.as_flag(a) if isinstance(a, Symbol) else _of_floats(a > 0.0, a)


def all_of(flags: Sequence[Scalar]) -> Scalar:
    """Return 1.0 where all flags hold; 1.0 for no flags."""
    return reduce(and_, map(flag, flags), cast(Scalar, True))


def any_of(flags: Sequence[Scalar]) -> Scalar:
    """Return 1.0 where at least one flag holds."""
    return reduce(or_, map(flag, flags), cast(Scalar, False))


def all_finite(values) -> Scalar:
    """Return 1.0 where all of the scalars, nested in any way, are finite."""
    return all_of([finite(each) for each in flatten(values)])


def any_above(values, bound: Scalar) -> Scalar:
    """Return 1.0 where one of the scalars, nested in any way, is above a bound."""
    return any_of([each > bound for each in flatten(values)])


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
