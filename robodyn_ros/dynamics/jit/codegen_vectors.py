"""
LLVM IR of numbers that are elements of vectors, or in memory.

The number of elements of a vector is a power of two; the last ones may be unused. Numbers in
memory are loaded where they are needed, as a number or as a vector; elements are extracted from
vectors, and inserted into them, where they are needed. Such values are defined in the region in
which they were written, and in the regions inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robodyn_ros.dynamics.jit import codegen_tables
from robodyn_ros.dynamics.jit.codegen_body import Body
from robodyn_ros.dynamics.jit.graph import Symbol
from robodyn_ros.dynamics.jit.instructions import SCALAR, vector_kind
from robodyn_ros.dynamics.jit.lists import Span, WIDEST, width_of
from robodyn_ros.dynamics.jit.packs import MEMORY, Pack
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sines import constant


class VectorBody(Body):
    """
    Writer with values as numbers and as vectors.

    Attributes
    ----------
    packs : Packs
        Packs of the program.
    vectors : dict of Pack to str
        Names of the packs computed so far.

    """

    def __init__(self, program: Program, pointer: str):
        super().__init__(program, SCALAR, pointer)
        self.packs = program.packs
        self.vectors: dict[Pack, str] = {}
        self._scopes: list[dict] = [{}]

    def enter(self) -> None:
        """Enter a region."""
        self._scopes.append({})

    def leave(self) -> None:
        """Leave a region: its values are not defined outside of it."""
        self._scopes.pop()

    def operand(self, value) -> str:
        """Return the text of an operand: a name or a constant."""
        if not isinstance(value, Symbol):
            return constant(value)
        return self.names.get(value.index) or self._once(
            value.index, lambda: self._number(value.index))

    def _once(self, key, make: Callable[[], str]) -> str:
        """Return the value for a key in an enclosing region, or write it."""
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
            source, position = operands
            pointer = self._in_memory(operation, source, position, 'double')
            return self.write(f'load double, {pointer}')
        pack, lane = self.packs.of[index]
        kind = vector_kind(pack.width)
        return self.write(f'extractelement {kind.mask if pack.is_mask else kind.value} '
                          f'{self.vector_of(pack)}, i32 {lane}')

    def _in_memory(self, operation: str, source, position: int, kind: str) -> str:
        """Write the pointer to a number in memory; return it with its type."""
        if operation == 'input':
            return self.pointer_at(f'%pa{source}', position, kind)
        name = self.names[source.index]
        address = name if operation == 'result' else name[0]
        return codegen_tables.at(self, address, position, 'double', kind)

    def pointer_at(self, base: str, position: int, kind: str) -> str:
        """Write the pointer to a number of an argument, as this type; return both."""
        address = self.write(f'getelementptr double, {self.pointer} {base}, i64 {position}')
        if self.pointer == 'ptr' or kind == 'double':
            return f'{self.pointer} {address}'
        return f'{kind}* {self.write(f"bitcast double* {address} to {kind}*")}'

    def as_vector(self, column: Sequence, width: int, is_mask: bool = False) -> str:
        """
        Return a vector of values.

        Parameters
        ----------
        column : sequence
            A value per lane; None for any value.
        width : int
            Number of elements of the vector.
        is_mask : bool
            Whether the values are conditions.

        """
        symbols = [(lane, each.index) for lane, each in enumerate(column)
                   if isinstance(each, Symbol)]
        if not symbols:
            return _constants(column, width)
        packs = self.packs_of(symbols, width)
        given = sum(each is not None for each in column)
        if packs and len(packs[0][1]) == given:
            return self.vector_of(packs[0][0])
        key = (width, *(f'node {each.index}' if isinstance(each, Symbol) else
                        each if each is None else constant(each) for each in column))
        if len(symbols) == given and len({index for _, index in symbols}) == 1:
            return self._once(key, lambda: self._spread(column[symbols[0][0]], width,
                                                        is_mask))
        return self._once(key, lambda: self._gather(column, width, packs, is_mask))

    def packs_of(self, symbols: list[tuple[int, int]], width: int) -> list[tuple[Pack, set]]:
        """Return the packs that have some of the values in their lanes, with these lanes."""
        found: dict[Pack, set[int]] = {}
        for lane, index in symbols:
            place = self.packs.of.get(index)
            if place is not None and place.lane == lane and place.pack.width == width:
                found.setdefault(place.pack, set()).add(lane)
        return sorted(found.items(), key=lambda item: -len(item[1]))

    def _spread(self, value, width: int, is_mask: bool) -> str:
        kind = vector_kind(width)
        one, several = (SCALAR.mask, kind.mask) if is_mask else (SCALAR.value, kind.value)
        first = self.write(f'insertelement {several} undef, {one} {self.operand(value)}, i32 0')
        return self.write(f'shufflevector {several} {first}, {several} undef, <{width} x i32> '
                          'zeroinitializer')

    def _gather(self, column: Sequence, width: int, packs: list, is_mask: bool) -> str:
        kind = vector_kind(width)
        one, several = (SCALAR.mask, kind.mask) if is_mask else (SCALAR.value, kind.value)
        numbers = [None if isinstance(each, Symbol) else each for each in column]
        name, known = _constants(numbers, width), set()
        if packs and len(packs[0][1]) > 1:
            pack, known = packs[0]
            name = self.vector_of(pack)
        for lane, each in enumerate(column):
            if lane not in known and (isinstance(each, Symbol) or known and each is not None):
                name = self.write(f'insertelement {several} {name}, {one} '
                                  f'{self.operand(each)}, i32 {lane}')
        return name

    def vector_of(self, pack: Pack) -> str:
        """Return the vector of a pack, computed or in memory."""
        return self.vectors.get(pack) or self._once(pack, lambda: self._load_vector(pack))

    def _load_vector(self, pack: Pack) -> str:
        lane, (source, position) = next(iter(pack.operands.items()))
        return self._load_span(pack.operation, source, Span(position - lane, pack.count))

    def _load_span(self, operation: str, source, span: Span) -> str:
        """Write the load of neighbouring numbers as a vector."""
        width = width_of(span.size)
        kind, room = vector_kind(width).value, self._room(operation, source)
        begin = min(span.begin, room - width)
        if begin < 0:
            values = [self.write(f'load double, {self._in_memory(operation, source, k, "double")}')
                      for k in range(span.begin, span.begin + span.size)]
            name = 'undef'
            for lane, value in enumerate(values):
                name = self.write(f'insertelement {kind} {name}, double {value}, i32 {lane}')
            return name
        name = self.write(f'load {kind}, {self._in_memory(operation, source, begin, kind)}, '
                          'align 8')
        return self.shuffled(name, width, [min(span.begin - begin + k, width - 1)
                                           for k in range(width)])

    def shuffled(self, vector: str, width: int, lanes: Sequence[int]) -> str:
        """Return a vector of these elements of a vector."""
        if list(lanes) == list(range(width)):
            return vector
        kind = vector_kind(width).value
        order = ', '.join(f'i32 {lane}' for lane in lanes)
        return self.write(f'shufflevector {kind} {vector}, {kind} undef, '
                          f'<{len(lanes)} x i32> <{order}>')

    def _room(self, operation: str, source) -> int:
        """Return the number of doubles that may be read at a place in memory."""
        if operation == 'input':
            return int(self.program.arguments[source])
        kind = self.program.arguments[self.program.graph.node(source)[1]]
        return kind.columns if operation == 'element' else kind.outputs + WIDEST


def _constants(column: Sequence, width: int) -> str:
    numbers = [*column, *[None] * (width - len(column))]
    text = ', '.join(f'double {constant(0.0 if x is None else x)}' for x in numbers)
    return f'<{text}>'
