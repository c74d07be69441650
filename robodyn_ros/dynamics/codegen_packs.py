"""
LLVM IR of one state, in which packs are computed as vectors (see `packs`).

Vectors have a power of two of elements, of which the last ones may be without meaning. What is in
memory is read where it is needed, as a number or as a vector; numbers are taken out of vectors,
and put into them, where they are needed. Such values are known in the region in which they were
written, and in those inside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robodyn_ros.dynamics import codegen, codegen_tables
from robodyn_ros.dynamics.codegen import Body, function_text, Merge, module_ir, SCALAR, vector_kind
from robodyn_ros.dynamics.graph import Symbol
from robodyn_ros.dynamics.machine import Ir
from robodyn_ros.dynamics.packs import MEMORY, Pack, Span, spans, WIDEST
from robodyn_ros.dynamics.program import Program
from robodyn_ros.dynamics.sines import constant

_BEFORE = ('variable', 'chosen')  # named with the loop, or the choice


def kernel_ir(program: Program, pointer: str) -> Ir:
    """Return the IR of `kernel`, see `codegen.kernel_ir`."""
    if not program.packed:
        return codegen.kernel_ir(program, pointer)
    body = PackedBody(program, pointer)
    return module_ir([program], function_text('kernel', body, pointer), pointer)


class PackedBody(Body):
    """
    Writes the instructions of a program with packs.

    Attributes
    ----------
    packs : Packs
        Of the program.

    """

    def __init__(self, program: Program, pointer: str):
        super().__init__(program, SCALAR, pointer)
        self.packs = program.packs
        self._vectors: dict[Pack, str] = {}
        self._scopes: list[dict] = [{}]
        self._lists: dict[object, list[tuple[int, Span]]] = {}

    # --- values -----------------------------------------------------------------------------

    def operand(self, value) -> str:
        """Return how an operand is written: a name or a constant."""
        if not isinstance(value, Symbol):
            return constant(value)
        return self.names.get(value.index) or self._once(
            value.index, lambda: self._number(value.index))

    def _once(self, key, make: Callable[[], str]) -> str:
        """Return what was written for a key in a region around this place, or write it."""
        for scope in self._scopes:
            if key in scope:
                return scope[key]
        name = self._scopes[-1][key] = make()
        return name

    def _number(self, index: int) -> str:
        operation, *operands = self.program.graph.nodes[index]
        if operation == 'input':
            return self._load(*operands)
        if operation in MEMORY:
            return self.write(f'load double, {self._in_memory(operation, *operands, "double")}')
        pack, lane = self.packs.of[index]
        kind = vector_kind(pack.width)
        return self.write(f'extractelement {kind.mask if pack.of_conditions else kind.value} '
                          f'{self._vector_of(pack)}, i32 {lane}')

    def _in_memory(self, operation: str, source, position: int, kind: str) -> str:
        """Write the pointer to a number in memory; return it with its type."""
        if operation == 'input':
            return self._pointer_at(f'%pa{source}', position, kind)
        name = self.names[source.index]
        address = name if operation == 'result' else name[0]
        return codegen_tables.at(self, address, position, 'double', kind)

    def _pointer_at(self, base: str, position: int, kind: str) -> str:
        address = self.write(f'getelementptr double, {self.pointer} {base}, i64 {position}')
        if self.pointer == 'ptr' or kind == 'double':
            return f'{self.pointer} {address}'
        return f'{kind}* {self.write(f"bitcast double* {address} to {kind}*")}'

    def as_vector(self, column: Sequence, width: int, of_conditions: bool = False) -> str:
        """
        Return a vector of values.

        Parameters
        ----------
        column : sequence
            A value for each lane; None where any will do.
        width : int
            Elements of the vector.
        of_conditions : bool
            Whether they are conditions.

        """
        symbols = [(lane, each.index) for lane, each in enumerate(column)
                   if isinstance(each, Symbol)]
        if not symbols:
            return _constants(column, width)
        packs = self._packs_of(symbols, width)
        given = sum(each is not None for each in column)
        if packs and len(packs[0][1]) == given:
            return self._vector_of(packs[0][0])
        key = tuple(each.index if isinstance(each, Symbol) else each for each in column), width
        if len(symbols) == given and len({index for _, index in symbols}) == 1:
            return self._once(key, lambda: self._spread(column[symbols[0][0]], width,
                                                        of_conditions))
        return self._once(key, lambda: self._gather(column, width, packs, of_conditions))

    def _packs_of(self, symbols: list[tuple[int, int]], width: int) -> list[tuple[Pack, set]]:
        """Return the packs that have values in the right lanes, with these; the most first."""
        found: dict[Pack, set[int]] = {}
        for lane, index in symbols:
            place = self.packs.of.get(index)
            if place is not None and place.lane == lane and place.pack.width == width:
                found.setdefault(place.pack, set()).add(lane)
        return sorted(found.items(), key=lambda item: -len(item[1]))

    def _spread(self, value, width: int, of_conditions: bool) -> str:
        kind = vector_kind(width)
        one, several = (SCALAR.mask, kind.mask) if of_conditions else (SCALAR.value, kind.value)
        first = self.write(f'insertelement {several} undef, {one} {self.operand(value)}, i32 0')
        return self.write(f'shufflevector {several} {first}, {several} undef, <{width} x i32> '
                          'zeroinitializer')

    def _gather(self, column: Sequence, width: int, packs: list, of_conditions: bool) -> str:
        kind = vector_kind(width)
        one, several = (SCALAR.mask, kind.mask) if of_conditions else (SCALAR.value, kind.value)
        numbers = [None if isinstance(each, Symbol) else each for each in column]
        name, known = _constants(numbers, width), set()
        if packs and len(packs[0][1]) > 1:
            pack, known = packs[0]
            name = self._vector_of(pack)
        for lane, each in enumerate(column):
            if lane not in known and (isinstance(each, Symbol) or known and each is not None):
                name = self.write(f'insertelement {several} {name}, {one} '
                                  f'{self.operand(each)}, i32 {lane}')
        return name

    def _vector_of(self, pack: Pack) -> str:
        return self._vectors.get(pack) or self._once(pack, lambda: self._load_vector(pack))

    def _load_vector(self, pack: Pack) -> str:
        lane, (source, position) = next(iter(pack.operands.items()))
        return self._load_span(pack.operation, source, Span(position - lane, pack.count))

    def _load_span(self, operation: str, source, span: Span) -> str:
        """Write the load of neighbouring numbers, and maybe of more, as a vector."""
        width = 1 << (span.count - 1).bit_length()
        kind, room = vector_kind(width).value, self._room(operation, source)
        begin = min(span.begin, room - width)
        if begin < 0:
            values = [self.write(f'load double, {self._in_memory(operation, source, k, "double")}')
                      for k in range(span.begin, span.begin + span.count)]
            name = 'undef'
            for lane, value in enumerate(values):
                name = self.write(f'insertelement {kind} {name}, double {value}, i32 {lane}')
            return name
        name = self.write(f'load {kind}, {self._in_memory(operation, source, begin, kind)}, '
                          'align 8')
        return self._shuffled(name, width, [min(span.begin - begin + k, width - 1)
                                            for k in range(width)])

    def _room(self, operation: str, source) -> int:
        """Return how many numbers may be read from a place in memory."""
        if operation == 'input':
            return int(self.program.arguments[source])
        kind = self.program.arguments[self.program.graph.node(source)[1]]
        return kind.columns if operation == 'element' else kind.outputs + WIDEST

    # --- regions ----------------------------------------------------------------------------

    def enter(self) -> None:
        """Begin a region."""
        self._scopes.append({})

    def leave(self) -> None:
        """End a region: what was written in it may not have been computed."""
        self._scopes.pop()

    def region(self, region) -> None:
        """Write all that is computed in a region."""
        block = codegen.BLOCK if self.program.long else len(self.program.graph.nodes) + 1
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
        elif operation not in _BEFORE:
            self._node(index)

    def _pack(self, pack: Pack) -> None:
        if pack.operation == 'iterated':
            variable = self._variable(next(iter(pack.lanes.values())))
            self._vectors[pack] = self._vectors[self.packs.of[variable.index].pack]
        elif pack.operation not in _BEFORE:
            conditions = _conditions(pack.operation)
            values = [self.as_vector(column, pack.width, k in conditions)
                      for k, column in enumerate(pack.columns())]
            self._vectors[pack] = self.compute_one(pack.operation, values,
                                                   vector_kind(pack.width))

    def _shuffled(self, vector: str, width: int, lanes: Sequence[int]) -> str:
        """Write the vector with these elements of a vector."""
        if list(lanes) == list(range(width)):
            return vector
        kind = vector_kind(width).value
        order = ', '.join(f'i32 {lane}' for lane in lanes)
        return self.write(f'shufflevector {kind} {vector}, {kind} undef, '
                          f'<{len(lanes)} x i32> <{order}>')

    def _variable(self, iterated: int) -> Symbol:
        """Return the variable of a loop whose last value a node is."""
        loop, number = self.program.graph.nodes[iterated][1:]
        return self.program.graph.node(loop)[3].variables[number]

    def _joined(self, index: int) -> str:
        """Write whether all, or any, of several conditions hold."""
        word = codegen.LOGICAL[self.program.graph.nodes[index][0]]
        lanes: dict[Pack, set[int]] = {}
        parts = []
        for each in self.packs.leaves[index]:
            place = self.packs.of.get(each.index)
            if place is None:
                parts.append(self.operand(each))
            else:
                lanes.setdefault(place.pack, set()).add(place.lane)
        alike: dict[tuple, str] = {}
        for pack, own in lanes.items():
            kind, key, vector = vector_kind(pack.width), (pack.width, *sorted(own)), (
                self._vector_of(pack))
            alike[key] = self.write(f'{word} {kind.mask} {alike[key]}, {vector}') if (
                key in alike) else vector
        for (width, *own), vector in alike.items():
            bits, mask = f'i{width}', sum(1 << lane for lane in own)
            mask = mask - (1 << width) if mask >> (width - 1) else mask
            name = self.write(f'bitcast {vector_kind(width).mask} {vector} to {bits}')
            name = self.write(f'and {bits} {name}, {mask}')
            parts.append(self.write(f'icmp eq {bits} {name}, {mask}' if word == 'and'
                                    else f'icmp ne {bits} {name}, 0'))
        name = parts[0]
        for each in parts[1:]:
            name = self.write(f'{word} i1 {name}, {each}')
        return name

    # --- choices and loops ------------------------------------------------------------------

    def merges(self, choice: int) -> list[Merge]:
        """Return what the cases of a choice lead to."""
        return self._merges({node: self.program.graph.nodes[node][2:]
                             for node in self.schedule.chosen[choice]})

    def carried(self, region, first: Sequence, following: Sequence) -> list[Merge]:
        """Return what changes in a loop: values before it, and after each time."""
        return self._merges({variable.index: (a, b) for variable, a, b in zip(
            region.variables, first, following)
            if b is not variable or variable.index in self.packs.of})

    def _merges(self, values: dict[int, Sequence]) -> list[Merge]:
        """Return merges of nodes, those of a pack as one; values: of each node in each case."""
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
        """Return what a case leads to."""
        column = merge.values[case]
        if isinstance(merge.target, Pack):
            return self.as_vector(column, merge.target.width)
        return self.operand(column[0])

    def name(self, merge: Merge, name: str) -> None:
        """Give what cases lead to a name."""
        (self._vectors if isinstance(merge.target, Pack) else self.names)[merge.target] = name

    # --- results ----------------------------------------------------------------------------

    def compute(self) -> None:
        """Write all nodes that are needed; results are stored as soon as they are known."""
        rest, begin = [], 0
        for number, size in enumerate(self.program.results):
            values = self.program.outputs[begin:begin + size]
            begin += size
            for span in _all_spans(size):
                own = values[span.begin:span.begin + span.count]
                item = self._computed_together(own)
                if item is None:
                    rest.append((number, span, own))
                else:
                    self._lists.setdefault(item, []).append((number, span))
        self.region(self.program.graph.root)
        for number, span, own in rest:
            self._store_list(number, span, own)

    def _computed_together(self, values: Sequence):
        """Return the node, or the pack, after which a list can be stored."""
        first = values[0]
        if not isinstance(first, Symbol):
            return None
        if len(values) == 1:
            memory = self.program.graph.node(first)[0] in MEMORY
            return None if memory or first.index in self.packs.of else first.index
        place = self.packs.of.get(first.index)
        together = place is not None and all(
            isinstance(each, Symbol) and self.packs.of.get(each.index) == (place.pack, lane)
            for lane, each in enumerate(values))
        return place.pack if together and place.pack.operation not in MEMORY else None

    def _store_lists(self, item) -> None:
        for number, span in self._lists.get(item, ()):
            begin = sum(self.program.results[:number]) + span.begin
            self._store_list(number, span, self.program.outputs[begin:begin + span.count])

    def _store_list(self, number: int, span: Span, values: Sequence) -> None:
        base = f'%pout{number}'
        if not self._is_vector(values):
            for k, value in enumerate(values, span.begin):
                self.lines.append(f'  store double {self.operand(value)}, '
                                  f'{self._pointer_at(base, k, "double")}')
            return
        width = 1 << (span.count - 1).bit_length()
        vector = self._shuffled(self.as_vector(values, width), width, range(span.count))
        kind = vector_kind(span.count).value
        self.lines.append(f'  store {kind} {vector}, '
                          f'{self._pointer_at(base, span.begin, kind)}, align 8')

    def _is_vector(self, values: Sequence) -> bool:
        """Return whether values are rather a vector than numbers."""
        symbols = [(lane, each.index) for lane, each in enumerate(values)
                   if isinstance(each, Symbol)]
        if len(values) < 2:
            return False
        packs = self._packs_of(symbols, 1 << (len(values) - 1).bit_length())
        return not symbols or bool(packs) and 2 * len(packs[0][1]) > len(values)

    def write_list(self, address: str, values: Sequence, length: int) -> None:
        """
        Write values to an address, one behind the other.

        From the first to the last: vectors may be longer than lists, and what is behind them is
        written after them.
        """
        for span in _all_spans(length):
            own = values[span.begin:span.begin + span.count]
            if self._is_vector(own):
                width = 1 << (span.count - 1).bit_length()
                kind, vector = vector_kind(width).value, self.as_vector(own, width)
                place = codegen_tables.at(self, address, span.begin, 'double', kind)
                self.lines.append(f'  store {kind} {vector}, {place}, align 8')
            else:
                for k, value in enumerate(own, span.begin):
                    self.lines.append(f'  store double {self.operand(value)}, '
                                      f'{codegen_tables.at(self, address, k, "double")}')


def _all_spans(length: int) -> list[Span]:
    """Return the spans of a block, and all that is in none of them, one by one."""
    found, end = [], 0
    for span in [*spans(length), Span(int(length), 0)]:
        found += [Span(k, 1) for k in range(end, span.begin)]
        found.append(span)
        end = span.begin + span.count
    return found[:-1]


def _conditions(operation: str) -> tuple[int, ...]:
    """Return which operands of an operation are conditions."""
    return {'select': (0,), 'flag': (0,), 'no': (0,), 'both': (0, 1),
            'either': (0, 1)}.get(operation, ())


def _constants(column: Sequence, width: int) -> str:
    numbers = [*column, *[None] * (width - len(column))]
    if not any(numbers) and not any(each is not None and str(each)[0] == '-' for each in numbers):
        return 'zeroinitializer'
    return f'<{", ".join(f"double {constant(each or 0.0)}" for each in numbers)}>'
