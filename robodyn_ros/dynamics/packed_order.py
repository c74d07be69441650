"""An order in which a program with packs is computed: each pack as a whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from robodyn_ros.dynamics.graph import Graph, Region, Symbol
from robodyn_ros.dynamics.packs import MEMORY, Pack, Packs
from robodyn_ros.dynamics.schedule import CHOICES, Schedule


class PackedOrder:
    """
    An order of evaluation.

    Parameters
    ----------
    graph : Graph
        The nodes.
    needed : list of int
        Those to compute, in the order in which they were recorded.
    schedule : Schedule
        Where each of them is computed.
    packs : Packs
        Which of them are computed together.

    Attributes
    ----------
    inside : dict of Region to list
        What is computed in each region, in order: packs, and the numbers of single nodes.

    """

    def __init__(self, graph: Graph, needed: list[int], schedule: Schedule, packs: Packs):
        self._graph, self._needed, self._schedule, self._packs = graph, needed, schedule, packs
        self._needs = self._needs_of_regions()
        self.inside = {region: list(self._ordered(indices))
                       for region, indices in schedule.inside.items()}

    def _needs_of_regions(self) -> dict[int, list[int]]:
        schedule, nodes = self._schedule, self._graph.nodes
        owners = {region: index for index in self._needed for region in _regions(nodes[index])}
        needs: dict[int, list[int]] = defaultdict(list)
        for user, region in self._uses():
            home = schedule.region[user]
            if region is not home:
                while schedule.outer[region] is not home:
                    region = schedule.outer[region]
                needs[owners[region]].append(user)
        return needs

    def _uses(self) -> Iterator[tuple[int, Region]]:
        """Yield nodes and the regions that they are used in."""
        schedule, nodes = self._schedule, self._graph.nodes
        for index in self._needed:
            node, here = nodes[index], schedule.region[index]
            operands = node[1:]
            if node[0] == 'chosen':
                for region, value in zip(nodes[node[1].index][2], node[2:]):
                    if isinstance(value, Symbol):
                        yield value.index, region
                operands = node[1:2]
            elif node[0] == 'iterate':
                size = len(node[3].variables)
                for value in node[4 + size:]:
                    if isinstance(value, Symbol):
                        yield value.index, node[3]
                operands = node[1:4 + size]
            for value in operands:
                if isinstance(value, Symbol):
                    yield value.index, here

    def _ordered(self, indices: list[int]) -> Iterator:
        """Yield packs and single nodes of a region, each after all that it needs."""
        here, done = set(indices), {None}
        for index in indices:
            stack = [(self._item(index), None)]
            while stack:
                item, rest = stack.pop()
                if rest is None:
                    if item in done:
                        continue
                    done.add(item)  # entered; nothing needs itself
                    rest = iter(self._before(item))
                for each in rest:
                    if each in here and (found := self._item(each)) not in done:
                        stack += [(item, rest), (found, None)]
                        break
                else:
                    yield item

    def _item(self, index: int):
        """Return what a node is computed with; None if that is nothing by itself."""
        operation = self._graph.nodes[index][0]
        if operation in MEMORY or index in self._packs.inner:
            return None
        place = self._packs.of.get(index)
        return index if place is None else place.pack

    def _before(self, item) -> Iterator[int]:
        """Yield the nodes that have to be computed before; memory stands for what fills it."""
        nodes = self._graph.nodes
        for index in item.lanes.values() if isinstance(item, Pack) else (item,):
            operation, *operands = nodes[index]
            if index in self._packs.leaves:
                operands = self._packs.leaves[index]
            elif operation == 'chosen':
                operands = operands[:1]
            elif operation == 'iterate':
                operands = operands[:3 + len(operands[2].variables)]
            for each in operands:
                if isinstance(each, Symbol):
                    yield self._filled_by(each.index)
            for each in self._needs.get(index, ()):
                yield self._filled_by(each)

    def _filled_by(self, index: int) -> int:
        operation, *operands = self._graph.nodes[index]
        return operands[0].index if operation in ('result', 'element') else index


def _regions(node: tuple) -> tuple[Region, ...]:
    """Return the regions that a node opens."""
    if node[0] in CHOICES:
        return node[2]
    return (node[3],) if node[0] == 'iterate' else ()
