"""Traced functions: the program of one algorithm for one robot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Callable, Sequence, Union

from robodyn_ros.dynamics.jit.flow import FunctionTable, Table, TracedTable
from robodyn_ros.dynamics.jit.graph import Graph, Scalar, Symbol
from robodyn_ros.dynamics.jit.lists import spans, WIDEST
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.packs import Packs
from robodyn_ros.dynamics.jit.schedule import Schedule

Argument = Union[int, Table, FunctionTable]

# number of nodes from which on compilation with optimisation would take seconds
LONG = 25_000


@dataclass(frozen=True)
class Program:
    """
    A traced function, ready for code generation.

    Attributes
    ----------
    graph : Graph
        All nodes of the trace, in an order of evaluation.
    arguments : tuple of int, Table or FunctionTable
        Number of doubles of each argument, or its table.
    outputs : list of float or Symbol
        The results, flattened in row-major order.
    results : tuple of int
        Lengths of the arrays of results.
    in_place : bool
        Whether results may overlap arguments, so that all loads must come before all stores.
    shared : tuple of str
        Parameters that are common to all states in vector functions.

    """

    graph: Graph
    arguments: tuple[Argument, ...]
    outputs: list[Scalar]
    results: tuple[int, ...]
    in_place: bool = True
    shared: tuple[str, ...] = ('a0',)

    def parameters(self) -> dict[str, int | None]:
        """Return the parameters of its functions by name, with the lengths of arrays."""
        found: dict[str, int | None] = {}
        for k, kind in enumerate(self.arguments):
            if isinstance(kind, int):
                found[f'a{k}'] = kind
            else:
                found[f'a{k}'] = found[f'n{k}'] = None
        return {**found, **{f'out{k}': size for k, size in enumerate(self.results)}}

    @cached_property
    def needed(self) -> list[int]:
        """Return the indices of the nodes that the outputs depend on, in order."""
        nodes = self.graph.nodes
        used = bytearray(len(nodes))
        for output in self.outputs:
            if isinstance(output, Symbol):
                used[output.index] = 1
        # operands precede their node, so that one backward pass is enough
        for index in range(len(nodes) - 1, -1, -1):
            if used[index]:
                for operand in nodes[index][1:]:
                    if isinstance(operand, Symbol):
                        used[operand.index] = 1
        return [index for index, use in enumerate(used) if use]

    @cached_property
    def schedule(self) -> Schedule:
        """Return the region in which each node is computed."""
        return Schedule(self.graph, self.needed, self.outputs, self.in_place)

    @cached_property
    def packs(self) -> Packs:
        """Return the nodes that are computed as vectors."""
        return self.packs_of(WIDEST)

    def packs_of(self, widest: int) -> Packs:
        """Return the packs of at most so many elements."""
        found = {}
        for number, kind in enumerate(self.arguments):
            if isinstance(kind, Table):
                found['element', number] = spans(kind.columns, widest)
            elif isinstance(kind, FunctionTable):
                found['result', number] = spans(kind.outputs, widest)
            else:
                found['input', number] = spans(kind, widest)
        return Packs(self.graph, self.needed, self.schedule, found, self.outputs)

    @cached_property
    def packed(self) -> bool:
        """
        Whether packs are computed as vectors in the code for one state.

        Not for programs with sines, which are mostly recursions over the bodies.
        """
        return not self.in_place and not self.has_sines and bool(self.packs.of)

    @cached_property
    def has_sines(self) -> bool:
        """Whether the program has sines or cosines."""
        return any(self.graph.nodes[index][0] in ('sin', 'cos') for index in self.needed)

    @cached_property
    def compile_fast(self) -> bool:
        """Whether the program is compiled without optimisation, because of its length."""
        return len(self.graph.nodes) > LONG and self.operation_count() > LONG

    def operation_count(self) -> int:
        """Return the number of operations and function calls; one for a vector operation."""
        if self.packed:
            return sum(map(len, self.packs.inside.values()))
        return sum(self.graph.nodes[index][0] != 'input' for index in self.needed)


def trace(function: Callable, arguments: Sequence[Argument], results: Sequence[int] = (),
          in_place: bool = True, shared: Sequence[str] = ('a0',)) -> Program:
    """
    Trace a function of scalars.

    Parameters
    ----------
    function : callable
        Takes a list of scalars per length in `arguments`, and a handle per table; returns
        nested scalars.
    arguments : sequence of int, Table or FunctionTable
        Length of each argument, or its table.
    results : sequence of int
        Lengths of the arrays of results; default one array.
    in_place, shared
        As in `Program`.

    """
    graph = Graph()
    given = [graph.inputs(number, kind) if isinstance(kind, int)
             else TracedTable(graph, number, kind) for number, kind in enumerate(arguments)]
    outputs = flatten(function(*given))
    return Program(graph, tuple(arguments), outputs, tuple(results) or (len(outputs),), in_place,
                   tuple(shared))
