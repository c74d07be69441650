"""
From a traced program to LLVM IR.

The program has no loops and no branches, so its IR is one basic block: every node becomes one
instruction on the type `double`. The same nodes on the type `<4 x double>` compute four states
at once, for the loops of `loops`.

Signatures (addresses are 64-bit integers, arrays are C-contiguous doubles):

- `kernel(runtime, argument 0, ..., out)`: one state;
- a vector function takes the same, but each element of arguments and result is a vector of four
  states; `runtime` is shared by all.

All loads come before all stores, so that the result may lie on top of an argument.
Multiplications and additions may fuse (`contract`); nothing else is left to the compiler's
taste. Long code says so in its first line and is cut into blocks, in which the compiler keeps
values in registers: it is then compiled quickly instead of well, see `machine.compile_ir`.
"""

from __future__ import annotations

from robodyn_ros.dynamics.machine import LONG
from robodyn_ros.dynamics.program import Program
from robodyn_ros.dynamics.sines import constant, sincos_ir, splat, VECTOR, WIDTH
from robodyn_ros.dynamics.trace import Symbol

# nodes from which on a program is long, and of one of its blocks
_LONG = 25_000
_BLOCK = 200

_ARITHMETIC = {'add': 'fadd contract', 'sub': 'fsub contract', 'mul': 'fmul contract',
               'div': 'fdiv'}
_COMPARED = {'min': 'olt', 'max': 'ogt'}
_INTRINSICS = {'sqrt': 'llvm.sqrt', 'abs': 'llvm.fabs'}


def kernel_ir(program: Program, pointer: str) -> str:
    """
    Return the IR of `kernel`: one state.

    Parameters
    ----------
    program : Program
        What to compute.
    pointer : str
        How this LLVM writes a pointer to double: `double*`, or `ptr` from LLVM 16 on.

    """
    return module_ir([program], function_ir('kernel', program, pointer))


def module_ir(programs: list[Program], lines: list[str]) -> str:
    """Return the text of a module that computes these programs."""
    long = any(is_long(program) for program in programs)
    return '\n'.join([LONG if long else '; short', *lines, *support_ir()])


def is_long(program: Program) -> bool:
    """Return whether compiling a program well would take seconds."""
    return len(program.graph.nodes) > _LONG and program.operation_count() > _LONG


def function_ir(name: str, program: Program, pointer: str) -> list[str]:
    """Return the IR lines of a function that computes one state (`pointer` as above)."""
    return _function(name, _Body(program, 'double', pointer), pointer)


def vector_function(name: str, program: Program, pointer: str) -> list[str]:
    """Return the IR lines of a function that computes four states (`pointer` as above)."""
    body = _Body(program, VECTOR, pointer)
    return _function(name, body, vector_pointer_type(pointer))


def _function(name: str, body: _Body, pointer: str) -> list[str]:
    numbers = range(len(body.program.sizes))
    arguments = ', '.join(f'i64 %a{k}' for k in numbers)
    lines = [f'define {"" if name == "kernel" else "internal "}void @{name}({arguments}, '
             'i64 %out) {']
    for k in numbers:
        # runtime parameters are plain numbers for all
        lines.append(f'  %p{k} = inttoptr i64 %a{k} to {pointer if k else body.pointer}')
    lines.append(f'  %pout = inttoptr i64 %out to {pointer}')
    return [*lines, *body.compute(body.load, body.store), '  ret void', '}']


def support_ir() -> list[str]:
    """Return the IR of `sincos` and the declarations that functions may use."""
    lines = ['declare double @llvm.sqrt.f64(double)', 'declare double @llvm.fabs.f64(double)',
             f'declare {VECTOR} @llvm.sqrt.v{WIDTH}f64({VECTOR})',
             f'declare {VECTOR} @llvm.fabs.v{WIDTH}f64({VECTOR})',
             'declare double @sin(double)', 'declare double @cos(double)']
    return [*lines, *sincos_ir()]


def vector_pointer_type(pointer: str) -> str:
    """Return how a pointer to a vector is written where a pointer to double is `pointer`."""
    return pointer if pointer == 'ptr' else f'{VECTOR}*'


class _Body:
    """Writes the instructions of a program for one type of value."""

    def __init__(self, program: Program, value_type: str, pointer: str):
        self.program = program
        self.type = value_type
        self.pointer = pointer
        self.last = ''
        self._names: dict[int, str] = {}
        self._count = 0

    def new(self) -> str:
        """Return a fresh name, also kept as `last`."""
        self._count += 1
        self.last = f'%t{self._count}'
        return self.last

    def operand(self, value) -> str:
        """Return how an operand is written: a name or a constant."""
        if isinstance(value, Symbol):
            return self._names[value.index]
        return constant(value) if self.type == 'double' else splat(value)

    def compute(self, load, store) -> list[str]:
        """
        Return the instructions of all nodes that are needed.

        Results are stored as soon as they are known, so that few values wait in registers; the
        inputs are the first nodes of a graph, so all loads still come before all stores.
        """
        nodes, lines = self.program.graph.nodes, []
        order = self.program.needed
        for angles in self._angles(order):
            # first the sines, together; what their angles need is mostly loads and couplings
            before = self._ancestors(angles)
            for index in order:
                if index in before and index not in self._names:
                    lines += self._instruction(index, load)
            lines += self._sines(angles)
        rest = [index for index in order if index not in self._names]
        for index in rest:
            if nodes[index][0] == 'input':
                lines += self._instruction(index, load)
        waiting: dict[int | None, list[int]] = {}
        for position, output in enumerate(self.program.outputs):
            known = not isinstance(output, Symbol) or output.index in self._names
            waiting.setdefault(None if known else output.index, []).append(position)
        for position in waiting.get(None, ()):
            lines += store(position)
        block = _BLOCK if is_long(self.program) else len(rest) + 1
        for count, index in enumerate(rest, 1):
            if count % block == 0:
                lines += [f'  br label %block{count}', f'block{count}:']
            if nodes[index][0] != 'input':
                lines += self._instruction(index, load)
                for position in waiting.get(index, ()):
                    lines += store(position)
        return lines

    def _angles(self, order: list[int]) -> list[list[int]]:
        """Return the angles whose sines are needed, those that need other sines after these."""
        nodes, depth = self.program.graph.nodes, {}
        groups: dict[int, dict[int, None]] = {}
        for index in order:
            operation, *operands = nodes[index]
            depth[index] = max((depth[each.index] for each in operands
                                if isinstance(each, Symbol)), default=0)
            if operation in ('sin', 'cos'):
                groups.setdefault(depth[index], {})[operands[0].index] = None
                depth[index] += 1
        return [list(groups[level]) for level in sorted(groups)]

    def _ancestors(self, indices) -> set[int]:
        nodes, found, stack = self.program.graph.nodes, set(), list(indices)
        while stack:
            index = stack.pop()
            if index not in found:
                found.add(index)
                stack += [each.index for each in nodes[index][1:] if isinstance(each, Symbol)]
        return found

    def _instruction(self, index: int, load) -> list[str]:
        operation, *operands = self.program.graph.nodes[index]
        if operation == 'input':
            lines = load(*operands)
            self._names[index] = self.last
            return lines
        values = [self.operand(each) for each in operands]
        lines = []
        if operation in _ARITHMETIC:
            text = f'{_ARITHMETIC[operation]} {self.type} {values[0]}, {values[1]}'
        elif operation == 'neg':
            text = f'fneg {self.type} {values[0]}'
        elif operation in _INTRINSICS:
            suffix = 'f64' if self.type == 'double' else f'v{WIDTH}f64'
            text = f'call {self.type} @{_INTRINSICS[operation]}.{suffix}({self.type} {values[0]})'
        else:
            lines, text = self._choice(operation, values)
        self._names[index] = self.new()
        return [*lines, f'  {self.last} = {text}']

    def _choice(self, operation: str, values: list[str]) -> tuple[list[str], str]:
        mask = 'i1' if self.type == 'double' else f'<{WIDTH} x i1>'
        if operation == 'select':
            zero = constant(0.0) if self.type == 'double' else splat(0.0)
            relation, left, right, chosen = 'ogt', values[0], zero, values[1:]
        else:
            relation, left, right, chosen = _COMPARED[operation], *values, values
        test = self.new()
        return ([f'  {test} = fcmp {relation} {self.type} {left}, {right}'],
                f'select {mask} {test}, {self.type} {chosen[0]}, {self.type} {chosen[1]}')

    def _sines(self, angles: list[int]) -> list[str]:
        if self.type != 'double':
            return [line for angle in angles for line in self._sine_call(
                self._names[angle], [(angle, None)])]
        lines = []
        for start in range(0, len(angles), WIDTH):
            group = angles[start:start + WIDTH]
            packed = 'zeroinitializer'
            for lane, angle in enumerate(group):
                lines.append(f'  {self.new()} = insertelement {VECTOR} {packed}, '
                             f'double {self._names[angle]}, i32 {lane}')
                packed = self.last
            lines += self._sine_call(packed, [(a, lane) for lane, a in enumerate(group)])
        return lines

    def _sine_call(self, packed: str, targets) -> list[str]:
        pair = self.new()
        lines = [f'  {pair} = call {{{VECTOR}, {VECTOR}}} @sincos({VECTOR} {packed})']
        for number, operation in enumerate(('sin', 'cos')):
            vector = self.new()
            lines.append(f'  {vector} = extractvalue {{{VECTOR}, {VECTOR}}} {pair}, {number}')
            for angle, lane in targets:
                index = self._node_of(operation, angle)
                if index is None:
                    continue
                self._names[index] = vector
                if lane is not None:
                    self._names[index] = self.new()
                    lines.append(f'  {self.last} = extractelement {VECTOR} {vector}, i32 {lane}')
        return lines

    def _node_of(self, operation: str, angle: int) -> int | None:
        symbol = self.program.graph.known(operation, angle)
        return None if symbol is None else symbol.index

    def load(self, argument: int, position: int) -> list[str]:
        """Return the instructions that load one element of an argument."""
        lines, source = self._address(f'p{argument}', position, argument > 0)
        kind, pointer = self._kind(argument > 0)
        lines.append(f'  {self.new()} = load {kind}, {pointer} {source}')
        if kind == self.type:
            return lines
        value, packed = self.last, 'undef'
        for lane in range(WIDTH):
            lines.append(f'  {self.new()} = insertelement {VECTOR} {packed}, double {value}, '
                         f'i32 {lane}')
            packed = self.last
        return lines

    def store(self, position: int) -> list[str]:
        """Return the instructions that store one result."""
        value = self.operand(self.program.outputs[position])
        lines, target = self._address('pout', position, True)
        kind, pointer = self._kind(True)
        return [*lines, f'  store {kind} {value}, {pointer} {target}']

    def _kind(self, own: bool) -> tuple[str, str]:
        """Return the types of an element and of a pointer to it."""
        if self.type == 'double' or not own:
            return 'double', self.pointer
        return VECTOR, vector_pointer_type(self.pointer)

    def _address(self, base: str, offset: int, own: bool) -> tuple[list[str], str]:
        kind, pointer = self._kind(own)
        name = self.new()
        return [f'  {name} = getelementptr {kind}, {pointer} %{base}, i64 {offset}'], name
