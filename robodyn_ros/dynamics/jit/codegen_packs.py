"""LLVM IR of one state, with packs computed as vectors (see `packs`)."""

from __future__ import annotations

from collections.abc import Sequence

from robodyn_ros.dynamics.jit import codegen_body, codegen_tables
from robodyn_ros.dynamics.jit.codegen_body import Merge
from robodyn_ros.dynamics.jit.codegen_vectors import VectorBody
from robodyn_ros.dynamics.jit.graph import Symbol
from robodyn_ros.dynamics.jit.instructions import instruction, LOGICAL, SCALAR, vector_kind
from robodyn_ros.dynamics.jit.lists import Span, spans, width_of
from robodyn_ros.dynamics.jit.packs import MEMORY, Pack
from robodyn_ros.dynamics.jit.program import Program

_NAMED = ('variable', 'chosen')  # named together with the loop, or the choice


class PackedBody(VectorBody):
    """Writer of the instructions of a program with packs."""

    def __init__(self, program: Program, pointer: str):
        super().__init__(program, pointer)
        self._lists: dict[object, list[tuple[int, Span]]] = {}

    def region(self, region) -> None:
        """Write all nodes and packs of a region."""
        block = codegen_body.BLOCK if self.program.long else len(self.program.graph.nodes) + 1
        for count, item in enumerate(self.packs.inside.get(region, ()), 1):
            if count % block == 0:
                following, = self.new_labels('block')
                self.lines.append(f'  br label %{following}')
                self.label(following)
            if isinstance(item, Pack):
                self._pack(item)
            elif item in self.packs.leaves:
                self.names[item] = self._joined(item)
            else:
                self._single(item)
            self._store_lists(item)

    def _single(self, index: int) -> None:
        operation = self.program.graph.nodes[index][0]
        if operation == 'iterated':
            self.names[index] = self.operand(self._variable(index))
        elif operation not in _NAMED:
            self._node(index)

    def _pack(self, pack: Pack) -> None:
        if pack.operation == 'iterated':
            variable = self._variable(next(iter(pack.lanes.values())))
            self.vectors[pack] = self.vectors[self.packs.of[variable.index].pack]
        elif pack.operation not in _NAMED:
            conditions = _conditions(pack.operation)
            values = [self.as_vector(column, pack.width, k in conditions)
                      for k, column in enumerate(pack.columns())]
            self.vectors[pack] = self.write(instruction(
                pack.operation, values, vector_kind(pack.width), self.write))

    def _variable(self, iterated: int) -> Symbol:
        """Return the loop variable of an `iterated` node."""
        loop, number = self.program.graph.nodes[iterated][1:]
        return self.program.graph.node(loop)[3].variables[number]

    def _joined(self, index: int) -> str:
        """Write the conjunction or disjunction of several conditions."""
        operator = LOGICAL[self.program.graph.nodes[index][0]]
        lanes: dict[Pack, set[int]] = {}
        parts = []
        for each in self.packs.leaves[index]:
            place = self.packs.of.get(each.index)
            if place is None:
                parts.append(self.operand(each))
            else:
                lanes.setdefault(place.pack, set()).add(place.lane)
        merged: dict[tuple, str] = {}
        for pack, own in lanes.items():
            kind, key, vector = vector_kind(pack.width), (pack.width, *sorted(own)), (
                self.vector_of(pack))
            merged[key] = self.write(f'{operator} {kind.mask} {merged[key]}, {vector}') if (
                key in merged) else vector
        for (width, *chosen), vector in merged.items():
            bits, mask = f'i{width}', sum(1 << lane for lane in chosen)
            mask = mask - (1 << width) if mask >> (width - 1) else mask
            name = self.write(f'bitcast {vector_kind(width).mask} {vector} to {bits}')
            name = self.write(f'and {bits} {name}, {mask}')
            parts.append(self.write(f'icmp eq {bits} {name}, {mask}' if operator == 'and'
                                    else f'icmp ne {bits} {name}, 0'))
        name = parts[0]
        for condition in parts[1:]:
            name = self.write(f'{operator} i1 {name}, {condition}')
        return name

    # --- choices and loops ------------------------------------------------------------------

    def merges(self, choice: int) -> list[Merge]:
        """Return the merges of a choice."""
        return self._merges({node: self.program.graph.nodes[node][2:]
                             for node in self.schedule.chosen[choice]})

    def loop_merges(self, region, first: Sequence, following: Sequence) -> list[Merge]:
        """Return the merges of a loop: initial values, and values after each iteration."""
        return self._merges({variable.index: (a, b) for variable, a, b in zip(
            region.variables, first, following)
            if b is not variable or variable.index in self.packs.of})

    def _merges(self, values: dict[int, Sequence]) -> list[Merge]:
        """Return the merges of nodes, one per pack; values: of each node in each case."""
        found, packs = [], {}
        for node, cases in values.items():
            place = self.packs.of.get(node)
            if place is None:
                found.append(Merge(SCALAR.value, node, [[each] for each in cases]))
                continue
            if place.pack not in packs:
                packs[place.pack] = Merge(
                    vector_kind(place.pack.width).value, place.pack,
                    [[None] * place.pack.count for _ in cases])
            for column, each in zip(packs[place.pack].values, cases):
                column[place.lane] = each
        return [*found, *packs.values()]

    def merged(self, merge: Merge, case: int) -> str:
        """Return the value of a merge in a case."""
        column = merge.values[case]
        if isinstance(merge.target, Pack):
            return self.as_vector(column, merge.target.width)
        return self.operand(column[0])

    def name(self, merge: Merge, name: str) -> None:
        """Set the name of the value of a merge."""
        names: dict = self.vectors if isinstance(merge.target, Pack) else self.names
        names[merge.target] = name

    # --- results ----------------------------------------------------------------------------

    def compute(self) -> None:
        """Write all nodes that are needed; results are stored as soon as they are computed."""
        rest, begin = [], 0
        for number, size in enumerate(self.program.results):
            values = self.program.outputs[begin:begin + size]
            begin += size
            for span in _all_spans(size):
                own = values[span.begin:span.begin + span.size]
                item = self._computed_together(own)
                if item is None:
                    rest.append((number, span, own))
                else:
                    self._lists.setdefault(item, []).append((number, span))
        self.region(self.program.graph.root)
        for number, span, own in rest:
            self._store_list(number, span, own)

    def _computed_together(self, values: Sequence):
        """Return the node, or the pack, after which a list can be stored, or None."""
        first = values[0]
        if not isinstance(first, Symbol):
            return None
        if len(values) == 1:
            memory = self.program.graph.node(first)[0] in MEMORY
            return None if memory or first.index in self.packs.of else first.index
        place = self.packs.of.get(first.index)
        if place is None:
            return None
        together = all(
            isinstance(each, Symbol) and self.packs.of.get(each.index) == (place.pack, lane)
            for lane, each in enumerate(values))
        return place.pack if together and place.pack.operation not in MEMORY else None

    def _store_lists(self, item) -> None:
        for number, span in self._lists.get(item, ()):
            begin = sum(self.program.results[:number]) + span.begin
            self._store_list(number, span, self.program.outputs[begin:begin + span.size])

    def _store_list(self, number: int, span: Span, values: Sequence) -> None:
        base = f'%pout{number}'
        if not self._is_vector(values):
            for k, value in enumerate(values, span.begin):
                self.lines.append(f'  store double {self.operand(value)}, '
                                  f'{self.pointer_at(base, k, "double")}')
            return
        width = width_of(span.size)
        vector = self.shuffled(self.as_vector(values, width), width, range(span.size))
        kind = vector_kind(span.size).value
        self.lines.append(f'  store {kind} {vector}, '
                          f'{self.pointer_at(base, span.begin, kind)}, align 8')

    def _is_vector(self, values: Sequence) -> bool:
        """Return whether values are better stored as a vector than one by one."""
        symbols = [(lane, each.index) for lane, each in enumerate(values)
                   if isinstance(each, Symbol)]
        if len(values) < 2:
            return False
        packs = self.packs_of(symbols, width_of(len(values)))
        return not symbols or bool(packs) and 2 * len(packs[0][1]) > len(values)

    def write_list(self, address: str, values: Sequence, length: int) -> None:
        """
        Write values to consecutive addresses.

        The order is ascending, because a vector may be longer than its list: the elements behind
        it are overwritten by the next values.
        """
        for span in _all_spans(length):
            own = values[span.begin:span.begin + span.size]
            if self._is_vector(own):
                width = width_of(span.size)
                kind, vector = vector_kind(width).value, self.as_vector(own, width)
                place = codegen_tables.at(self, address, span.begin, 'double', kind)
                self.lines.append(f'  store {kind} {vector}, {place}, align 8')
            else:
                for k, value in enumerate(own, span.begin):
                    self.lines.append(f'  store double {self.operand(value)}, '
                                      f'{codegen_tables.at(self, address, k, "double")}')


def _all_spans(length: int) -> list[Span]:
    """Return the spans of a block, with spans of one element for the rest."""
    found, end = [], 0
    for span in [*spans(length), Span(int(length), 0)]:
        found += [Span(k, 1) for k in range(end, span.begin)]
        found.append(span)
        end = span.begin + span.size
    return found[:-1]


def _conditions(operation: str) -> tuple[int, ...]:
    """Return the indices of the operands of an operation that are conditions."""
    return {'select': (0,), 'flag': (0,), 'no': (0,), 'both': (0, 1),
            'either': (0, 1)}.get(operation, ())
