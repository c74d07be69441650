"""
Tracing scalars: run a kernel once, get its straight-line program.

A kernel in this package is a plain function over scalars. Called with floats it computes.
Called with the `Symbol` objects of a `Graph` it records: every operation on a symbol becomes a
node of the graph, and what is known about this one robot disappears on the way:

- operations between two floats are ordinary Python and leave no node (constants fold);
- `0 * x`, `1 * x`, `x + 0`, `x - x` vanish, signs move outwards and cancel;
- equal subexpressions are one node (hash-consing), so a rotation that three recursions use is
  computed once, and each angle has one sine and one cosine.

Control flow is Python's own and is gone after the trace: loops over joints are unrolled, and
branches may look at the robot's structure, never at a symbol. Where a value must decide, use
`minimum`, `maximum`, `absolute` or `select`, which work on floats and symbols alike.

The graph is a list of tuples `(operation, operand, ...)`, in the order of creation, which is a
valid order of evaluation. Operands are floats or indices of earlier nodes wrapped in `Symbol`.
"""

from __future__ import annotations

import math
from typing import Union


class Symbol:
    """
    A scalar that is not known yet: one node of a graph.

    Supports `+ - * /`, negation, and the functions of this module. It has no truth value and no
    order: a kernel that branches on it is an error, raised where it happens.
    """

    __slots__ = ('graph', 'index')

    def __init__(self, graph: Graph, index: int):
        self.graph = graph
        self.index = index

    def __add__(self, other):
        return self.graph.add(self, other)

    def __radd__(self, other):
        return self.graph.add(other, self)

    def __sub__(self, other):
        return self.graph.subtract(self, other)

    def __rsub__(self, other):
        return self.graph.subtract(other, self)

    def __mul__(self, other):
        return self.graph.multiply(self, other)

    def __rmul__(self, other):
        return self.graph.multiply(other, self)

    def __truediv__(self, other):
        return self.graph.divide(self, other)

    def __rtruediv__(self, other):
        return self.graph.divide(other, self)

    def __neg__(self):
        return self.graph.negate(self)

    def _refuse(self, *_):
        raise TypeError('a traced kernel must not branch on a value: use select()')

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = _refuse


Scalar = Union[float, Symbol]


class Graph:
    """
    The program recorded by a trace.

    Attributes
    ----------
    nodes : list of tuple
        `(operation, operand, ...)`; an operand is a float or a `Symbol` of this graph. `input`
        nodes are `('input', argument, position)` with two integers.

    """

    def __init__(self):
        self.nodes: list[tuple] = []
        self._symbols: list[Symbol] = []
        self._known: dict[tuple, Symbol] = {}

    def inputs(self, argument: int, size: int) -> list[Symbol]:
        """Return the symbols of argument number `argument`, an array of `size` elements."""
        return [self._node('input', argument, position) for position in range(size)]

    def node(self, symbol: Symbol) -> tuple:
        """Return the operation and operands behind a symbol."""
        return self.nodes[symbol.index]

    def known(self, operation: str, *operands: int) -> Symbol | None:
        """Return the node of an operation on nodes with these indices, if there is one."""
        return self._known.get((operation, *operands))

    def _node(self, *node) -> Symbol:
        key = tuple(_key(part) for part in node)
        symbol = self._known.get(key)
        if symbol is None:
            symbol = Symbol(self, len(self.nodes))
            self.nodes.append(node)
            self._symbols.append(symbol)
            self._known[key] = symbol
        return symbol

    def _is(self, operand, operation: str) -> bool:
        return isinstance(operand, Symbol) and self.nodes[operand.index][0] == operation

    def _ordered(self, operation: str, a, b) -> Symbol:
        """Return the node of a commutative operation, operands in one order."""
        if isinstance(b, float) or (isinstance(a, Symbol) and a.index > b.index):
            a, b = b, a
        return self._node(operation, a, b)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """Return `a + b`."""
        a, b = _number(a), _number(b)
        if isinstance(a, float) and a == 0.0:
            return b
        if isinstance(b, float) and b == 0.0:
            return a
        if self._is(b, 'neg'):
            return self.subtract(a, self.node(b)[1])
        if self._is(a, 'neg'):
            return self.subtract(b, self.node(a)[1])
        return self._ordered('add', a, b)

    def subtract(self, a: Scalar, b: Scalar) -> Scalar:
        """Return `a - b`."""
        a, b = _number(a), _number(b)
        if isinstance(b, float):
            return self.add(a, -b)
        if isinstance(a, float) and a == 0.0:
            return self.negate(b)
        if a is b:
            return 0.0
        if self._is(b, 'neg'):
            return self.add(a, self.node(b)[1])
        if self._is(a, 'neg'):
            return self.negate(self.add(self.node(a)[1], b))
        opposite = self._known.get(('sub', _key(b), _key(a)))
        if opposite is not None:
            return self.negate(opposite)
        return self._node('sub', a, b)

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        """Return `a * b`."""
        a, b = _number(a), _number(b)
        if isinstance(b, float):
            a, b = b, a
        if isinstance(a, float):
            return self._scale(a, b)
        if self._is(a, 'neg'):
            return self.negate(self.multiply(self.node(a)[1], b))
        if self._is(b, 'neg'):
            return self.negate(self.multiply(a, self.node(b)[1]))
        return self._ordered('mul', a, b)

    def _scale(self, factor: float, b: Symbol) -> Scalar:
        if factor == 0.0:
            return 0.0
        if factor < 0.0:
            return self.negate(self._scale(-factor, b))
        if factor == 1.0:
            return b
        if self._is(b, 'neg'):
            return self.negate(self._scale(factor, self.node(b)[1]))
        return self._node('mul', factor, b)

    def divide(self, a: Scalar, b: Scalar) -> Scalar:
        """Return `a / b`."""
        a, b = _number(a), _number(b)
        if isinstance(a, float) and a == 0.0:
            return 0.0
        if isinstance(b, float) and b == 1.0:
            return a
        return self._node('div', a, b)

    def negate(self, a: Symbol) -> Symbol:
        """Return `-a`."""
        if self._is(a, 'neg'):
            return self.node(a)[1]
        return self._node('neg', a)

    def function(self, name: str, *operands: Scalar) -> Symbol:
        """Return the node of a function that has no algebraic rules."""
        return self._node(name, *(_number(operand) for operand in operands))


def _key(part):
    if isinstance(part, Symbol):
        return part.index
    return part if isinstance(part, str) else (part, type(part))


def _number(value: Scalar) -> Scalar:
    return value if isinstance(value, Symbol) else float(value)


def _graph(*operands: Scalar) -> Graph | None:
    return next((each.graph for each in operands if isinstance(each, Symbol)), None)


def sincos(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return sine and cosine of an angle in radians."""
    if isinstance(angle, Symbol):
        return angle.graph.function('sin', angle), angle.graph.function('cos', angle)
    if not math.isfinite(angle):
        return math.nan, math.nan
    return math.sin(angle), math.cos(angle)


def reciprocal(x: Scalar) -> Scalar:
    """Return 1 / x; infinite at zero, as in machine code."""
    if isinstance(x, Symbol):
        return 1.0 / x
    return 1.0 / x if x != 0.0 else math.copysign(math.inf, x)


def sqrt(x: Scalar) -> Scalar:
    """Return the square root of `x`."""
    if isinstance(x, Symbol):
        return x.graph.function('sqrt', x)
    return math.sqrt(x) if x >= 0.0 else math.nan


def absolute(x: Scalar) -> Scalar:
    """Return the absolute value of `x`."""
    return x.graph.function('abs', x) if isinstance(x, Symbol) else abs(x)


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two scalars; `b` if one is not a number, as in machine code."""
    graph = _graph(a, b)
    return graph.function('min', a, b) if graph else a if a < b else b


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two scalars; `b` if one is not a number, as in machine code."""
    graph = _graph(a, b)
    return graph.function('max', a, b) if graph else a if a > b else b


def select(condition: Scalar, positive: Scalar, otherwise: Scalar) -> Scalar:
    """Return `positive` where `condition > 0`, else `otherwise`; both are evaluated."""
    graph = _graph(condition, positive, otherwise)
    if graph is None or isinstance(condition, float):
        return positive if condition > 0.0 else otherwise
    return graph.function('select', condition, positive, otherwise)
