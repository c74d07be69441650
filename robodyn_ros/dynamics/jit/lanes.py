"""
Lowering for four states at once: every number is a vector with a lane per state.

A case of a choice runs if any lane selects it, and each lane keeps the result of its own case; if
all lanes agree, only one case runs. A loop runs until all lanes have ended. All lanes share the
tables; functions are called lane by lane, and only for active lanes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

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

            merged = self._if(self.emit('any', [wanted], (), WIDTH), before, case, WIDTH)
        self.values[index] = 0.0  # has no value, but is written once
        self.values.update(zip(nodes, merged))

    def _if(self, condition: Value, otherwise: list[Value], case, count: int) -> list[Value]:
        """Add a case that runs where a condition holds; return its results, or the others."""
        choice = self.begin_choice(condition, 2, [count] * len(otherwise))
        for place, write in enumerate((case, lambda: otherwise)):
            self.emit('case', (), (place,))
            self._in_scope(write)
        return self.end_choice(choice)

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

    # --- calls and tables -------------------------------------------------------------------

    def _call(self, index: int, argument: int, row, *inputs) -> None:
        kind, row = self.program.arguments[argument], self.operand(row)
        given = [self.operand(each) for each in inputs]
        wanted = self._wanted[index]
        self._by_lane(index, lambda lane: self._of_lane(
            argument, kind, self._take(row, lane), [self._take(each, lane) for each in given],
            wanted))

    def _by_lane(self, index: int, write: Callable[[int], list[Value]]) -> None:
        """Add what is computed lane by lane: the results of a node that are wanted."""
        wanted = self._wanted[index]
        rows = [self._if_active(lane, len(wanted), lambda: write(lane)) for lane in LANES]
        self.values[index] = {number: self._packed(column)
                              for number, column in zip(wanted, zip(*rows))}

    def _inverse(self, index: int, _kind: str, *values) -> None:
        given = [self.operand(each) for each in values]

        def of_lane(lane):
            self.values[index] = self.inverted([self._take(each, lane) for each in given])
            return [Lowering.load(self, 'result', Symbol(self.program.graph, index), number)
                    for number in self._wanted[index]]

        self._by_lane(index, of_lane)

    def _if_active(self, lane: int, size: int, write) -> list[Value]:
        if self._active is None:
            return write()
        return self._if(self._take(self._active, lane), [0.0] * size, write, 1)

    def _of_lane(self, argument: int, kind, row: Value, values: list[Value],
                 wanted: Sequence[int]) -> list[Value]:
        """Add a call for one lane; return its results."""
        arrays, begin = [], 0
        for size in kind.inputs:
            own = values[begin:begin + size]
            arrays.append(self.array([(k, 1, each) for k, each in enumerate(own)], len(own)))
            begin += size
        made = self.emit('call', [row, *arrays], (argument,), kind.outputs)
        return [self.emit('result', [made], (number, number + 1)) for number in wanted]

    def _table(self, index: int, argument: int, *operands) -> None:
        name = self.nodes[index][0]
        given = [self.operand(each) for each in operands[:3]]
        found = [self.emit(name, [self._take(each, lane) for each in given],
                           (argument, *operands[3:]))
                 for lane in (LANES if given else LANES[:1])]
        self.values[index] = (found if name == 'row' else self._packed(found) if given
                              else self.spread(found[0], WIDTH))
