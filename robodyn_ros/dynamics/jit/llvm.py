"""
LLVM IR of the operations of a program (see `lower`): a table, and a printer for what is no entry.

Signatures (addresses are 64-bit integers, arrays are C-contiguous doubles):

- `kernel(argument 0, ..., out 0, ...)`: one state. A table takes two parameters: its address, and
  its number of rows;
- a vector function has the same parameters, but each element of arguments and results is a vector
  of four states; argument 0, the runtime parameters, and tables are common to all.

If results may overlap arguments, all loads come before all stores. Multiplications and additions
may be fused (`contract`); other floating-point transformations are not permitted. A long program
is cut into blocks, within which the compiler keeps values in registers; it is compiled with little
optimisation, see `machine.compile_ir`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
import math
from typing import Any, NamedTuple

from robodyn_ros.dynamics.jit.lanes import LaneLowering
from robodyn_ros.dynamics.jit.lists import WIDEST, width_of
from robodyn_ros.dynamics.jit.llvm_support import support_ir
from robodyn_ros.dynamics.jit.lower import is_mask, Lowering, Operation, stride_of, Value
from robodyn_ros.dynamics.jit.machine import Ir
from robodyn_ros.dynamics.jit.program import Program, Table
from robodyn_ros.dynamics.jit.sines import constant, VECTOR

_NAN = constant(math.nan)
_PAIR = f'{{{{{VECTOR}, {VECTOR}}}}}'  # in a template
# instructions of an operation, the last of which is its value; {last}: the one before
INSTRUCTIONS = {
    'add': ['fadd contract {value} {0}, {1}'], 'sub': ['fsub contract {value} {0}, {1}'],
    'mul': ['fmul contract {value} {0}, {1}'], 'div': ['fdiv {value} {0}, {1}'],
    'neg': ['fneg {value} {0}'],
    'sqrt': ['call {value} @llvm.sqrt.{suffix}({value} {0})'],
    'abs': ['call {value} @llvm.fabs.{suffix}({value} {0})'],
    'nearest': ['call {value} @llvm.rint.{suffix}({value} {0})'],
    'floor': ['call {value} @llvm.floor.{suffix}({value} {0})'],
    'min': ['fcmp olt {value} {0}, {1}',
            'select {mask} {last}, {value} {0}, {value} {1}'],
    'max': ['fcmp ogt {value} {0}, {1}',
            'select {mask} {last}, {value} {0}, {value} {1}'],
    'select': ['select {mask} {0}, {value} {1}, {value} {2}'],
    'above': ['fcmp ogt {value} {0}, {1}'], 'at_least': ['fcmp oge {value} {0}, {1}'],
    'equal': ['fcmp oeq {value} {0}, {1}'],
    'both': ['and {mask} {0}, {1}'], 'either': ['or {mask} {0}, {1}'],
    'no': ['xor {mask} {0}, {true}'], 'flag': ['uitofp {mask} {0} to {value}'],
    'any': ['bitcast {mask} {0} to i{width}', 'icmp ne i{width} {last}, 0'],
    'sincos': [f'call {_PAIR} @sincos({{value}} {{0}})'],
    'sin': [f'extractvalue {_PAIR} {{0}}, 0'], 'cos': [f'extractvalue {_PAIR} {{0}}, 1'],
}
# methods that print other operations than their name says
_METHODS = {**dict.fromkeys(('input', 'result', 'element'), 'load'),
            **dict.fromkeys(('merged', 'variable'), 'part')}


class Kind(NamedTuple):
    """
    Type of a value: a number, or a vector of several.

    Attributes
    ----------
    width : int
        Number of elements.
    value, mask : str
        LLVM types of the value, and of the result of a comparison.
    suffix : str
        Suffix of the names of intrinsic functions.
    true : str
        Constant for a condition that holds.

    """

    width: int
    value: str
    mask: str
    suffix: str
    true: str


@lru_cache(maxsize=None)
def kind_of(count: int) -> Kind:
    """Return the kind of vectors with room for this many numbers; 1: numbers."""
    width = width_of(count)
    return Kind(1, 'double', 'i1', 'f64', '1') if count == 1 else Kind(
        width, f'<{width} x double>', f'<{width} x i1>', f'v{width}f64',
        f'<{", ".join(["i1 1"] * width)}>')


def _templates(name: str, count: int) -> list[str]:
    """Return the instructions of an operation on vectors of this length."""
    return _filled(tuple(INSTRUCTIONS[name]), count)


@lru_cache(maxsize=None)
def _filled(instructions: tuple[str, ...], count: int) -> list[str]:
    filled = list(instructions)
    for field, text in kind_of(count)._asdict().items():
        filled = [each.replace(f'{{{field}}}', f'{text}') for each in filled]
    return filled


# --- modules and functions ------------------------------------------------------------------

def kernel_ir(program: Program) -> Ir:
    """Return the IR of `kernel`: one state."""
    return module_ir([program], function_ir('kernel', program))


def module_ir(programs: Sequence[Program], lines: list[str]) -> Ir:
    """Return a module of these functions, with the functions that they call."""
    text = '\n'.join(lines)
    text = '\n'.join([text, *support_ir(text)])
    widths = {kind.columns for program in programs for kind in program.arguments
              if isinstance(kind, Table)}
    nans = [f'@nan_row{width} = internal constant [{width} x double] '
            f'[{", ".join([f"double {_NAN}"] * width)}]' for width in sorted(widths)]
    return Ir('\n'.join([text, *nans, *_declarations(text)]),
              any(program.compile_fast for program in programs))


def _declarations(text: str) -> list[str]:
    """Return the declarations of the functions of the C library and of LLVM that a text calls."""
    lines = [f'declare double @{name}(double)' for name in ('sin', 'cos') if f'@{name}(' in text]
    for name in ('sqrt', 'fabs', 'rint', 'floor'):
        for kind in map(kind_of, (1, 2, 4, 8)):
            if f'@llvm.{name}.{kind.suffix}(' in text:
                lines.append(f'declare {kind.value} @llvm.{name}.{kind.suffix}({kind.value})')
    return lines


def function_ir(name: str, program: Program) -> list[str]:
    """Return the IR lines of a function for one state."""
    return _function(name, program, Lowering(program))


def vector_function(name: str, program: Program) -> list[str]:
    """Return the IR lines of a function for four states."""
    return _function(name, program, LaneLowering(program))


def _function(name: str, program: Program, lowering: Lowering) -> list[str]:
    given, pointers = [], []
    for each, size in program.parameters().items():
        if size is None or program.in_place or name != 'kernel':
            given.append(f'i64 %{each}')
            pointers.append(f'  %p{each} = inttoptr i64 %{each} to ptr')
        else:
            # no overlap: loads need not wait for stores, and LLVM is twice as fast
            given.append(f'ptr noalias %p{each}')
    printer = Printer(program, lowering.run())
    return [f'define {"" if name == "kernel" else "internal "}void @{name}({", ".join(given)}) {{',
            'start:', *pointers, *printer.reserved, *printer.lines, '  ret void', '}']


class Printer:
    """
    Prints the operations of a function.

    Attributes
    ----------
    lines, reserved : list of str
        Instructions; allocations on the stack, which come before them.

    """

    def __init__(self, program: Program, operations: Sequence[Operation]):
        self._program, self._operations = program, operations
        self.lines: list[str] = []
        self.reserved: list[str] = []
        self._names: list[str] = []
        self._label = 'start'
        self._count = 0
        self._open: list[_Open] = []
        self._merged: dict[int, list[str]] = {}
        for place, operation in enumerate(operations):
            self._names.append('')
            self._names[place] = self._instructions(operation) if (
                operation.name in INSTRUCTIONS) else (
                    getattr(self, f'_{_METHODS.get(operation.name, operation.name)}')(
                        place, operation) or '')

    def _instructions(self, operation: Operation) -> str:
        last = ''
        given = [self.text(each, operation.length) for each in operation.operands]
        for each in _templates(operation.name, operation.length):
            last = self._write(each.format(*given, last=last))
        return last

    def text(self, value: Value, count: int = 1) -> str:
        """Return the text of a value: a name or a constant, for all lanes of a vector."""
        if value.__class__ is int:
            return self._names[value]
        if value.__class__ is tuple:
            numbers = [*value, *[None] * (width_of(len(value)) - len(value))]
            return f'<{", ".join(_element(x) for x in numbers)}>'
        text = constant(value)
        return text if count == 1 else f'<{", ".join([f"double {text}"] * width_of(count))}>'

    def _write(self, text: str) -> str:
        """Write an instruction with a result; return its name."""
        self._count += 1
        name = f'%t{self._count}'
        self.lines.append(f'  {name} = {text}')
        return name

    def _begin(self, label: str) -> None:
        self.lines.append(f'{label}:')
        self._label = label

    def _labels(self, *names: str) -> list[str]:
        self._count += 1
        return [f'{name}{self._count}' for name in names]

    def _type(self, value: Value, count: int) -> str:
        kind = kind_of(count)
        return kind.mask if is_mask(self._operations, value) else kind.value

    # --- vectors ----------------------------------------------------------------------------

    def _gather(self, _place: int, operation: Operation) -> str:
        base, *values = operation.operands
        name = self.text(base)
        single, several = (self._type(values[0], count) for count in (1, operation.length))
        if single == 'i1' and base.__class__ is tuple:
            name = 'undef'
        for lane, value in zip(operation.data, values):
            name = self._write(f'insertelement {several} {name}, {single} {self.text(value)}, '
                               f'i32 {lane}')
        return name

    def _spread(self, _place: int, operation: Operation) -> str:
        value, = operation.operands
        single, several = (self._type(value, count) for count in (1, operation.length))
        first = self._write(f'insertelement {several} undef, {single} {self.text(value)}, i32 0')
        return self._write(f'shufflevector {several} {first}, {several} undef, '
                           f'<{width_of(operation.length)} x i32> zeroinitializer')

    def _take(self, _place: int, operation: Operation) -> str:
        vector, = operation.operands
        count = self._operations[vector].length
        return self._write(f'extractelement {self._type(vector, count)} {self.text(vector)}, '
                           f'i32 {operation.data[0]}')

    def _reduce(self, _place: int, operation: Operation) -> str:
        (vector,), (name, width, lanes) = operation.operands, operation.data
        bits, mask = f'i{width}', sum(1 << lane for lane in lanes)
        mask = mask - (1 << width) if mask >> (width - 1) else mask
        value = self._write(f'bitcast <{width} x i1> {self.text(vector)} to {bits}')
        value = self._write(f'and {bits} {value}, {mask}')
        return self._write(f'icmp eq {bits} {value}, {mask}' if name == 'both' else
                           f'icmp ne {bits} {value}, 0')

    def _shuffled(self, vector: str, count: int, lanes: Sequence[int]) -> str:
        """Return a vector of these elements of a vector."""
        kind = kind_of(count)
        if list(lanes) == list(range(kind.width)):
            return vector
        return self._write(f'shufflevector {kind.value} {vector}, {kind.value} undef, '
                           f'<{len(lanes)} x i32> <{", ".join(f"i32 {each}" for each in lanes)}>')

    # --- memory -----------------------------------------------------------------------------

    def _at(self, base: str, position: int, kind: str = 'double') -> str:
        """Write the address of an element of an array."""
        return f'ptr {self._write(f"getelementptr {kind}, ptr {base}, i64 {position}")}'

    def _load(self, _place: int, operation: Operation) -> str:
        if operation.name == 'input':
            argument, position, room = operation.data
            base = f'%pa{argument}'
        else:
            position, room = operation.data
            base = self.text(operation.operands[0])
        count, kind = operation.length, kind_of(operation.length)
        if not room:  # elements are vectors
            return self._write(f'load {kind.value}, {self._at(base, position, kind.value)}')
        if count == 1:
            return self._write(f'load double, {self._at(base, position)}')
        begin = min(position, room - kind.width)
        if begin < 0:  # too short for a vector
            name = 'undef'
            for lane in range(count):
                value = self._write(f'load double, {self._at(base, position + lane)}')
                name = self._write(f'insertelement {kind.value} {name}, double {value}, '
                                   f'i32 {lane}')
            return name
        name = self._write(f'load {kind.value}, {self._at(base, begin)}, align 8')
        return self._shuffled(name, count, [min(position - begin + k, kind.width - 1)
                                            for k in range(kind.width)])

    def _store(self, _place: int, operation: Operation) -> None:
        (value,), (number, position, whole) = operation.operands, operation.data
        base, count = f'%pout{number}', operation.length
        kind, text, end = kind_of(count).value, self.text(value, count), ''
        if count > 1 and not whole:
            kind, text, end = f'<{count} x double>', self._shuffled(
                text, count, range(count)), ', align 8'
        self.lines.append(f'  store {kind} {text}, '
                          f'{self._at(base, position, kind if whole else "double")}{end}')

    def _array(self, _place: int, operation: Operation) -> str:
        name = self._reserve(operation.length)
        # in this order: what is behind a short list is overwritten by the next values
        for value, (begin, count) in zip(operation.operands, operation.data):
            kind = kind_of(count).value
            self.lines.append(f'  store {kind} {self.text(value, count)}, '
                              f'{self._at(name, begin)}, align 8')
        return name

    def _reserve(self, count: int) -> str:
        """Reserve stack memory for numbers, plus one vector; return its address."""
        self._count += 1
        self.reserved.append(f'  %t{self._count} = alloca double, i64 {count + WIDEST}, align 64')
        return f'%t{self._count}'

    def _address(self, _place: int, operation: Operation) -> str:
        argument, position = operation.data
        base = self.text(operation.operands[0]) if operation.operands else f'%pa{argument}'
        return self._at(base, position).removeprefix('ptr ')

    # --- calls and tables -------------------------------------------------------------------

    def _call(self, _place: int, operation: Operation) -> str:
        """Write the call of a row of a table; without such a row the result is NaN."""
        argument, = operation.data
        row, *given = map(self.text, operation.operands)
        out = self._reserve(operation.length)
        known, none, done = self._labels('known', 'none', 'called')
        function = self._write(f'call ptr @function_at(ptr %pa{argument}, i64 %n{argument}, '
                               f'double {row})')
        empty = self._write(f'icmp eq ptr {function}, null')
        self.lines.append(f'  br i1 {empty}, label %{none}, label %{known}')
        self._begin(known)
        self.lines += [f'  call void {function}({", ".join(f"ptr {x}" for x in (*given, out))})',
                       f'  br label %{done}']
        self._begin(none)
        self.lines += [f'  call void @fill_nan(ptr {out}, i64 {operation.length})',
                       f'  br label %{done}']
        self._begin(done)
        return out

    def _inverse(self, _place: int, operation: Operation) -> str:
        array, (size,) = self.text(operation.operands[0]), operation.data
        self.lines.append(f'  call void @invert(ptr {array}, i64 {size}, i64 {stride_of(size)})')
        return array

    def _row(self, _place: int, operation: Operation) -> str:
        argument, = operation.data
        kind: Any = self._program.arguments[argument]
        return self._write(f'call ptr @row_at(ptr %pa{argument}, i64 %n{argument}, '
                           f'i64 {kind.columns}, double {self.text(operation.operands[0])}, '
                           f'ptr @nan_row{kind.columns})')

    def _search(self, _place: int, operation: Operation) -> str:
        argument, column = operation.data
        kind: Any = self._program.arguments[argument]
        keys = self._at(f'%pa{argument}', column)
        given = ', '.join(f'double {self.text(each)}' for each in operation.operands)
        return self._write(f'call double @search({keys}, i64 %n{argument}, i64 {kind.columns}, '
                           f'{given})')

    # --- choices and loops ------------------------------------------------------------------

    def _selector(self, _place: int, operation: Operation) -> str:
        number, (last,) = self.text(operation.operands[0]), operation.data
        least = self._write(f'fcmp oge double {number}, {constant(0.0)}')
        known = self._write(f'and i1 {least}, '
                            f'{self._write(f"fcmp olt double {number}, {constant(last)}")}')
        case = self._write(f'fptosi double {number} to i32')
        return self._write(f'select i1 {known}, i32 {case}, i32 {last}')

    def _choice(self, place: int, operation: Operation) -> None:
        selector, (cases, counts) = self.text(operation.operands[0]), operation.data
        *labels, join = self._labels(*(f'case{k}of' for k in range(cases)), 'join')
        if cases == 2:
            self.lines.append(f'  br i1 {selector}, label %{labels[0]}, label %{labels[1]}')
        else:
            targets = ' '.join(f'i32 {k}, label %{labels[k]}' for k in range(cases - 1))
            self.lines.append(f'  switch i32 {selector}, label %{labels[-1]} [{targets}]')
        self._open.append(_Open(place, counts, labels, join, []))

    def _case(self, _place: int, operation: Operation) -> None:
        self._begin(self._open[-1].labels[operation.data[0]])

    def _yield(self, _place: int, operation: Operation) -> None:
        top = self._open[-1]
        values = [self.text(each, count) for each, count in zip(operation.operands, top.counts)]
        if self._operations[top.place].name == 'loop':
            values.append(self._write(f'fadd double {self._merged[top.place][-1]}, '
                                      f'{constant(1.0)}'))
        top.incoming.append((values, self._label))
        self.lines.append(f'  br label %{top.join}')

    def _end(self, _place: int, operation: Operation) -> None:
        top = self._open.pop()
        if self._operations[top.place].name == 'loop':
            line, names = top.labels
            self.lines[line:line + len(names)] = self._phis(top, names)
            self._begin(top.after)
            return
        self._begin(top.join)
        names = [f'%t{self._count + 1 + k}' for k in range(len(top.counts))]
        self._count += len(names)
        self.lines += self._phis(top, names)
        self._merged[top.place] = names

    @staticmethod
    def _phis(top: _Open, names: Sequence[str]) -> list[str]:
        return [f'  {name} = phi {kind_of(count).value} ' + ', '.join(
            f'[ {values[k]}, %{label} ]' for values, label in top.incoming)
            for k, (name, count) in enumerate(zip(names, (*top.counts, 1)))]

    def _part(self, _place: int, operation: Operation) -> str:
        return self._merged[operation.operands[0]][operation.data[0]]

    def _loop(self, place: int, operation: Operation) -> None:
        count, *first = operation.operands
        limit, counts = operation.data
        # with this order of operands a count that is NaN stays NaN, for no iteration
        fewer = self._write(f'fcmp olt double {constant(limit)}, {self.text(count)}')
        bound = self._write(f'select i1 {fewer}, double {constant(limit)}, '
                            f'double {self.text(count)}')
        head, inside, done = self._labels('head', 'body', 'done')
        names = [f'%t{self._count + 1 + k}' for k in range(len(counts) + 1)]
        self._count += len(names)
        values = [self.text(each, size) for each, size in zip(first, counts)]
        incoming = [([*values, constant(0.0)], self._label)]
        self.lines.append(f'  br label %{head}')
        self._begin(head)
        line = len(self.lines)
        self.lines += [''] * len(names)
        again = self._write(f'fcmp olt double {names[-1]}, {bound}')
        self.lines.append(f'  br i1 {again}, label %{inside}, label %{done}')
        self._begin(inside)
        self._merged[place] = names
        self._open.append(_Open(place, counts, (line, names), head, incoming, done))

    def _counter(self, _place: int, operation: Operation) -> str:
        return self._merged[operation.operands[0]][-1]

    def _block(self, _place: int, _operation: Operation) -> None:
        label, = self._labels('block')
        self.lines.append(f'  br label %{label}')
        self._begin(label)


class _Open(NamedTuple):
    """
    A choice or a loop whose end is not printed yet.

    Attributes
    ----------
    place : int
        Place of its operation.
    counts : tuple of int
        Lengths of its results.
    labels : tuple
        Of the cases of a choice; line and names of the first instructions of a loop.
    join : str
        Label where the values come together.
    incoming : list of (list of str, str)
        Values that come, and the labels of where they come from.
    after : str
        Label behind a loop.

    """

    place: int
    counts: tuple[int, ...]
    labels: Any
    join: str
    incoming: list
    after: str = ''


def _element(x: float | None) -> str:
    return f'double {constant(0.0 if x is None else x)}'
