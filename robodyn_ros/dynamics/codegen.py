"""
From a traced program to LLVM IR.

Every node of a program becomes an instruction or a few on the type `double`. The same nodes on
the type `<4 x double>` compute four states at once, for the loops of `loops`. Branches and loops
are in `codegen_flow`, calls and tables in `codegen_tables`.

Signatures (addresses are 64-bit integers, arrays are C-contiguous doubles):

- `kernel(argument 0, ..., out 0, ...)`: one state. A table takes two places: its address, and how
  many rows it has;
- a vector function takes the same, but each element of arguments and results is a vector of four
  states; argument 0, the runtime parameters, and tables are shared by all.

Where results may lie on top of arguments, all loads come before all stores.
Multiplications and additions may fuse (`contract`); nothing else is left to the compiler's
taste. A long program is cut into blocks, in which the compiler keeps values in registers: it is
compiled quickly instead of well, see `machine.compile_ir`.
"""

from __future__ import annotations

from collections.abc import Sequence

from robodyn_ros.dynamics import codegen_flow, codegen_tables
from robodyn_ros.dynamics.graph import Symbol
from robodyn_ros.dynamics.machine import Ir
from robodyn_ros.dynamics.program import Program
from robodyn_ros.dynamics.sines import constant, sincos_ir, splat, VECTOR, WIDTH

# nodes of a block of a long program
_BLOCK = 200

_BINARY = {'add': 'fadd contract', 'sub': 'fsub contract', 'mul': 'fmul contract', 'div': 'fdiv'}
_COMPARED = {'min': 'olt', 'max': 'ogt'}
_INTRINSICS = {'sqrt': 'llvm.sqrt', 'abs': 'llvm.fabs', 'nearest': 'llvm.rint',
               'floor': 'llvm.floor'}
_RELATIONS = {'above': 'ogt', 'at_least': 'oge', 'equal': 'oeq'}
_LOGICAL = {'both': 'and', 'either': 'or'}
_WRITERS = {**codegen_flow.WRITERS, **codegen_tables.WRITERS}


def kernel_ir(program: Program, pointer: str) -> Ir:
    """
    Return the IR of `kernel`: one state.

    Parameters
    ----------
    program : Program
        What to compute.
    pointer : str
        How this LLVM writes a pointer to double: `double*`, or `ptr` from LLVM 16 on.

    """
    return module_ir([program], function_ir('kernel', program, pointer), pointer)


def module_ir(programs: Sequence[Program], lines: list[str], pointer: str) -> Ir:
    """Return a module that computes these programs, with what their functions call."""
    text = '\n'.join(lines)
    if '@sincos(' in text:
        lines = [*lines, *sincos_ir()]
    text = '\n'.join([*lines, *codegen_tables.support_ir(text, pointer)])
    called = [line for name, line in _declarations().items() if f'@{name}(' in text]
    return Ir('\n'.join([text, *called]), any(program.long for program in programs))


def function_ir(name: str, program: Program, pointer: str) -> list[str]:
    """Return the IR lines of a function that computes one state (`pointer` as above)."""
    return _function(name, Body(program, 'double', pointer), pointer)


def vector_function(name: str, program: Program, pointer: str) -> list[str]:
    """Return the IR lines of a function that computes four states (`pointer` as above)."""
    return _function(name, Body(program, VECTOR, pointer), vector_pointer_type(pointer))


def _function(name: str, body: Body, pointer: str) -> list[str]:
    given, pointers = [], []
    for each, size in body.program.parameters().items():
        # what is shared are plain numbers for all
        kind = body.pointer if each in body.program.shared else pointer
        if size is None or body.program.in_place or name != 'kernel':
            given.append(f'i64 %{each}')
            pointers += [] if size is None else [f'  %p{each} = inttoptr i64 %{each} to {kind}']
        else:
            # loads need not wait for stores; LLVM is twice as fast with many of both
            given.append(f'{kind} noalias %p{each}')
            pointers.append(f'  %{each} = ptrtoint {kind} %p{each} to i64')
    body.compute()
    return [f'define {"" if name == "kernel" else "internal "}void @{name}({", ".join(given)}) {{',
            'start:', *pointers, *body.reserved, *body.lines, '  ret void', '}']


def _declarations() -> dict[str, str]:
    """Return the declarations of what the C library and LLVM bring, by name."""
    functions = {'sin': 'double', 'cos': 'double'}
    for name in _INTRINSICS.values():
        functions[f'{name}.f64'], functions[f'{name}.v{WIDTH}f64'] = 'double', VECTOR
    return {name: f'declare {kind} @{name}({kind})' for name, kind in functions.items()}


def vector_pointer_type(pointer: str) -> str:
    """Return how a pointer to a vector is written where a pointer to double is `pointer`."""
    return pointer if pointer == 'ptr' else f'{VECTOR}*'


class Body:
    """
    Writes the instructions of a program for one type of value.

    Attributes
    ----------
    type, mask : str
        Of a value, and of a condition.
    lines, reserved : list of str
        What is written; and room on the stack, which comes before.
    names : dict of int to str
        Where the value of each node is that is written already.
    block : str
        Label of the block that is being written.
    active : str
        Of vectors, in which lanes the region is wanted that is being written; empty: in all.

    """

    def __init__(self, program: Program, value_type: str, pointer: str):
        self.program, self.schedule = program, program.schedule
        self.type, self.pointer = value_type, pointer
        self.vector = value_type != 'double'
        self.mask = f'<{WIDTH} x i1>' if self.vector else 'i1'
        self.lines: list[str] = []
        self.reserved: list[str] = []
        self.names: dict[int, str] = {}
        self.block, self.active = 'start', ''
        self._count = 0
        self._depths = self._sine_depths()
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
        block = _BLOCK if self.program.long else len(self.program.graph.nodes) + 1
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
        if operation in _BINARY:
            text = (f'{_BINARY[operation]} {self.type} {self.operand(operands[0])}, '
                    f'{self.operand(operands[1])}')
        elif operation == 'input':
            self.names[index] = self._load(*operands)
            return
        elif operation in _WRITERS:
            self.names[index] = ''  # a fork has no value, but is written once all the same
            _WRITERS[operation](self, index, *operands)
            return
        else:
            text = self._simple(operation, [self.operand(each) for each in operands])
        self.names[index] = self.write(text)

    def _simple(self, operation: str, values: list[str]) -> str:
        if operation == 'neg':
            return f'fneg {self.type} {values[0]}'
        if operation in _INTRINSICS:
            suffix = f'v{WIDTH}f64' if self.vector else 'f64'
            return f'call {self.type} @{_INTRINSICS[operation]}.{suffix}({self.type} {values[0]})'
        if operation in _RELATIONS:
            return f'fcmp {_RELATIONS[operation]} {self.type} {values[0]}, {values[1]}'
        if operation in _LOGICAL:
            return f'{_LOGICAL[operation]} {self.mask} {values[0]}, {values[1]}'
        if operation == 'no':
            true = f'<{", ".join(["i1 1"] * WIDTH)}>' if self.vector else '1'
            return f'xor {self.mask} {values[0]}, {true}'
        if operation == 'flag':
            return f'uitofp {self.mask} {values[0]} to {self.type}'
        if operation in _COMPARED:
            a, b = values
            values = [self.write(f'fcmp {_COMPARED[operation]} {self.type} {a}, {b}'), a, b]
        return self.select(*values)

    def select(self, condition: str, positive: str, otherwise: str) -> str:
        """Return the text of a choice between two values."""
        return (f'select {self.mask} {condition}, {self.type} {positive}, '
                f'{self.type} {otherwise}')

    # --- sines: four at a time, so together and before the rest -----------------------------

    def _sine_depths(self) -> dict[int, int]:
        """Return how many sines lie one after the other on the way to each node."""
        nodes, needed = self.program.graph.nodes, self.program.needed
        if not any(nodes[index][0] in ('sin', 'cos') for index in needed):
            return {}
        depths: dict[int, int] = {}
        for index in needed:
            depth = max((depths[each] for each in self.schedule.operands(index)), default=0)
            depths[index] = depth + (nodes[index][0] in ('sin', 'cos'))
        return depths

    def _sines_first(self, region) -> None:
        """Write the sines of a region, with what their angles need."""
        if not self._depths:
            return
        nodes, order = self.program.graph.nodes, self.schedule.inside[region]
        levels: dict[int, dict[int, list[int]]] = {}
        for index in order:
            if nodes[index][0] in ('sin', 'cos'):
                level = levels.setdefault(self._depths[index], {})
                level.setdefault(nodes[index][1].index, []).append(index)
        for _, level in sorted(levels.items()):
            before = self.schedule.ancestors(level)
            for index in order:
                if index in before:
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
