"""
Branches, loops, calls and tables, for functions over scalars.

For floats they are evaluated by Python. For symbols they are recorded: only the selected case of a
branch is executed, a loop is traced once, a function of a table is compiled and cached separately.
All functions are pure: unused results are not computed.

Their nodes, besides those of arithmetic (with regions, see `graph`, and integers as operands):

- `('branch', condition, regions)` and `('switch', index, regions)`, the cases of a choice, and
  `('chosen', choice, value of each case, ...)`;
- `('variable', region, number)`, a loop variable, `('iterate', count, limit, region,
  initial values, ..., next values, ...)` and `('iterated', loop, number)`;
- `('call', argument, row, inputs, ...)` and `('result', call, number)`;
- `('inverse', 'matrix', lower triangle, ...)`, whose `result`s are the lower triangle, too;
- `('row', argument, row)`, an address, `('element', row, column)` and
  `('search', argument, value, first, count, column)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from typing import Any

from robodyn_ros.dynamics.jit.graph import Graph, graph_of, number, Region, Scalar, Symbol
from robodyn_ros.dynamics.jit.nested import flatten, unflatten
from robodyn_ros.dynamics.jit.trace import like, reciprocal


@dataclass(frozen=True)
class Table:
    """
    Table of doubles as an argument, read by `lookup`.

    Attributes
    ----------
    columns : int
        Length of a row; the number of rows is known at run time only.

    """

    columns: int


@dataclass(frozen=True)
class FunctionTable:
    """
    Table of functions of one signature as an argument, called by `call`.

    Attributes
    ----------
    inputs : tuple of int
        Length of each input.
    outputs : int
        Length of the result.

    """

    inputs: tuple[int, ...]
    outputs: int


@dataclass(frozen=True)
class TracedTable:
    """A `Table` or `FunctionTable` of a trace: argument `number` of the graph."""

    graph: Graph
    number: int
    kind: Any


def choose(index: Scalar, cases: Sequence[Callable]):
    """
    Return the result of one of several functions: a branch.

    Parameters
    ----------
    index : scalar
        Number of the case, truncated to an integer; the last case if there is no such case, or
        for NaN. A flag selects from `[value if it does not hold, value if it holds]`.
    cases : sequence of callable
        Functions without arguments. They return nested scalars (see `nested`) of the same
        structure; the result has that of the first.

    Raises
    ------
    TypeError
        The cases return different numbers of scalars.

    """
    if not isinstance(index, Symbol) or len(cases) == 1:
        result = cases[int(index) if len(cases) > 1 and 0.0 <= index < len(cases) else -1]()
        plain = index.__class__ in (float, bool) or isinstance(index, Symbol)
        return result if plain else unflatten(
            result, [like(each, index) for each in flatten(result)])
    graph, regions, results = index.graph, [], []
    for case in cases:
        regions.append(Region(graph.region))
        results.append(graph.within(regions[-1], case))
    rows = [flatten(each) for each in results]
    if len({len(row) for row in rows}) > 1:
        raise TypeError(f'the cases of choose() return {[len(row) for row in rows]} scalars: '
                        'all must return the same structure')
    if len(cases) == 2 and graph.is_flag(index):
        choice = graph.append('branch', graph.condition(index), tuple(regions))
    else:
        choice = graph.append('switch', index, tuple(regions))
    return unflatten(results[0], [_chosen(graph, choice, column) for column in zip(*rows)])


def _chosen(graph: Graph, choice: Symbol, values: tuple) -> Scalar:
    first = values[0]
    if all(each is first or (each.__class__ is float is first.__class__ and each == first
                             and math.copysign(1.0, each) == math.copysign(1.0, first))
           for each in values):
        return first  # all cases agree
    return graph.function('chosen', choice, *values)


def iterate(count: Scalar, step: Callable, initial, limit: int):
    """
    Return the result of applying a step repeatedly: a loop.

    It runs for k = 0, 1, 2, ... while `k < count` and `k < limit`: `count` is rounded up, and NaN
    means no iteration.

    Parameters
    ----------
    count : scalar
        Number of iterations.
    step : callable
        Function of nested scalars (see `nested`) that returns the next ones, of the same
        structure. It is traced once; all values used outside must be in its result.
    initial : nested scalars
        Argument of the first step.
    limit : int
        Largest number of iterations.

    Raises
    ------
    TypeError
        The step returns another number of scalars than its argument has.

    """
    values = flatten(initial)
    graph = graph_of(count, *values)
    if graph is None:
        # the values are not constants, even if the step returns some
        examples, done = (count, *values), 0
        while True:
            values = [like(each, each, *examples) for each in values]
            initial = unflatten(initial, values)
            if not (done < count and done < limit):
                return initial
            values, done = flatten(step(initial)), done + 1
    variables: list[Symbol] = []
    region = Region(graph.region, variables)

    def body():
        variables.extend([graph.append('variable', region, k) for k in range(len(values))])
        return flatten(step(unflatten(initial, variables)))

    following = graph.within(region, body)
    if len(following) != len(values):
        raise TypeError(f'the step of iterate() gets {len(values)} scalars and returns '
                        f'{len(following)}')
    loop = graph.append('iterate', number(count), float(limit), region, *values, *following)
    return unflatten(initial, [
        before if after is variable else graph.function('iterated', loop, k)
        for k, (before, variable, after) in enumerate(zip(values, variables, following))])


def call(functions, index: Scalar, *inputs, outputs: int) -> list[Scalar]:
    """
    Return the result of a function of a table.

    Parameters
    ----------
    functions : FunctionTable of a trace, or sequence of callable or None
        `function(*inputs)` over flat lists of scalars. In a trace, a sequence becomes part of the
        program, as the cases of a choice.
    index : scalar
        Row of the table, truncated to an integer.
    *inputs : nested scalars
        As many, and as long, as the functions take; each becomes one list.
    outputs : int
        Number of scalars that they return.

    Returns
    -------
    list of scalar
        All NaN if the table has no such row, or it is empty.

    """
    rows = [flatten(each) for each in inputs]
    values = [each for row in rows for each in row]
    if isinstance(functions, TracedTable):
        kind, graph = functions.kind, functions.graph
        _check_call((*kind.inputs, kind.outputs), (*map(len, rows), outputs))
        made = graph.function('call', functions.number, number(index), *values)
        return [graph.function('result', made, k) for k in range(outputs)]
    cases = [_case(each, rows, outputs) for each in (*functions, None)]
    if graph_of(index, *values) is not None:
        return choose(index, cases)
    # constants of this trace are not constants within the function
    rows[:] = [[like(each, each, index, *values) for each in row] for row in rows]
    return [like(each, index, *values) for each in choose(index, cases)]


def inverse(M: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
    """
    Return the inverse of a symmetric positive definite matrix, in rows.

    It is computed by loops over its elements, with code of the same length for any size, and not
    unrolled as `algorithms.solve`. All pivots are swept in turn (Goodnight 1979).
    """
    n = len(M)
    lower = [x for i, row in enumerate(M) for x in row[:i + 1]]
    graph = graph_of(*lower)
    if graph is None:
        found: list[Scalar] = _swept(lower, n)
    else:
        made = graph.function('inverse', 'matrix', *map(number, lower))
        found = [graph.function('result', made, k) for k in range(len(lower))]
    return [[found[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)]
            for i in range(n)]


def _swept(lower: list, n: int) -> list[Scalar]:
    A = [list(lower[i * (i + 1) // 2:(i + 1) * (i + 2) // 2]) for i in range(n)]
    examples = list(lower)
    for k in range(n):
        column = [A[k][j] if j <= k else A[j][k] for j in range(n)]
        scale = reciprocal(like(column[k], *examples))
        for i in range(n):
            factor = column[i] * scale
            for j in range(i + 1):
                A[i][j] = A[i][j] - factor * column[j]
        for j in range(n):
            A[max(j, k)][min(j, k)] = column[j] * scale
        A[k][k] = -scale
    return [-x for row in A for x in row]


def _case(function: Callable | None, inputs: list[list[Scalar]], outputs: int) -> Callable:
    def case():
        found = [math.nan] * outputs if function is None else flatten(function(*inputs))
        _check_call((outputs,), (len(found),))
        return found

    return case


def _check_call(declared: tuple[int, ...], given: tuple[int, ...]) -> None:
    if declared != given:
        raise TypeError(f'call() of functions with {declared} scalars (inputs, then outputs) '
                        f'has {given}')


def lookup(table, row: Scalar, columns: Sequence[int]) -> list[Scalar]:
    """
    Return elements of one row of a table.

    Parameters
    ----------
    table : Table of a trace, or sequence of rows
        Rows of doubles; the elements are NaN if there are none.
    row : scalar
        Row, truncated to an integer and clamped to the table; the first one for NaN.
    columns : sequence of int
        Columns of the elements.

    """
    if not isinstance(table, TracedTable):
        if not len(table):
            return [like(math.nan, row)] * len(columns)
        values = table[_row(row, len(table))]
        return [like(values[k], row) for k in columns]
    graph, width = table.graph, table.kind.columns
    if not all(0 <= k < width for k in columns):
        raise TypeError(f'lookup() of columns {list(columns)} in a table of {width}')
    address = graph.function('row', table.number, number(row))
    return [graph.function('element', address, int(k)) for k in columns]


def search_sorted(table, value: Scalar, count: Scalar = math.inf, column: int = 0,
                  first: Scalar = 0.0) -> Scalar:
    """
    Return the index of the last row whose key is not above a value, by bisection.

    Parameters
    ----------
    table : Table of a trace, or sequence of rows
        Table with keys that increase from row to row.
    value : scalar
        Value to search; if all keys are above it, or it is NaN, the result is `first`.
    count : scalar
        Number of rows to search from `first` on; at most as many as there are.
    column : int
        Column of the keys.
    first : scalar
        First row; converted as in `lookup`.

    """
    if isinstance(table, TracedTable):
        return table.graph.function('search', table.number, number(value), number(first),
                                    number(count), int(column))
    base = _row(first, len(table))
    left = len(table) - base
    left = int(count) if 1.0 <= count < left else left if count >= left else 1
    while left > 1:
        half = left // 2
        if table[base + half][column] <= value:
            base += half
        left -= half
    return like(float(base), value, first, count, *_example(table))


def _example(table) -> list[float]:
    """Return an element of a table in a list; empty for a table without rows."""
    return list(table[0][:1]) if len(table) else []


def _row(row: Any, rows: int) -> int:
    return min(int(min(row, rows)), rows - 1) if row >= 1.0 and rows else 0
