"""
From a traced program to LLVM IR.

The program has no loops and no branches, so its IR is one basic block: every node becomes one
instruction on the type `double`. The same nodes on the type `<4 x double>` are the batch
kernel, which computes four states at once inside a loop over the states.

Signatures (addresses are 64-bit integers, arrays are C-contiguous doubles):

- `kernel(runtime, argument 0, ..., out)`: one state.
- `batch(count, workspace, runtime, argument 0, ..., out)`: `count` states, one row per state in
  every argument and in `out`; `runtime` is shared by all. The workspace, aligned to a vector,
  holds a vector for every element of arguments and result.

All loads come before all stores, so that in `kernel` the result may lie on top of an argument.
Multiplications and additions may fuse (`contract`); nothing else is left to the compiler's
taste. Sine and cosine are code of this module: Cody and Waite's three-part reduction
with fdlibm's polynomials, four angles at a time, for |x| < 1e6; the C library takes over
beyond, so every finite angle is accurate.
"""

from __future__ import annotations

import struct

from robodyn_ros.dynamics.program import Program
from robodyn_ros.dynamics.trace import Symbol
from robodyn_ros.exceptions import KernelError

WIDTH = 4
VECTOR = f'<{WIDTH} x double>'

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
    body = _Body(program, 'double', pointer)
    names = ', '.join(f'i64 %a{k}' for k in range(len(program.sizes)))
    lines = [f'define void @kernel({names}, i64 %out) {{']
    for k in range(len(program.sizes)):
        lines.append(f'  %p{k} = inttoptr i64 %a{k} to {pointer}')
    lines.append(f'  %pout = inttoptr i64 %out to {pointer}')
    lines += body.compute(body.load_scalar, body.store_scalar)
    return '\n'.join([*lines, '  ret void', '}', *_support()])


def batch_ir(program: Program, pointer: str) -> str:
    """
    Return the IR of `batch`: states four at a time (`pointer` as in `kernel_ir`).

    Four rows of every argument are turned into vectors in the workspace, and the results back
    into rows, by small loops; the straight-line part in between only sees vectors.
    """
    body = _Body(program, VECTOR, pointer)
    count = len(program.sizes)
    buffers = {f'{k}': size for k, size in enumerate(program.sizes) if k}
    buffers['out'] = len(program.outputs)
    names = ', '.join(f'i64 %a{k}' for k in range(count))
    lines = [f'define void @batch(i64 %count, i64 %workspace, {names}, i64 %out) {{', 'entry:',
             f'  %pout = inttoptr i64 %out to {pointer}']
    lines += [f'  %p{k} = inttoptr i64 %a{k} to {pointer}' for k in range(count)]
    offset = 0
    for name, size in buffers.items():
        lines += [f'  %where{name} = add i64 %workspace, {offset}',
                  f'  %buffer{name} = inttoptr i64 %where{name} to {vector_pointer_type(pointer)}']
        offset += 8 * WIDTH * size
    lines += ['  %final = sub i64 %count, 1', '  br label %head', 'head:',
              '  %row = phi i64 [ 0, %entry ], [ %next, %tail ]']
    for lane in range(WIDTH):
        # lanes beyond the last state repeat it: same result, stored twice
        lines += [f'  %u{lane} = add i64 %row, {lane}',
                  f'  %c{lane} = icmp slt i64 %u{lane}, %final',
                  f'  %row{lane} = select i1 %c{lane}, i64 %u{lane}, i64 %final']
    previous = 'head'
    for name, size in buffers.items():
        if name != 'out' and size:
            lines += _turn(name, size, pointer, previous, f'p{name}', gather=True)
            previous = f'turned{name}'
    lines += body.compute(body.load_vector, body.store_vector)
    lines += _turn('out', buffers['out'], pointer, previous, 'pout', gather=False)
    lines += ['  br label %tail', 'tail:', f'  %next = add i64 %row, {WIDTH}',
              '  %more = icmp slt i64 %next, %count',
              '  br i1 %more, label %head, label %done', 'done:', '  ret void', '}']
    return '\n'.join([*lines, *_support()])


def _turn(name: str, size: int, pointer: str, previous: str, array: str,
          gather: bool) -> list[str]:
    """Return the loop between four rows of an array and a buffer of vectors."""
    j, loop = f'%j{name}', f'turn{name}'
    vector_pointer = vector_pointer_type(pointer)
    lines = [f'  br label %{loop}', f'{loop}:',
             f'  {j} = phi i64 [ 0, %{previous} ], [ {j}n, %{loop} ]',
             f'  %at{name} = getelementptr {VECTOR}, {vector_pointer} %buffer{name}, i64 {j}']
    packed = 'undef'
    if not gather:
        lines.append(f'  %vec{name} = load {VECTOR}, {vector_pointer} %at{name}')
    for lane in range(WIDTH):
        item = f'%x{name}l{lane}'
        lines += [f'  {item}b = mul i64 %row{lane}, {size}', f'  {item}o = add i64 {item}b, {j}',
                  f'  {item}p = getelementptr double, {pointer} %{array}, i64 {item}o']
        if gather:
            lines += [f'  {item} = load double, {pointer} {item}p',
                      f'  {item}v = insertelement {VECTOR} {packed}, double {item}, i32 {lane}']
            packed = f'{item}v'
        else:
            lines += [f'  {item} = extractelement {VECTOR} %vec{name}, i32 {lane}',
                      f'  store double {item}, {pointer} {item}p']
    if gather:
        lines.append(f'  store {VECTOR} {packed}, {vector_pointer} %at{name}')
    return [*lines, f'  {j}n = add i64 {j}, 1', f'  {j}m = icmp slt i64 {j}n, {size}',
            f'  br i1 {j}m, label %{loop}, label %turned{name}', f'turned{name}:']


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
        order = self.program.needed()
        angles = list(dict.fromkeys(
            nodes[index][1].index for index in order if nodes[index][0] in ('sin', 'cos')))
        # the sines first, together: what their angles need is loads and mimic couplings
        first = self._ancestors(angles)
        for index in order:
            if index in first:
                lines += self._instruction(index, load)
        lines += self._sines(angles)
        rest = [index for index in order if index not in first]
        inputs = [index for index in rest if nodes[index][0] == 'input']
        for index in inputs:
            lines += self._instruction(index, load)
        waiting: dict[int | None, list[int]] = {}
        for position, output in enumerate(self.program.outputs):
            known = not isinstance(output, Symbol) or output.index in self._names
            waiting.setdefault(None if known else output.index, []).append(position)
        for position in waiting.get(None, ()):
            lines += store(position)
        for index in rest:
            if nodes[index][0] not in ('input', 'sin', 'cos'):
                lines += self._instruction(index, load)
                for position in waiting.get(index, ()):
                    lines += store(position)
        return lines

    def _ancestors(self, indices) -> set[int]:
        nodes, found, stack = self.program.graph.nodes, set(), list(indices)
        while stack:
            index = stack.pop()
            if index not in found:
                found.add(index)
                if nodes[index][0] in ('sin', 'cos'):
                    raise KernelError('the sine of a sine is not supported in a kernel')
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

    def address(self, base: str, offset) -> list[str]:
        """Return the instruction that points `last` at element `offset` of an array."""
        name = self.new()
        return [f'  {name} = getelementptr double, {self.pointer} %{base}, i64 {offset}']

    def load_scalar(self, argument: int, position: int) -> list[str]:
        """Return the instructions that load one element of an argument."""
        lines = self.address(f'p{argument}', position)
        source = self.last
        return [*lines, f'  {self.new()} = load double, {self.pointer} {source}']

    def store_scalar(self, position: int) -> list[str]:
        """Return the instructions that store one result."""
        value = self.operand(self.program.outputs[position])
        return [*self.address('pout', position),
                f'  store double {value}, {self.pointer} {self.last}']

    def store_vector(self, position: int) -> list[str]:
        """Return the instructions that store one result of four states."""
        value, kind = self.operand(self.program.outputs[position]), vector_pointer_type(
            self.pointer)
        at = self.new()
        return [f'  {at} = getelementptr {VECTOR}, {kind} %bufferout, i64 {position}',
                f'  store {VECTOR} {value}, {kind} {at}']

    def load_vector(self, argument: int, position: int) -> list[str]:
        """Return the instructions that load one element of four states."""
        if argument:
            at, kind = self.new(), vector_pointer_type(self.pointer)
            return [f'  {at} = getelementptr {VECTOR}, {kind} %buffer{argument}, i64 {position}',
                    f'  {self.new()} = load {VECTOR}, {kind} {at}']
        # the runtime parameters are shared by all states
        lines, packed = self.load_scalar(0, position), 'undef'
        value = self.last
        for lane in range(WIDTH):
            lines.append(f'  {self.new()} = insertelement {VECTOR} {packed}, double {value}, '
                         f'i32 {lane}')
            packed = self.last
        return lines


def constant(value: float) -> str:
    """Return a double constant, exact to the bit."""
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def splat(value: float) -> str:
    """Return a vector constant with all lanes equal."""
    return f'<{", ".join(f"double {constant(value)}" for _ in range(WIDTH))}>'


# sin(r) = r + r^3 (S1 + r^2 (S2 + ...)), cos(r) = 1 - r^2/2 + r^4 (C1 + ...) on [-pi/4, pi/4],
# coefficients of fdlibm's k_sin.c and k_cos.c
_SINE = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
         -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)
_COSINE = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
           2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)
# pi/2 in three parts of 33 bits: k times a part is exact for |k| < 2^20
_HALF_PI = (1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_ROUND = 1.5 * 2.0 ** 52  # adding it rounds to an integer and leaves that in the low bits
_LARGEST = 1.0e6


def _support() -> list[str]:
    """Return the IR of `sincos` and the declarations that bodies may use."""
    lines = ['declare double @llvm.sqrt.f64(double)', 'declare double @llvm.fabs.f64(double)',
             f'declare {VECTOR} @llvm.sqrt.v{WIDTH}f64({VECTOR})',
             f'declare {VECTOR} @llvm.fabs.v{WIDTH}f64({VECTOR})',
             'declare double @sin(double)', 'declare double @cos(double)']
    return [*lines, *_sincos_ir()]


def _sincos_ir() -> list[str]:
    v, integers = VECTOR, f'<{WIDTH} x i64>'
    mask = f'<{WIDTH} x i1>'
    pair = f'{{{v}, {v}}}'

    def whole(value):
        return f'<{", ".join(f"i64 {value}" for _ in range(WIDTH))}>'

    def polynomial(name, coefficients):
        lines = [f'  %{name}0 = fmul contract {v} %z, {splat(coefficients[0])}']
        for k, coefficient in enumerate(coefficients[1:]):
            lines.append(f'  %{name}{2 * k + 1} = fadd contract {v} %{name}{2 * k}, '
                         f'{splat(coefficient)}')
            if k < len(coefficients) - 2:
                lines.append(f'  %{name}{2 * k + 2} = fmul contract {v} %{name}{2 * k + 1}, %z')
        return lines, f'%{name}{2 * len(coefficients) - 3}'

    sine, sine_name = polynomial('s', _SINE)
    cosine, cosine_name = polynomial('c', _COSINE)
    lines = [
        f'define internal {pair} @sincos({v} %x) noinline {{', 'start:',
        f'  %size = call {v} @llvm.fabs.v{WIDTH}f64({v} %x)',
        f'  %small = fcmp olt {v} %size, {splat(_LARGEST)}',
        f'  %bits = bitcast {mask} %small to i{WIDTH}',
        f'  %all = icmp eq i{WIDTH} %bits, -1',
        '  br i1 %all, label %fast, label %library', 'fast:',
        # nearest multiple of pi/2, and what is left
        f'  %scaled = fmul {v} %x, {splat(0.63661977236758134308)}',
        f'  %rounded = fadd {v} %scaled, {splat(_ROUND)}',
        f'  %k = fsub {v} %rounded, {splat(_ROUND)}',
        f'  %k1 = fmul contract {v} %k, {splat(_HALF_PI[0])}',
        f'  %r1 = fsub contract {v} %x, %k1',
        f'  %k2 = fmul contract {v} %k, {splat(_HALF_PI[1])}',
        f'  %r2 = fsub contract {v} %r1, %k2',
        f'  %k3 = fmul contract {v} %k, {splat(_HALF_PI[2])}',
        f'  %r = fsub contract {v} %r2, %k3',
        f'  %z = fmul {v} %r, %r', *sine, *cosine,
        f'  %rz = fmul {v} %r, %z',
        f'  %sc = fmul contract {v} %rz, {sine_name}',
        f'  %sine = fadd contract {v} %r, %sc',
        f'  %zz = fmul {v} %z, %z',
        f'  %cc = fmul contract {v} %zz, {cosine_name}',
        f'  %half = fmul contract {v} %z, {splat(0.5)}',
        f'  %head = fsub contract {v} {splat(1.0)}, %half',
        f'  %cosine = fadd contract {v} %head, %cc',
        # quadrant: odd ones swap, the sign follows bit 1
        f'  %q = bitcast {v} %rounded to {integers}',
        f'  %odd = and {integers} %q, {whole(1)}',
        f'  %swap = icmp ne {integers} %odd, zeroinitializer',
        f'  %s = select {mask} %swap, {v} %cosine, {v} %sine',
        f'  %c = select {mask} %swap, {v} %sine, {v} %cosine',
        f'  %sq = shl {integers} %q, {whole(62)}',
        f'  %ssign = and {integers} %sq, {whole(-2 ** 63)}',
        f'  %q1 = add {integers} %q, {whole(1)}',
        f'  %cq = shl {integers} %q1, {whole(62)}',
        f'  %csign = and {integers} %cq, {whole(-2 ** 63)}',
        f'  %sbits = bitcast {v} %s to {integers}',
        f'  %cbits = bitcast {v} %c to {integers}',
        f'  %sflip = xor {integers} %sbits, %ssign',
        f'  %cflip = xor {integers} %cbits, %csign',
        f'  %sfinal = bitcast {integers} %sflip to {v}',
        f'  %cfinal = bitcast {integers} %cflip to {v}',
        f'  %f0 = insertvalue {pair} undef, {v} %sfinal, 0',
        f'  %f1 = insertvalue {pair} %f0, {v} %cfinal, 1',
        f'  ret {pair} %f1', 'library:']
    for function in ('sin', 'cos'):
        packed = 'undef'
        for lane in range(WIDTH):
            name = f'%{function}{lane}'
            lines += [f'  {name}x = extractelement {v} %x, i32 {lane}',
                      f'  {name}y = call double @{function}(double {name}x)',
                      f'  {name} = insertelement {v} {packed}, double {name}y, i32 {lane}']
            packed = name
    last = WIDTH - 1
    return [*lines, f'  %l0 = insertvalue {pair} undef, {v} %sin{last}, 0',
            f'  %l1 = insertvalue {pair} %l0, {v} %cos{last}, 1', f'  ret {pair} %l1', '}']
