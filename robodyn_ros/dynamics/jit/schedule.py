"""
Scheduling of nodes: the innermost region that contains all uses of each node.

A node used in one case of a branch only is computed in that case, even if it was recorded before
the branch; a node used in several cases, before the branch. Nodes recorded before a loop do not
move into it, and arithmetic that is invariant in the loop's body is computed before the loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from robodyn_ros.dynamics.jit.graph import Graph, Region, Symbol
from robodyn_ros.exceptions import KernelError

CHOICES = ('branch', 'switch')
_FORKS = (*CHOICES, 'iterate', 'variable')
# not computed before a loop, which may not run at all
_EXPENSIVE = (*CHOICES, 'chosen', 'iterate', 'iterated', 'call', 'inverse', 'result')


class Schedule:
    """
    The order of evaluation of a program.

    Parameters
    ----------
    graph : Graph
        Graph of the nodes.
    needed : list of int
        Nodes to compute, in the order in which they were recorded.
    outputs : list of scalar
        Results, used in the outermost region.
    early : bool
        Whether inputs are loaded in the outermost region wherever they are used, because results
        may overwrite them.

    Attributes
    ----------
    inside : dict of Region to list of int
        Nodes of each region, in an order of evaluation.
    region : dict of int to Region
        Region of each node.
    chosen : dict of int to list of int
        Result nodes of each choice.

    Raises
    ------
    KernelError
        A value of a loop's body is used outside of the loop.

    """

    def __init__(self, graph: Graph, needed: list[int], outputs: list, early: bool):
        self.graph, self._early, self.region = graph, early, {}
        self.chosen: dict[int, list[int]] = defaultdict(list)
        self.inside: dict[Region, list[int]] = defaultdict(list)
        self._outer: dict[Region, Any] = {graph.root: None}  # None around the root
        self._depth = {graph.root: 0}
        if not any(graph.nodes[index][0] in _FORKS for index in needed):
            self.region, self.inside[graph.root] = dict.fromkeys(needed, graph.root), needed
            return
        for index in needed:
            if graph.nodes[index][0] == 'chosen':
                self.chosen[graph.nodes[index][1].index].append(index)
        self._varies = self._variations(needed)
        for output in outputs:
            self._use(output, graph.root)
        for index in reversed(needed):
            self._place(index)
        for index in needed:
            self.inside[self.region[index]].append(index)

    def operands(self, index: int) -> list[int]:
        """Return the operands of a node; those of a choice include the results of its cases."""
        node = self.graph.nodes[index]
        found = [each.index for each in node[1:] if isinstance(each, Symbol)]
        if node[0] in CHOICES:
            found += [each.index for result in self.chosen[index]
                      for each in self.graph.nodes[result][2:] if isinstance(each, Symbol)]
        return found

    def ancestors(self, indices: Iterable[int]) -> set[int]:
        """Return nodes with all nodes that they depend on."""
        found: set[int] = set()
        stack = list(indices)
        while stack:
            index = stack.pop()
            if index not in found:
                found.add(index)
                stack += self.operands(index)
        return found

    def _variations(self, needed: list[int]) -> dict[int, frozenset[Region]]:
        """Return the loop bodies in which the value of each node changes."""
        none: frozenset[Region] = frozenset()
        varies: dict[int, frozenset[Region]] = {}
        for index in needed:
            operation, *operands = self.graph.nodes[index]
            found = none
            for each in self.operands(index):
                found = found | varies[each] if found else varies[each]
            if operation == 'variable':
                found = frozenset(operands[:1])
            elif operation == 'iterate':
                found = found - {operands[2]}
            varies[index] = found
        return varies

    def _use(self, value, region: Region) -> None:
        if isinstance(value, Symbol):
            known = self.region.get(value.index)
            if known is not region:
                self.region[value.index] = region if known is None else self._common(known, region)

    def _common(self, a: Region, b: Region) -> Region:
        while a is not b:
            if self._depth[a] < self._depth[b]:
                a, b = b, a
            a = self._outer[a]
        return a

    def _enter(self, region: Region, outer: Region) -> None:
        self._outer[region], self._depth[region] = outer, self._depth[outer] + 1

    def _place(self, index: int) -> None:
        operation, *operands = self.graph.nodes[index]
        here = self.region[index] = self._final_region(index)
        if operation == 'chosen':
            # its values are used in the cases, whose regions are entered with the choice
            self._use(operands[0], here)
        elif operation in CHOICES:
            self._use(operands[0], here)
            for number, region in enumerate(operands[1]):
                self._enter(region, here)
                for each in self.chosen[index]:
                    self._use(self.graph.nodes[each][2 + number], region)
        elif operation == 'iterate':
            body = operands[2]
            self._enter(body, here)
            size = len(body.variables)
            for values, region in ((operands[:1], here), (operands[3:3 + size], here),
                                   (operands[3 + size:], body)):
                for value in values:
                    self._use(value, region)
        else:
            for operand in operands:
                self._use(operand, here)

    def _final_region(self, index: int) -> Region:
        """Return the region of a node, outside loops into which it must not or need not move."""
        operation, *operands = self.graph.nodes[index]
        if operation == 'variable':
            return operands[0]
        if operation == 'input' and self._early:
            return self.graph.root
        place = around = self.region[index]
        varies, own = self._varies[index], None
        missing = len(varies)
        while around is not None:
            if around.variables is not None:
                if around in varies:
                    missing -= 1
                elif missing == len(varies):
                    own = self._recorded_in(index) if own is None else own
                    if around not in own or place is around and operation not in _EXPENSIVE:
                        place = self._outer[around]
            around = self._outer[around]
        if missing:
            raise KernelError('a value that the step of iterate() computes is used outside of it: '
                              'let the step return it')
        return place

    def _recorded_in(self, index: int) -> set[Region]:
        region: Region | None = self.graph.region_of[index]
        found = set()
        while region is not None:
            found.add(region)
            region = region.outer
        return found
