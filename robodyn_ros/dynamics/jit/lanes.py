"""
Lowering for four states at once: every number is a vector with a lane per state.

A case of a choice runs if any lane selects it, and each lane keeps the result of its own case; if
all lanes agree, only one case runs. A loop runs until all lanes have ended. All lanes share the
tables. Programs for several states call no functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from robodyn_ros.dynamics.jit.graph import Region, Symbol
from robodyn_ros.dynamics.jit.lower import Lowering, Merge, Value
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sines import WIDTH

LANES = range(WIDTH)


class LaneLowering(Lowering):
    """Makes the list of a program for four states."""

    count = WIDTH

    def __init__(self, program: Program):
        super().__init__(program)
        self.packs = None
        self._active: Value = None  # mask of the lanes for which a region is executed; None: all
        self._wanted: dict[int, list[int]] = defaultdict(list)  # results that are used, by call
        for index in program.needed:
            if self.nodes[index][0] == 'result':
                self._wanted[self.nodes[index][1].index].append(self.nodes[index][2])

    # --- values -----------------------------------------------------------------------------

    def load(self, operation: str, source, position: int, count: int = 1) -> Value:
        """Add the load of a number for all lanes."""
        if operation == 'result':
            return self.values[source.index][position]
        if operation == 'element':
            return self._packed([self.emit('element', [row], (position, position + 1))
                                 for row in self.values[source.index]])
        if f'a{source}' in self.program.shared:
            return self.spread(super().load(operation, source, position), WIDTH)
        return self.emit('input', (), (source, position, 0), WIDTH)

    def _packed(self, values: Sequence[Value]) -> Value:
        """Add a vector with a number per lane."""
        return self.emit('gather', [(None,) * WIDTH, *values], tuple(LANES), WIDTH)

    def _take(self, value: Value, lane: int) -> Value:
        return self.emit('take', [value], (lane,)) if isinstance(value, int) else value

    def _sines(self, angles: dict[int, list[int]]) -> None:
        for angle, nodes in angles.items():
            self._sines_of(self.values[angle], [(None, index) for index in nodes])

    def _store(self, number, span, values) -> None:
        self.emit('store', [self.operand(values[0])], (number, span.begin, True), WIDTH)

    def _and(self, mask: Value) -> Value:
        return mask if self._active is None else self.emit('both', [mask, self._active], (), WIDTH)

    def _select(self, *operands: Value) -> Value:
        return self.emit('select', operands, (), WIDTH)

    # --- choices and loops ------------------------------------------------------------------

    def _branch(self, index: int, condition, regions) -> None:
        condition = self.operand(condition)
        self._masked(index, regions, [self.emit('no', [condition], (), WIDTH), condition])

    def _switch(self, index: int, number, regions) -> None:
        number = self.operand(number)
        masks = [self.between(number, k) for k in range(len(regions) - 1)]
        rest = masks[0]
        for mask in masks[1:]:
            rest = self.emit('either', [rest, mask], (), WIDTH)
        self._masked(index, regions, [*masks, self.emit('no', [rest], (), WIDTH)])

    def _masked(self, index: int, regions: Sequence[Region], masks: Sequence[Value]) -> None:
        nodes, outer = self.schedule.chosen[index], self._active
        merged: list[Value] = [0.0] * len(nodes)
        for number, (region, mask) in enumerate(zip(regions, masks)):
            wanted, before = self._and(mask), merged

            def case():
                self._active = wanted
                self._region(region)
                self._active = outer
                return [self._select(wanted, self.operand(self.nodes[node][2 + number]), old)
                        for node, old in zip(nodes, before)]

            choice = self.begin_choice(self.emit('any', [wanted], (), WIDTH), 2,
                                       [WIDTH] * len(nodes))
            for place, write in enumerate((case, lambda: before)):
                self.emit('case', (), (place,))
                self._in_scope(write)
            merged = self.end_choice(choice)
        self.values[index] = 0.0  # has no value, but is written once
        self.values.update(zip(nodes, merged))

    def _loop(self, index: int, count: Value, limit: float, merges: list[Merge],
              region: Region) -> None:
        outer = self._active
        # a count that is NaN stays NaN, for no iteration
        bound = self._select(self.emit('above', [count, limit], (), WIDTH), limit, count)
        runs = self._and(self.emit('above', [bound, 0.0], (), WIDTH))
        own = self._select(runs, bound, 0.0)
        most = self._take(own, 0)
        for lane in LANES[1:]:
            most = self.emit('max', [most, self._take(own, lane)])
        loop = self.values[index] = self.emit(
            'loop', [most, *(self._merged(merge, 0) for merge in merges)],
            (limit, (WIDTH,) * len(merges)))
        before = [self.emit('variable', [loop], (k,), WIDTH) for k in range(len(merges))]
        for merge, value in zip(merges, before):
            self._name(merge, value)

        def body():
            counter = self.spread(self.emit('counter', [loop]), WIDTH)
            self._active = self._and(self.emit('above', [bound, counter], (), WIDTH))
            self._region(region)
            found = [self._select(self._active, self._merged(merge, 1), old)
                     for merge, old in zip(merges, before)]
            self._active = outer
            return found

        self._in_scope(body)
        self.emit('end', [loop])

    # --- matrices and tables ----------------------------------------------------------------

    def _inverse(self, index: int, _kind: str, *values) -> None:
        given, wanted = [self.operand(each) for each in values], self._wanted[index]
        node, rows = Symbol(self.program.graph, index), []
        for lane in LANES:
            self.values[index] = self.inverted([self._take(each, lane) for each in given])
            rows.append([Lowering.load(self, 'result', node, number) for number in wanted])
        self.values[index] = {number: self._packed(column)
                              for number, column in zip(wanted, zip(*rows))}

    def _table(self, index: int, argument: int, *operands) -> None:
        name, given = self.nodes[index][0], [self.operand(each) for each in operands[:3]]
        found = [self.emit(name, [self._take(each, lane) for each in given],
                           (argument, *operands[3:])) for lane in LANES]
        self.values[index] = found if name == 'row' else self._packed(found)
