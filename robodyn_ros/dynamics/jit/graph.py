"""
The graph recorded by a trace, and the symbols of its nodes.

Nodes are tuples `(operation, operand, ...)`, in the order of creation, which is a valid order of
evaluation. Operands are floats, or indices of earlier nodes wrapped in `Symbol`. The nodes of a
case of a branch or of the body of a loop are recorded in a `Region`, which reuses nodes of the
enclosing regions; nodes outside a region do not use its nodes.
"""

from __future__ import annotations

import math
from typing import Callable, TypeGuard, Union


class Symbol:
    """
    A scalar whose value is known at run time only: one node of a graph.

    Supports `+ - * /`, negation, and the functions of `trace`. Comparisons, and `& |` of them, are
    flags, see `flags`. It has no truth value: a kernel that branches on it raises TypeError.
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

    def __gt__(self, other):
        return self.graph.compare('above', self, other)

    def __lt__(self, other):
        return self.graph.compare('above', other, self)

    def __ge__(self, other):
        return self.graph.compare('at_least', self, other)

    def __le__(self, other):
        return self.graph.compare('at_least', other, self)

    def __and__(self, other):
        return self.graph.join('both', self, other)

    def __rand__(self, other):
        return self.graph.join('both', other, self)

    def __or__(self, other):
        return self.graph.join('either', self, other)

    def __ror__(self, other):
        return self.graph.join('either', other, self)

    def _refuse(self, *_):
        raise TypeError('a traced kernel must not branch on a value: use when() of '
                        'robodyn_ros.dynamics.jit.flags')

    def _refuse_number(self, *_):
        raise TypeError('functions of math and NumPy take no symbols: use sincos, sqrt, absolute '
                        'and others of robodyn_ros.dynamics.jit.trace')

    __bool__ = _refuse
    __float__ = __int__ = _refuse_number


Scalar = Union[float, Symbol]


class Region:
    """
    A part of a program that is executed conditionally: a case of a branch, or a loop's body.

    Attributes
    ----------
    outer : Region or None
        The enclosing region; None for the whole program.
    known : dict
        Nodes of the region, by operation and operands.
    variables : list of Symbol or None
        Loop variables, if it is the body of a loop.

    """

    __slots__ = ('outer', 'known', 'variables')

    def __init__(self, outer: Region | None = None, variables: list[Symbol] | None = None):
        self.outer, self.variables = outer, variables
        self.known: dict[tuple, Symbol] = {}


class Graph:
    """
    The program recorded by a trace.

    Attributes
    ----------
    nodes : list of tuple
        `(operation, operand, ...)`; an operand is a float or a `Symbol` of this graph. `input`
        nodes are `('input', argument, position)` with two integers; those of control flow are
        described in `flow`.
    region_of : list of Region
        Region in which each node was recorded.
    region : Region
        Current region.

    """

    def __init__(self):
        self.nodes: list[tuple] = []
        self.region_of: list[Region] = []
        self.region = self.root = Region()

    def inputs(self, argument: int, size: int) -> list[Symbol]:
        """Return the symbols of argument number `argument`, an array of `size` elements."""
        return [self._node('input', argument, position) for position in range(size)]

    def node(self, symbol: Symbol) -> tuple:
        """Return the operation and operands of a symbol's node."""
        return self.nodes[symbol.index]

    def within(self, region: Region, function: Callable):
        """Return the result of a function, whose nodes are recorded in an inner region."""
        self.region = region
        try:
            return function()
        finally:
            self.region = region.outer

    def append(self, *node) -> Symbol:
        """Return a new node, even if there is an equal one."""
        symbol = Symbol(self, len(self.nodes))
        self.nodes.append(node)
        self.region_of.append(self.region)
        return symbol

    def _known(self, key: tuple) -> Symbol | None:
        region = self.region
        while region is not None:
            symbol = region.known.get(key)
            if symbol is not None:
                return symbol
            region = region.outer
        return None

    def _node(self, *node) -> Symbol:
        key = tuple(map(_key, node))
        symbol = self._known(key)
        if symbol is None:
            symbol = self.region.known[key] = self.append(*node)
        return symbol

    def _is(self, operand: Scalar, operation: str) -> TypeGuard[Symbol]:
        return isinstance(operand, Symbol) and self.nodes[operand.index][0] == operation

    def _ordered(self, operation: str, a, b) -> Symbol:
        """Return the node of a commutative operation, with operands in a canonical order."""
        if isinstance(b, float) or (isinstance(a, Symbol) and a.index > b.index):
            a, b = b, a
        return self._node(operation, a, b)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """Return `a + b`."""
        a, b = number(a), number(b)
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
        a, b = number(a), number(b)
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
        opposite = self._known(('sub', _key(b), _key(a)))
        if opposite is not None:
            return self.negate(opposite)
        return self._node('sub', a, b)

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        """Return `a * b`."""
        a, b = number(a), number(b)
        if isinstance(b, float):
            a, b = b, a
        if isinstance(a, float):
            return self._scale(a, b)
        if self._is(a, 'neg'):
            return self.negate(self.multiply(self.node(a)[1], b))
        if self._is(b, 'neg'):
            return self.negate(self.multiply(a, self.node(b)[1]))
        return self._ordered('mul', a, b)

    def _scale(self, factor: float, b: Scalar) -> Scalar:
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
        a, b = number(a), number(b)
        if isinstance(a, float) and a == 0.0:
            return 0.0
        if isinstance(b, float) and b == 1.0:
            return a
        return self._node('div', a, b)

    def negate(self, a: Scalar) -> Scalar:
        """Return `-a`."""
        if self._is(a, 'neg'):
            return self.node(a)[1]
        return self._node('neg', a)

    def function(self, name: str, *operands) -> Symbol:
        """Return the node of a function without algebraic rules; integers stay integers."""
        return self._node(name, *operands)

    def flag(self, relation: str, *operands) -> Symbol:
        """Return 1.0 where a condition holds, else 0.0; see `condition`."""
        return self._node('flag', self._node(relation, *operands))

    def compare(self, relation: str, a: Scalar, b: Scalar) -> Scalar:
        """Return the flag of `a > b` or, with 'at_least', of `a >= b`."""
        if a is b and relation == 'above':
            return False
        return self.flag(relation, number(a), number(b))

    def join(self, operation: str, a: Scalar, b: Scalar) -> Scalar:
        """Return the flag that both flags hold or, with 'either', that one does."""
        for one, other in ((a, b), (b, a)):
            if not isinstance(one, Symbol):
                decides = (one > 0.0) == (operation == 'either')
                return operation == 'either' if decides else self.as_flag(other)
        if a is b:
            return self.as_flag(a)
        return self.flag(operation, self.condition(a), self.condition(b))

    def as_flag(self, value: Scalar) -> Scalar:
        """Return the flag of `value > 0`, a flag as it is."""
        if not isinstance(value, Symbol):
            return value > 0.0
        return value if self.is_flag(value) else self.compare('above', value, 0.0)

    def condition(self, value: Scalar) -> Symbol:
        """Return the condition of a flag, or `value > 0`; operand of flags and branches only."""
        return self.node(value)[1] if self._is(value, 'flag') else self._node(
            'above', value, 0.0)

    def opposite(self, value: Symbol) -> Symbol:
        """Return the negation of a flag."""
        condition = self.condition(value)
        if self._is(condition, 'no'):
            return self._node('flag', self.node(condition)[1])
        return self.flag('no', condition)

    def is_flag(self, value: Scalar) -> bool:
        """Return whether a scalar is the flag of a condition."""
        return self._is(value, 'flag')


def _key(part):
    kind = part.__class__
    if kind is Symbol:
        return part.index
    # 0.0 and -0.0 are equal but different constants
    if kind is float:
        return (part, math.copysign(1.0, part))
    return part if kind is str else (part, kind)


def number(value: Scalar) -> Scalar:
    """Return a scalar as a symbol or a float."""
    return value if isinstance(value, Symbol) else float(value)


def graph_of(*operands: Scalar) -> Graph | None:
    """Return the graph that one of the operands belongs to; None if all are floats."""
    return next((each.graph for each in operands if isinstance(each, Symbol)), None)
