"""
Lowering: a traced program as one list of operations, in the order of evaluation.

An operation is on numbers, or on vectors of several. Its operands are the places of
earlier operations in the list, constants, or tuples of constants. Printers translate the list to
LLVM IR (`llvm`), each operation by itself. Arithmetic is that of the graph; besides it there are

- `input`, `result`, `element`: loads, of a list where the length is above 1; `store` of a result;
- `gather` of values into lanes of a vector, `spread` of one into all, `take` of a lane;
- `sincos` of a vector of angles, and `sin` and `cos`, its two parts;
- `reduce` of a mask to the condition that all, or any, of its lanes hold;
- `choice` between cases: by a condition, first the case in which it holds, or by a `selector`,
  an integer. Each `case` ends with `yield` of the values that become its results,
  `merged` behind the `end`;
- `loop` with the first values of its `variable`s, whose next values its `yield` has; `counter` is
  the number of the iteration. Behind the `end` the variables have their last values;
- `array` with some values in memory, `address` of those of an argument or of another array;
  `call`, whose value is the array of its results; `inverse` of a symmetric matrix in an array, in
  its place; `row` of a table and `search`, see `flow`;
- `block`, where a long function is cut.

Sines are computed as many side by side as possible, before other nodes of their region. Numbers in
memory and elements of vectors are loaded and taken where they are needed, once per region.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
import math
from typing import Any, NamedTuple

from robodyn_ros.dynamics.jit.graph import Region, Symbol
from robodyn_ros.dynamics.jit.lists import Span, spans, WIDEST, width_of
from robodyn_ros.dynamics.jit.packs import CONDITIONS, MEMORY, Pack
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sines import WIDTH

BLOCK = 200  # nodes between two cuts of a long program
_SINES = ('sin', 'cos')
_NAMED = ('variable', 'chosen')  # named together with the loop, or the choice

Value = Any  # place of an operation, a constant, or a tuple of constants


class Operation(NamedTuple):
    """
    One operation of the list.

    Attributes
    ----------
    name : str
        What it does.
    operands : tuple
        Its values.
    data : tuple
        What is known at compile time: positions, lanes, numbers of arguments.
    length : int
        Length of its value; 1: a number.

    """

    name: str
    operands: tuple
    data: tuple
    length: int


class Merge(NamedTuple):
    """
    Values of the cases of a choice, or of the iterations of a loop, that become one value.

    Attributes
    ----------
    target : int or Pack
        Node or pack of the value.
    length : int
        Its length.
    values : list of list
        Per case the values that become it: one, or those of all lanes.

    """

    target: Any
    length: int
    values: list[list]


class Lowering:
    """
    Makes the list of a program for one state.

    Parameters
    ----------
    program : Program
        Packs of it are computed as vectors, if it has any.

    Attributes
    ----------
    operations : list of Operation
        The list; it is complete after `run`.
    values : dict of int to value
        Value of each node so far.

    """

    count = 1        # length of the values of nodes
    widest = WIDEST  # length of a vector
    angles = WIDTH   # of which sines are computed at once
    padded = True    # whether vectors have unused elements at the end

    def __init__(self, program: Program):
        self.program, self.schedule = program, program.schedule
        self.nodes = program.graph.nodes
        self.packs: Any = program.packs if program.packed else None
        self.operations: list[Operation] = []
        self.values: dict[int, Value] = {}
        self.vectors: dict[Pack, Value] = {}
        self._scopes: list[dict] = [{}]
        self._stores: dict[object, list[tuple]] = defaultdict(list)
        self._depths = self._sine_depths()

    def run(self) -> list[Operation]:
        """Return the list; results are stored as soon as they are computed."""
        root = self.program.graph.root
        if self.program.in_place:
            for index in self.schedule.inside[root]:
                if self.nodes[index][0] == 'input':
                    self._node(index)
        rest = []
        for number, size in enumerate(self.program.results):
            begin = sum(self.program.results[:number])
            for span in self._all_spans(size if self.packs else int(size)):
                own = self.program.outputs[begin + span.begin:begin + span.begin + span.size]
                item = self._computed_together(own)
                if item is not None:
                    self._stores[item].append((number, span, own))
                elif self.packs or isinstance(own[0], Symbol):
                    rest.append((number, span, own))
                else:
                    self._store(number, span, own)
        self._region(root)
        for each in rest:
            self._store(*each)
        return self.operations

    def emit(self, name: str, operands: Sequence = (), data: tuple = (), count: int = 1) -> int:
        """Add an operation; return its place."""
        self.operations.append(Operation(name, tuple(operands), data, count))
        return len(self.operations) - 1

    # --- regions ----------------------------------------------------------------------------

    def _region(self, region: Region) -> None:
        """Add all that is computed in a region."""
        block = BLOCK if self.program.compile_fast else len(self.nodes) + 1
        for before, level in self._sine_levels(region):
            for index in before:
                self._item(index)
            self._sines(level)
        inside = self.packs.inside.get(region, ()) if self.packs else self.schedule.inside[region]
        for count, item in enumerate(inside, 1):
            if count % block == 0:
                self.emit('block')
            self._item(item)

    def _item(self, item: Pack | int) -> None:
        if isinstance(item, Pack):
            self._pack(item)
        elif self.packs and item in self.packs.leaves:
            self.values[item] = self._joined(item)
        elif item not in self.values:
            self._node(item)
        self._store_all(item)

    def _node(self, index: int) -> None:
        operation, *operands = self.nodes[index]
        if operation in _WRITERS:
            getattr(self, _WRITERS[operation])(index, *operands)
        elif operation not in _NAMED:
            given = [self.operand(each) for each in operands]
            self.values[index] = self.emit(operation, given, (), self.count)

    def _in_scope(self, write: Callable[[], Sequence]) -> None:
        """Add a region with what `write` adds, and the `yield` of the values it returns."""
        self._scopes.append({})
        self.emit('yield', write())
        self._scopes.pop()

    # --- values -----------------------------------------------------------------------------

    def operand(self, value) -> Value:
        """Return a number as an operand."""
        if not isinstance(value, Symbol):
            return value
        index = value.index
        found = self.values.get(index)
        return self._once(index, lambda: self._number(index)) if found is None else found

    def _once(self, key, make: Callable[[], Value]) -> Value:
        """Return the value for a key in an enclosing region, or add it."""
        for scope in self._scopes:
            if key in scope:
                return scope[key]
        value = self._scopes[-1][key] = make()
        return value

    def _number(self, index: int) -> Value:
        operation, *operands = self.nodes[index]
        if operation in MEMORY:
            return self.load(operation, *operands)
        if index in self.packs.inlined:
            return self.emit(operation, [self.operand(each) for each in operands])
        pack, lane = self.packs.of[index]
        return self.emit('take', [self._vector_of(pack)], (lane,))

    def load(self, operation: str, source, position: int, count: int = 1) -> Value:
        """Add the load of neighbouring numbers."""
        if operation == 'input':
            room = int(self.program.arguments[source])  # how many may be read
            return self.emit('input', (), (source, position, room), count)
        owner = self.program.graph.node(source)[1]
        if owner == 'matrix':
            # rows of the lower triangle begin at multiples of a vector
            size = self.operations[self.values[source.index]].data[0]
            row = (math.isqrt(8 * position + 1) - 1) // 2
            place = row * stride_of(size) + position - row * (row + 1) // 2
            return self.emit(operation, [self.values[source.index]], (place, place + 1))
        kind: Any = self.program.arguments[owner]
        room = kind.columns if operation == 'element' else kind.outputs + WIDEST
        return self.emit(operation, [self.values[source.index]], (position, room), count)

    def spread(self, value: Value, count: int) -> Value:
        """Add a vector with a number in all its lanes."""
        return self.emit('spread', [value], (), count)

    def as_vector(self, column: Sequence, width: int) -> Value:
        """
        Return a vector of values.

        Parameters
        ----------
        column : sequence
            A value per lane; None for any value.
        width : int
            Number of elements of the vector in machine code, of which the last may be unused.

        """
        symbols = [(lane, each.index) for lane, each in enumerate(column)
                   if isinstance(each, Symbol)]
        if not symbols:
            return tuple(column)
        packs = self._packs_of(symbols, width)
        given = sum(each is not None for each in column)
        if packs and len(packs[0][1]) == given and (
                self.padded or packs[0][0].count >= len(column)):
            return self._vector_of(packs[0][0])
        key = (width, *(f'node {each.index}' if isinstance(each, Symbol) else repr(each)
                        for each in column))
        if len(symbols) == given and len({index for _, index in symbols}) == 1:
            return self._once(key, lambda: self.spread(
                self.operand(column[symbols[0][0]]), len(column)))
        kinds = {self.packs.inlined.get(index) for _, index in symbols} if self.packs else {None}
        if len(symbols) == given and len(kinds) == 1 and None not in kinds:
            return self._once(key, lambda: self._inlined(column))
        return self._once(key, lambda: self._gather(column, packs))

    def _inlined(self, column: Sequence) -> Value:
        """Return a vector of nodes that are the same but for constants."""
        rows = [self.nodes[each.index] if isinstance(each, Symbol) else None for each in column]
        name, *operands = next(row for row in rows if row is not None)
        return self.emit(name, [
            self.spread(self.operand(each), len(column)) if isinstance(each, Symbol)
            else tuple(None if row is None else row[k] for row in rows)
            for k, each in enumerate(operands, 1)], (), len(column))

    def _packs_of(self, symbols: list[tuple[int, int]], width: int) -> list[tuple[Pack, set]]:
        """Return the packs that have some of the values in their lanes, with these lanes."""
        found: dict[Pack, set[int]] = {}
        for lane, index in symbols:
            place = self.packs.of.get(index) if self.packs else None
            if place is not None and place.lane == lane and place.pack.width == width:
                found.setdefault(place.pack, set()).add(lane)
        return sorted(found.items(), key=lambda item: -len(item[1]))

    def _gather(self, column: Sequence, packs: list) -> Value:
        base: Value = tuple(None if isinstance(each, Symbol) else each for each in column)
        known: set[int] = set()
        if packs and len(packs[0][1]) > 1:
            pack, known = packs[0]
            base = self._vector_of(pack)
        lanes = [lane for lane, each in enumerate(column) if lane not in known and (
            isinstance(each, Symbol) or known and each is not None)]
        return self.emit('gather', [base, *(self.operand(column[lane]) for lane in lanes)],
                         tuple(lanes), len(column))

    def _vector_of(self, pack: Pack) -> Value:
        """Return the vector of a pack, computed or in memory."""
        found = self.vectors.get(pack)
        return self._once(pack, lambda: self._load_pack(pack)) if found is None else found

    def _load_pack(self, pack: Pack) -> Value:
        lane, (source, position) = next(iter(pack.operands.items()))
        return self.load(pack.operation, source, position - lane, pack.count)

    # --- packs ------------------------------------------------------------------------------

    def _pack(self, pack: Pack) -> None:
        if pack.operation == 'iterated':
            variable = self._variable(next(iter(pack.lanes.values())))
            self.vectors[pack] = self.vectors[self.packs.of[variable.index].pack]
        elif pack.operation not in _NAMED:
            self.vectors[pack] = self.emit(pack.operation, [
                self.as_vector(column, pack.width) for column in pack.columns()], (), pack.count)

    def _variable(self, iterated: int) -> Symbol:
        """Return the loop variable of an `iterated` node."""
        loop, number = self.nodes[iterated][1:]
        return self.program.graph.node(loop)[3].variables[number]

    def _joined(self, index: int) -> Value:
        """Add the conjunction or disjunction of several conditions."""
        operation = self.nodes[index][0]
        lanes: dict[Pack, set[int]] = {}
        parts = []
        for each in self.packs.leaves[index]:
            place = self.packs.of.get(each.index)
            if place is None:
                parts.append(self.operand(each))
            else:
                lanes.setdefault(place.pack, set()).add(place.lane)
        merged: dict[tuple, Value] = {}
        for pack, own in lanes.items():
            key, vector = (pack.width, tuple(sorted(own))), self._vector_of(pack)
            length = pack.count if self.padded else max(own) + 1
            merged[key] = self.emit(operation, [merged[key], vector], (), length) if (
                key in merged) else vector
        parts += [self.emit('reduce', [vector], (operation, width, chosen))
                  for (width, chosen), vector in merged.items()]
        value = parts[0]
        for part in parts[1:]:
            value = self.emit(operation, [value, part])
        return value

    # --- choices and loops ------------------------------------------------------------------

    def _branch(self, index: int, condition, regions) -> None:
        self._cases(index, self.operand(condition), [(1, regions[1]), (0, regions[0])])

    def _switch(self, index: int, number, regions) -> None:
        number, last = self.operand(number), len(regions) - 1
        if last == 1:
            self._cases(index, self.between(number, 0), list(enumerate(regions)))
        else:
            self._cases(index, self.emit('selector', [number], (last,)),
                        list(enumerate(regions)))

    def between(self, number: Value, k: int) -> Value:
        """Add the condition that the integer part of a number is k."""
        low = self.emit('at_least', [number, float(k)], (), self.count)
        return self.emit('both', [low, self.emit('above', [k + 1.0, number], (), self.count)], (),
                         self.count)

    def _cases(self, index: int, selector: Value, cases: list[tuple[int, Region]]) -> None:
        merges = self._merges({node: self.nodes[node][2:]
                               for node in self.schedule.chosen[index]})
        choice = self.values[index] = self.begin_choice(selector, len(cases), [
            merge.length for merge in merges])

        def case(number, region):
            self._region(region)
            return [self._merged(merge, number) for merge in merges]

        for place, (number, region) in enumerate(cases):
            self.emit('case', (), (place,))
            self._in_scope(lambda: case(number, region))
        for merge, value in zip(merges, self.end_choice(choice)):
            self._name(merge, value)

    def begin_choice(self, selector: Value, cases: int, counts: Sequence[int]) -> Value:
        """Add the head of a choice with results of these lengths."""
        return self.emit('choice', [selector], (cases, tuple(counts)))

    def end_choice(self, choice: Value) -> list[Value]:
        """Add the end of a choice; return its results."""
        self.emit('end', [choice])
        return [self.emit('merged', [choice], (k,), count)
                for k, count in enumerate(self.operations[choice].data[1])]

    def _iterate(self, index: int, count, limit, region: Region, *values) -> None:
        size = len(region.variables or ())
        for variable, first, following in zip(region.variables or (), values, values[size:]):
            if following is variable:
                self.values[variable.index] = self.operand(first)
        merges = self._merges({
            variable.index: pair for variable, *pair in zip(
                region.variables or (), values, values[size:])
            if pair[1] is not variable or self.packs and variable.index in self.packs.of})
        self._loop(index, self.operand(count), limit, merges, region)

    def _loop(self, index: int, count: Value, limit: float, merges: list[Merge],
              region: Region) -> None:
        loop = self.values[index] = self.emit(
            'loop', [count, *(self._merged(merge, 0) for merge in merges)],
            (limit, tuple(merge.length for merge in merges)))
        for k, merge in enumerate(merges):
            self._name(merge, self.emit('variable', [loop], (k,), merge.length))

        def body():
            self._region(region)
            return [self._merged(merge, 1) for merge in merges]

        self._in_scope(body)
        self.emit('end', [loop])

    def _iterated(self, index: int, *_) -> None:
        self.values[index] = self.operand(self._variable(index))

    def _merges(self, values: dict[int, Sequence]) -> list[Merge]:
        """Return the merges of nodes, one per pack; values: of each node in each case."""
        found, packs = [], {}
        for node, cases in values.items():
            place = self.packs.of.get(node) if self.packs else None
            if place is None:
                found.append(Merge(node, self.count, [[each] for each in cases]))
                continue
            if place.pack not in packs:
                packs[place.pack] = Merge(place.pack, place.pack.count,
                                          [[None] * place.pack.count for _ in cases])
            for column, each in zip(packs[place.pack].values, cases):
                column[place.lane] = each
        return [*found, *packs.values()]

    def _merged(self, merge: Merge, case: int) -> Value:
        """Return the value of a merge in a case."""
        column = merge.values[case]
        if isinstance(merge.target, Pack):
            return self.as_vector(column, merge.target.width)
        return self.operand(column[0])

    def _name(self, merge: Merge, value: Value) -> None:
        values: dict = self.vectors if isinstance(merge.target, Pack) else self.values
        values[merge.target] = value

    # --- memory -----------------------------------------------------------------------------

    def _load(self, index: int, *operands) -> None:
        self.values[index] = self.load(self.nodes[index][0], *operands)

    def _computed_together(self, values: Sequence):
        """Return the node, or the pack, after which a list can be stored, or None."""
        first = values[0]
        if not isinstance(first, Symbol):
            return None
        if not self.packs:
            return None if first.index in self.values else first.index
        if len(values) == 1:
            memory = self.nodes[first.index][0] in MEMORY
            return None if memory or first.index in self.packs.of else first.index
        place = self.packs.of.get(first.index)
        if place is None:
            return None
        together = all(
            isinstance(each, Symbol) and self.packs.of.get(each.index) == (place.pack, lane)
            for lane, each in enumerate(values))
        return place.pack if together and place.pack.operation not in MEMORY else None

    def _store_all(self, item) -> None:
        for each in self._stores.pop(item, ()):
            self._store(*each)

    def _store(self, number: int, span: Span, values: Sequence) -> None:
        for begin, count, value in self._pieces(values, span):
            self.emit('store', [value], (number, begin, False), count)

    def _pieces(self, values: Sequence, span: Span) -> list[tuple[int, int, Value]]:
        """Return first place, length and value of what a list is written as."""
        if self._is_vector(values):
            return [(span.begin, span.size, self.as_vector(values, width_of(span.size)))]
        return [(k, 1, self.operand(value)) for k, value in enumerate(values, span.begin)]

    def _all_spans(self, length: int) -> list[Span]:
        """Return the spans of a block, with spans of one element for the rest."""
        found, end = [], 0
        for span in [*spans(length, self.widest), Span(int(length), 0)]:
            found += [Span(k, 1) for k in range(end, span.begin)]
            found.append(span)
            end = span.begin + span.size
        return found[:-1]

    def _is_vector(self, values: Sequence) -> bool:
        """Return whether values are better stored as a vector than one by one."""
        symbols = [(lane, each.index) for lane, each in enumerate(values)
                   if isinstance(each, Symbol)]
        if len(values) < 2:
            return False
        packs = self._packs_of(symbols, width_of(len(values)))
        return not symbols or bool(packs) and 2 * len(packs[0][1]) > len(values)

    # --- sines ------------------------------------------------------------------------------

    def _sine_depths(self) -> dict[int, int]:
        """Return how many sines, one needed by the next, each node is behind; {} without sines."""
        depths: dict[int, int] = {}
        if self.program.has_sines:
            for index in self.program.needed:
                depth = max((depths[each] for each in self.schedule.operands(index)), default=0)
                depths[index] = depth + (self.nodes[index][0] in _SINES)
        return depths

    def _sine_levels(self, region: Region) -> Iterator[tuple[list[int], dict[int, list[int]]]]:
        """
        Yield the sines of a region by levels: those of one need sines of the levels before only.

        Yields
        ------
        before : list of int
            Nodes of the region that the angles are, or that they need.
        angles : dict of int to list of int
            Node of each angle, with the nodes of its sine and cosine.

        """
        if not self._depths:
            return
        order = self.schedule.inside[region]
        levels: dict[int, dict[int, list[int]]] = {}
        for index in order:
            if self.nodes[index][0] in _SINES:
                level = levels.setdefault(self._depths[index], {})
                level.setdefault(self.nodes[index][1].index, []).append(index)
        for _, level in sorted(levels.items()):
            needed = self.schedule.ancestors(level)
            yield [index for index in order if index in needed], level

    def _sines(self, angles: dict[int, list[int]]) -> None:
        items = list(angles.items())
        for start in range(0, len(items), self.angles):
            group = items[start:start + self.angles]
            length = WIDTH if self.padded else len(group)
            vector = self.emit('gather', [(0.0,) * length, *(
                self.values[angle] for angle, _ in group)], tuple(range(len(group))), length)
            self._sines_of(vector, [(lane, index) for lane, (_, nodes) in enumerate(group)
                                    for index in nodes])

    def _sines_of(self, angles: Value, targets: Sequence[tuple[int | None, int]]) -> None:
        """Add sine and cosine of a vector, of which nodes are a lane, or the whole."""
        length, parts = self.operations[angles].length, {}
        pair = self.emit('sincos', [angles], (), length)
        for lane, index in targets:
            name = self.nodes[index][0]
            if name not in parts:
                parts[name] = self.emit(name, [pair], (), length)
            self.values[index] = parts[name] if lane is None else (
                self.emit('take', [parts[name]], (lane,)))
            self._store_all(index)

    # --- calls and tables -------------------------------------------------------------------

    def _call(self, index: int, argument: int, row, *inputs) -> None:
        kind: Any = self.program.arguments[argument]
        row, given, begin = self.operand(row), [], 0
        for size in kind.inputs:
            given.append(self._address(inputs[begin:begin + size], size))
            begin += size
        self.values[index] = self.emit('call', [row, *given], (argument,), kind.outputs)

    def _address(self, values: Sequence, length: int) -> Value:
        """Return an array with these values: where they are, or a new one."""
        nodes = [self.program.graph.node(each) if isinstance(each, Symbol) else ()
                 for each in values]
        kind, *place = nodes[0] if nodes and nodes[0] else ('',)
        if kind in ('input', 'result') and nodes == [
                (kind, place[0], place[1] + k) for k in range(len(nodes))]:
            if kind == 'input' and not self.program.in_place:
                return self.emit('address', (), tuple(place), len(values))
            if kind == 'result' and self.nodes[place[0].index][0] == 'call':
                return self.emit('address', [self.values[place[0].index]], (None, place[1]),
                                 len(values))
        return self.array([piece for span in self._all_spans(length) for piece in self._pieces(
            values[span.begin:span.begin + span.size], span)], len(values))

    def array(self, pieces: Sequence[tuple[int, int, Value]], count: int) -> Value:
        """Add an array with the values of these places."""
        values = tuple(value for *_, value in pieces)
        return self._once(('array', *map(repr, values)), lambda: self.emit(
            'array', values, tuple(each[:2] for each in pieces), count))

    def _inverse(self, index: int, _kind: str, *values) -> None:
        self.values[index] = self.inverted([self.operand(each) for each in values])

    def inverted(self, values: Sequence[Value]) -> Value:
        """Add the inverse of a symmetric matrix of which the lower triangle is given."""
        size = math.isqrt(2 * len(values))
        places = [i * stride_of(size) + j for i in range(size) for j in range(i + 1)]
        array = self.emit('array', values, tuple((k, 1) for k in places), size * stride_of(size))
        return self.emit('inverse', [array], (size,))

    def _table(self, index: int, argument: int, *operands) -> None:
        """Add `row` or `search`."""
        given = [self.operand(each) for each in operands[:3]]
        self.values[index] = self.emit(self.nodes[index][0], given, (argument, *operands[3:]))


# methods for nodes that are more than one operation of arithmetic
_WRITERS = {
    'branch': '_branch', 'switch': '_switch', 'iterate': '_iterate', 'iterated': '_iterated',
    **dict.fromkeys(MEMORY, '_load'), 'call': '_call',
    'inverse': '_inverse',
    **dict.fromkeys(('row', 'search'), '_table')}


def stride_of(size: int) -> int:
    """Return the distance of the rows of a matrix in memory: a whole number of vectors."""
    return -(-size // WIDEST) * WIDEST


def is_mask(operations: Sequence[Operation], value: Value) -> bool:
    """Return whether a value is a condition, or a vector of conditions."""
    if value.__class__ is not int:
        return False
    name, operands, *_ = operations[value]
    if name in ('take', 'spread', 'gather'):
        return any(is_mask(operations, each) for each in operands)
    return name in CONDITIONS or name == 'reduce'
