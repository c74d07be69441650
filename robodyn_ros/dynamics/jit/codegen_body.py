"""Writer of the LLVM IR of a traced program, node by node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from robodyn_ros.dynamics.jit import codegen_flow, codegen_tables
from robodyn_ros.dynamics.jit.graph import Symbol
from robodyn_ros.dynamics.jit.instructions import instruction, Kind, SCALAR
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.sine_order import SineOrder
from robodyn_ros.dynamics.jit.sines import constant, splat, VECTOR, WIDTH

# nodes per block of a long program
BLOCK = 200

_WRITERS: dict[str, Callable] = {**codegen_flow.WRITERS, **codegen_tables.WRITERS}


def vector_pointer_type(pointer: str) -> str:
    """Return the type of a pointer to a vector, where that of a pointer to double is `pointer`."""
    return pointer if pointer == 'ptr' else f'{VECTOR}*'


class Merge(NamedTuple):
    """
    Values of the cases of a branch, or of the iterations of a loop, that become one value.

    Attributes
    ----------
    kind : str
        Type of the value.
    target
        Node or pack of the value.
    values : list of list
        Per case the values that become it: one, or those of all lanes.

    """

    kind: str
    target: Any
    values: list[list]


class Body:
    """
    Writer of the instructions of a program for one type of value.

    Attributes
    ----------
    kind : Kind
        Type of values.
    lines, reserved : list of str
        Instructions; allocations on the stack, which come before them.
    names : dict of int to str
        Name of the value of each node written so far.
    block : str
        Label of the current block.
    active : str
        Mask of the lanes for which the current region is executed, for vectors; empty: all.

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
        """Return a new name."""
        self._count += 1
        return f'%t{self._count}'

    def write(self, text: str) -> str:
        """Write an instruction with a result; return its name."""
        self._count += 1
        name = f'%t{self._count}'
        self.lines.append(f'  {name} = {text}')
        return name

    def label(self, name: str) -> None:
        """Start a block."""
        self.lines.append(f'{name}:')
        self.block = name

    def new_labels(self, *names: str) -> list[str]:
        """Return new labels."""
        self._count += 1
        return [f'{name}{self._count}' for name in names]

    def operand(self, value) -> str:
        """Return the text of an operand: a name or a constant."""
        if isinstance(value, Symbol):
            return self.names[value.index]
        return splat(value) if self.vector else constant(value)

    def compute(self) -> None:
        """
        Write all nodes that are needed.

        Results are stored as soon as they are computed, to keep few values in registers.
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
            self.names[index] = ''  # a fork has no value, but must be written only once
            _WRITERS[operation](self, index, *operands)
        else:
            self.names[index] = self.write(instruction(
                operation, [self.operand(each) for each in operands], self.kind, self.write))

    def merges(self, choice: int) -> list[Merge]:
        """Return the merges of a choice."""
        return [Merge(self.type, node, [[value] for value in self.program.graph.nodes[node][2:]])
                for node in self.schedule.chosen[choice]]

    def loop_merges(self, region, first: Sequence, following: Sequence) -> list[Merge]:
        """Return the merges of a loop: initial values, and values after each iteration."""
        return [Merge(self.type, variable.index, [[a], [b]])
                for variable, a, b in zip(region.variables, first, following)
                if b is not variable]

    def merged(self, merge: Merge, case: int) -> str:
        """Return the value of a merge in a case."""
        return self.operand(merge.values[case][0])

    def name(self, merge: Merge, name: str) -> None:
        """Set the name of the value of a merge."""
        self.names[merge.target] = name

    def enter(self) -> None:
        """Enter a region."""

    def leave(self) -> None:
        """Leave a region: its values are not defined outside of it."""

    def write_list(self, address: str, values: Sequence, _length: int) -> None:
        """Write values to consecutive addresses."""
        for k, value in enumerate(values):
            self.lines.append(f'  store {self.type} {self.operand(value)}, '
                              f'{codegen_tables.at(self, address, k, self.type)}')

    # --- sines: four at a time, therefore grouped and before other nodes --------------------

    def _sines_first(self, region) -> None:
        """Write the sines of a region, with the nodes of their angles."""
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
