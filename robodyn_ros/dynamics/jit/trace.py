"""
Tracing: one run of a kernel on symbols records its straight-line program.

A kernel in this package is a plain function over scalars. Called with floats it computes.
Called with the `Symbol` objects of a `Graph` it records: every operation on a symbol becomes a
node of the graph, and constants of the robot are folded:

- operations between two floats are ordinary Python and leave no node;
- `0 * x`, `1 * x`, `x + 0`, `x - x` are simplified, signs move outwards and cancel;
- equal subexpressions are one node (hash-consing), so that a rotation used by three recursions is
  computed once, and each angle has one sine and one cosine.

Control flow of Python is not recorded: loops over joints are unrolled, and branches may depend on
the robot's structure, never on a symbol. For branches on values use `minimum`, `maximum`,
`absolute` or `select`, the flags of `flags`, and the branches, loops, calls and tables of `flow`;
they take floats and symbols.

Folding assumes finite operands: `0 * x` is 0 also if x is NaN, and the sign of a zero may get
lost. `Ieee` of module `ieee` is a float with the same behaviour.
"""

from __future__ import annotations

import math

from robodyn_ros.dynamics.jit.graph import graph_of, number, Scalar, Symbol

# doubles from here on are integers
_WHOLE = 2.0 ** 52


def sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return sine and cosine of an angle in radians."""
    if isinstance(angle, Symbol):
        return angle.graph.function('sin', angle), angle.graph.function('cos', angle)
    if not math.isfinite(angle):
        return like(math.nan, angle), like(math.nan, angle)
    return like(math.sin(angle), angle), like(math.cos(angle), angle)


def reciprocal(x: Scalar) -> Scalar:
    """Return 1 / x; infinite at zero, as in machine code."""
    if isinstance(x, Symbol) or x != 0.0:
        return 1.0 / x
    return like(math.copysign(math.inf, x), x)


def sqrt(x: Scalar) -> Scalar:
    """Return the square root of `x`; NaN below zero."""
    if isinstance(x, Symbol):
        return x.graph.function('sqrt', x)
    return like(math.sqrt(x) if x >= 0.0 else math.nan, x)


def absolute(x: Scalar) -> Scalar:
    """Return the absolute value of `x`."""
    return x.graph.function('abs', x) if isinstance(x, Symbol) else like(abs(x), x)


def nearest(x: Scalar) -> Scalar:
    """Return the nearest integer, ties to even; large, infinite and NaN values unchanged."""
    if isinstance(x, Symbol):
        return x.graph.function('nearest', x)
    return like(math.copysign(round(x), x) if abs(x) < _WHOLE else float(x), x)


def floor(x: Scalar) -> Scalar:
    """Return the largest integer not above `x`; large, infinite and NaN values unchanged."""
    if isinstance(x, Symbol):
        return x.graph.function('floor', x)
    return like(math.copysign(math.floor(x), x) if abs(x) < _WHOLE else float(x), x)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two scalars; `b` if one is NaN, as in machine code."""
    graph = graph_of(a, b)
    if graph is None:
        return like(a if a < b else b, a, b)
    return graph.function('min', number(a), number(b))


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two scalars; `b` if one is NaN, as in machine code."""
    graph = graph_of(a, b)
    if graph is None:
        return like(a if a > b else b, a, b)
    return graph.function('max', number(a), number(b))


def select(condition: Scalar, positive: Scalar, otherwise: Scalar) -> Scalar:
    """
    Return `positive` where `condition > 0`, else `otherwise`; both are evaluated.

    A condition that is NaN gives `otherwise`, which should be the safe value.
    """
    if not isinstance(condition, Symbol):
        value = positive if condition > 0.0 else otherwise
        return value if isinstance(value, Symbol) else like(value, condition)
    positive, otherwise = number(positive), number(otherwise)
    if positive is otherwise:
        return positive
    graph = condition.graph
    return graph.function('select', graph.condition(condition), positive, otherwise)


def like(value: Scalar, *examples: Scalar) -> Scalar:
    """Return a float of the type of the examples: `Ieee` if one of them is."""
    for each in examples:
        if each.__class__ is not float and isinstance(each, float):
            return each.__class__(value)
    return value
