"""Writes the LLVM IR of a traced program, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from robodyn_ros.dynamics.jit import codegen_flow, codegen_tables
from robodyn_ros.dynamics.jit.graph import Symbol
from robodyn_ros.dynamics.jit.instructions import instruction, Kind, SCALAR
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sine_order import SineOrder
from robodyn_ros.dynamics.jit.sines import constant, splat, VECTOR, WIDTH

# nodes of a block of a long program
BLOCK = 200

_WRITERS = {**codegen_flow.WRITERS, **codegen_tables.WRITERS}


def vector_pointer_type(pointer: str) -> str:
    """Return how a pointer to a vector is written where a pointer to double is `pointer`."""
    return pointer if pointer == 'ptr' else f'{VECTOR}*'


class Merge(NamedTuple):
    """
    Where cases, or the times of a loop, lead to one value.

    Attributes
    ----------
    kind : str
        Type of the value.
    target
        What gets a name: a node, or a pack.
    values : list of list
        For each case the values that become it: one, or those of all lanes.

    """

    kind: str
    target: object
    values: list[list]


class Body:
    """
    Writes the instructions of a program for one type of value.

    Attributes
    ----------
    kind : Kind
        Of values.
    lines, reserved : list of str
        What is written; and room on the stack, which comes before.
    names : dict of int to str
        Where the value of each node is that is written already.
    block : str
        Label of the block that is being written.
    active : str
        Of vectors, in which lanes the region is wanted that is being written; empty: in all.

    """

    def __init__(self, program: Program, kind: Kind, pointer: str):
        self.program, self.schedule = program, program.schedule
        self.kind, self.pointer = kind, pointer
        self.type, self.mask, *_ = kind
        self.vector = kind is not SCALAR
        self.lines: list[str] = []
        self.reserved: list[str] = []
        self.names: dict[int, str] = {}
        self.block, self.active = 'start', ''
        self._count = 0
        self._sine_order = SineOrder(program)
        self._waiting: dict[int, list[int]] = {}
        self._places = [(k, offset) for k, size in enumerate(program.results)
                        for offset in range(size)]

    def new(self) -> str:
        """Return a fresh name."""
        self._count += 1
        return f'%t{self._count}'

    def write(self, text: str) -> str:
        """Write an instruction with a result; return its name."""
        self._count += 1
        name = f'%t{self._count}'
        self.lines.append(f'  {name} = {text}')
        return name

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f'{name}:')
        self.block = name

    def new_labels(self, *names: str) -> list[str]:
        """Return fresh labels."""
        self._count += 1
        return [f'{name}{self._count}' for name in names]

    def operand(self, value) -> str:
        """Return how an operand is written: a name or a constant."""
        if isinstance(value, Symbol):
            return self.names[value.index]
        return splat(value) if self.vector else constant(value)

    def compute(self) -> None:
        """
        Write all nodes that are needed.

        Results are stored as soon as they are known, so that few values wait in registers.
        """
        known = []
        for position, output in enumerate(self.program.outputs):
            if isinstance(output, Symbol):
                self._waiting.setdefault(output.index, []).append(position)
            else:
                known.append(position)
        root = self.program.graph.root
        self._sines_first(root)
        if self.program.in_place:
            for index in self.schedule.inside[root]:
                if self.program.graph.nodes[index][0] == 'input':
                    self._node(index)
        for index in list(self.names):
            known += self._waiting.pop(index, ())
        for position in known:
            self._store(position)
        self._rest(root)

    def region(self, region) -> None:
        """Write all nodes of a region."""
        self._sines_first(region)
        self._rest(region)

    def _rest(self, region) -> None:
        block = BLOCK if self.program.long else len(self.program.graph.nodes) + 1
        for count, index in enumerate(self.schedule.inside[region], 1):
            if count % block == 0:
                following, = self.new_labels('block')
                self.lines.append(f'  br label %{following}')
                self.label(following)
            self._node(index)
            if self._waiting:
                for position in self._waiting.pop(index, ()):
                    self._store(position)

    def _node(self, index: int) -> None:
        if index in self.names:
            return
        operation, *operands = self.program.graph.nodes[index]
        if operation == 'input':
            self.names[index] = self._load(*operands)
        elif operation in _WRITERS:
            self.names[index] = ''  # a fork has no value, but is written once all the same
            _WRITERS[operation](self, index, *operands)
        else:
            self.names[index] = self.write(instruction(
                operation, [self.operand(each) for each in operands], self.kind, self.write))

    def merges(self, choice: int) -> list[Merge]:
        """Return what the cases of a choice lead to."""
        return [Merge(self.type, node, [[value] for value in self.program.graph.nodes[node][2:]])
                for node in self.schedule.chosen[choice]]

    def carried(self, region, first: Sequence, following: Sequence) -> list[Merge]:
        """Return what changes in a loop: values before it, and after each time."""
        return [Merge(self.type, variable.index, [[a], [b]])
                for variable, a, b in zip(region.variables, first, following)
                if b is not variable]

    def merged(self, merge: Merge, case: int) -> str:
        """Return what a case leads to."""
        return self.operand(merge.values[case][0])

    def name(self, merge: Merge, name: str) -> None:
        """Give what cases lead to a name."""
        self.names[merge.target] = name

    def enter(self) -> None:
        """Begin a region."""

    def leave(self) -> None:
        """End a region: what was written in it may not have been computed."""

    def write_list(self, address: str, values: Sequence, _length: int) -> None:
        """Write values to an address, one behind the other."""
        for k, value in enumerate(values):
            self.lines.append(f'  store {self.type} {self.operand(value)}, '
                              f'{codegen_tables.at(self, address, k, self.type)}')

    # --- sines: four at a time, so together and before the rest -----------------------------

    def _sines_first(self, region) -> None:
        """Write the sines of a region, with what their angles need."""
        for before, level in self._sine_order.levels(region):
            for index in before:
                self._node(index)
            self._sines(level)

    def _sines(self, angles: dict[int, list[int]]) -> None:
        if self.vector:
            for angle, nodes in angles.items():
                self._sine_call(self.names[angle], [(nodes, None)])
            return
        items = list(angles.items())
        for start in range(0, len(items), WIDTH):
            group = items[start:start + WIDTH]
            packed = 'zeroinitializer'
            for lane, (angle, _) in enumerate(group):
                packed = self.write(f'insertelement {VECTOR} {packed}, '
                                    f'double {self.names[angle]}, i32 {lane}')
            self._sine_call(packed, [(nodes, lane) for lane, (_, nodes) in enumerate(group)])

    def _sine_call(self, packed: str, targets) -> None:
        pair = self.write(f'call {{{VECTOR}, {VECTOR}}} @sincos({VECTOR} {packed})')
        for number, operation in enumerate(('sin', 'cos')):
            vector = self.write(f'extractvalue {{{VECTOR}, {VECTOR}}} {pair}, {number}')
            for nodes, lane in targets:
                for index in nodes:
                    if self.program.graph.nodes[index][0] == operation:
                        self.names[index] = vector if lane is None else self.write(
                            f'extractelement {VECTOR} {vector}, i32 {lane}')

    # --- memory -----------------------------------------------------------------------------

    def _load(self, argument: int, position: int) -> str:
        own = f'a{argument}' not in self.program.shared
        kind, pointer = self._kind(own)
        address = self._address(f'pa{argument}', position, own)
        value = self.write(f'load {kind}, {pointer} {address}')
        return value if kind == self.type else self.spread(value)

    def spread(self, value: str) -> str:
        """Write a vector with a double in all its lanes; return its name."""
        packed = 'undef'
        for lane in range(WIDTH):
            packed = self.write(f'insertelement {VECTOR} {packed}, double {value}, i32 {lane}')
        return packed

    def _store(self, position: int) -> None:
        result, offset = self._places[position]
        kind, pointer = self._kind(True)
        value = self.operand(self.program.outputs[position])
        target = self._address(f'pout{result}', offset, True)
        self.lines.append(f'  store {kind} {value}, {pointer} {target}')

    def _kind(self, own: bool) -> tuple[str, str]:
        """Return the types of an element and of a pointer to it."""
        if not self.vector or not own:
            return 'double', self.pointer
        return VECTOR, vector_pointer_type(self.pointer)

    def _address(self, base: str, offset: int, own: bool) -> str:
        kind, pointer = self._kind(own)
        return self.write(f'getelementptr {kind}, {pointer} %{base}, i64 {offset}')
