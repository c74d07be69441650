"""In which order the sines of a program are computed: as many side by side as possible."""

from __future__ import annotations

from collections.abc import Iterator

from robodyn_ros.dynamics.jit.graph import Region
from robodyn_ros.dynamics.jit.program import Program

SINES = ('sin', 'cos')


class SineOrder:
    """
    The sines of a program by levels: those of one level need sines of the levels before only.

    Parameters
    ----------
    program : Program
        With or without sines.

    """

    def __init__(self, program: Program):
        self._nodes, self._schedule = program.graph.nodes, program.schedule
        self._depths: dict[int, int] = {}
        if program.has_sines:
            for index in program.needed:
                depth = max((self._depths[each] for each in self._schedule.operands(index)),
                            default=0)
                self._depths[index] = depth + (self._nodes[index][0] in SINES)

    def levels(self, region: Region) -> Iterator[tuple[list[int], dict[int, list[int]]]]:
        """
        Yield the levels of a region, in order.

        Yields
        ------
        before : list of int
            Nodes of the region that the angles are, or that they need.
        angles : dict of int to list of int
            Node of each angle, with the nodes of its sine and cosine.

        """
        if not self._depths:
            return
        order = self._schedule.inside[region]
        levels: dict[int, dict[int, list[int]]] = {}
        for index in order:
            if self._nodes[index][0] in SINES:
                level = levels.setdefault(self._depths[index], {})
                level.setdefault(self._nodes[index][1].index, []).append(index)
        for _, level in sorted(levels.items()):
            needed = self._schedule.ancestors(level)
            yield [index for index in order if index in needed], level
