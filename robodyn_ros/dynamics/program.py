"""A traced kernel: the straight-line program of one algorithm for one robot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Callable, Sequence

from robodyn_ros.dynamics.trace import Graph, Scalar, Symbol


@dataclass(frozen=True)
class Program:
    """
    What a kernel computes, ready to be emitted.

    Attributes
    ----------
    graph : Graph
        All nodes of the trace, in an order of evaluation.
    sizes : tuple of int
        Number of doubles of each argument.
    outputs : list of float or Symbol
        The results, flattened in row-major order.

    """

    graph: Graph
    sizes: tuple[int, ...]
    outputs: list[Scalar]

    @cached_property
    def needed(self) -> list[int]:
        """Return the indices of the nodes that the outputs depend on, in order."""
        nodes = self.graph.nodes
        used = bytearray(len(nodes))
        for output in self.outputs:
            if isinstance(output, Symbol):
                used[output.index] = 1
        # operands come before their node, so one sweep backwards finds all
        for index in range(len(nodes) - 1, -1, -1):
            if used[index]:
                for operand in nodes[index][1:]:
                    if isinstance(operand, Symbol):
                        used[operand.index] = 1
        return [index for index, use in enumerate(used) if use]

    def operation_count(self) -> int:
        """Return the number of arithmetic operations and function calls."""
        return sum(self.graph.nodes[index][0] != 'input' for index in self.needed)


def trace(function: Callable, sizes: Sequence[int]) -> Program:
    """
    Record a kernel.

    Parameters
    ----------
    function : callable
        Takes one list of scalars per entry of `sizes`; returns scalars, nested in any way.
    sizes : sequence of int
        Length of each argument.

    """
    graph = Graph()
    arguments = [graph.inputs(number, size) for number, size in enumerate(sizes)]
    return Program(graph, tuple(sizes), flatten(function(*arguments)))


def flatten(values) -> list[Scalar]:
    """Return nested lists and tuples of scalars as one list."""
    if isinstance(values, (list, tuple)):
        return [scalar for value in values for scalar in flatten(value)]
    return [values if isinstance(values, Symbol) else float(values)]
