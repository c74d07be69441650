"""
A traced program as a function of C99.

The operations are those of machine code (`dynamics.jit.lower`), in the same order: a choice is an
`if` or a `switch`, a loop a bounded `for` loop, functions are called by their names. An operation
on a vector is a statement in a loop over its elements, which it shares with those before and
behind it. A value is a `const` local variable of the block in which it is needed; what is used
once is written where it is used. Arguments and results must not overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
import sys
from typing import Any, NamedTuple

from robodyn_ros.dynamics.jit.lower import is_mask, Lowering, Operation, stride_of, Value
from robodyn_ros.dynamics.jit.packs import MEMORY
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.export.places import Array, Functions, Place, Rows, Struct
from robodyn_ros.export.syntax import ARITHMETIC, Expression, expression, INDENT, number, wrapped

_LONGEST = 60  # characters of an expression that is written where it is used
# operations, and the operand that is written, or computed, several times; None: all of them
_SEVERAL = {'min': None, 'max': None, 'spread': None, 'selector': None, 'call': 0, 'loop': 0,
            'take': None, 'reduce': None, 'gather': None}
# operations that are not written before the loop whose statements are collected
_APART = ('choice', 'case', 'yield', 'end', 'loop', 'array', 'call', 'inverse', 'reduce',
          'sincos')
_METHODS = {'element': 'result', 'loop': 'loop_'}
_GLUE = '~'


class CFunction(NamedTuple):
    """
    A function of C.

    Attributes
    ----------
    name : str
        Its name.
    program : Program
        What it computes.
    inputs, outputs : tuple of Place
        Where the numbers of each argument and each result are.

    """

    name: str
    program: Program
    inputs: tuple[Place, ...]
    outputs: tuple[Array | Struct, ...]

    def head(self, end: str = '', restrict: bool = False) -> list[str]:
        """
        Return the lines of its head: a declaration, or what begins a definition.

        Parameters
        ----------
        end : str
            What ends it.
        restrict : bool
            Whether arrays are declared as not overlapping.

        """
        parameters = [*(each.declaration(True, restrict) for each in self.inputs
                        if not isinstance(each, Functions)),
                      *(each.declaration(False, restrict) for each in self.outputs)]
        # lines end between parameters
        glued = [each.replace(' ', _GLUE) for each in ', '.join(parameters).split(', ')]
        text = f'void{_GLUE}{self.name}({", ".join(glued)}){end}'
        return [line.replace(_GLUE, ' ') for line in wrapped(text)]


class _Lowering(Lowering):
    """Makes the list of a program with lists of any length."""

    widest = angles = sys.maxsize
    padded = False

    def __init__(self, function: CFunction):
        super().__init__(function.program)
        self._functions: Any = function.inputs
        # programs with sines are recursions over the bodies for the most part: there are no lists
        self.packs = None if self.program.has_sines else self.program.packs_of(sys.maxsize)

    def _call(self, index: int, argument: int, row, *inputs) -> None:
        names = self._functions[argument].names
        if isinstance(row, float) and not (0.0 <= row < len(names) and names[int(row)]):
            kind: Any = self.program.arguments[argument]  # no function: no arguments
            self.values[index] = self.emit('call', [row], (argument,), kind.outputs)
        else:
            super()._call(index, argument, row, *inputs)


class Slot(NamedTuple):
    """Element of an array: its name, and its place there; a number of its own has the place -1."""

    array: str
    place: int


class Scalar(NamedTuple):
    """A number: its expression, and where it is, if it is an element of an array."""

    expression: Expression
    slot: Slot | None = None


class Vector(NamedTuple):
    """
    Several numbers.

    Attributes
    ----------
    at : callable
        `at(i)`: the expression of an element, at an index that is a variable or a constant.
    slot : Slot or None
        Its first element, if it is a part of an array.
    within : frozenset of int
        Places of the operations that the expression computes.

    """

    at: Callable[[str], Expression]
    slot: Slot | None = None
    within: frozenset[int] = frozenset()


class _Statement(NamedTuple):
    """
    A line of a loop over vectors.

    Attributes
    ----------
    place : int
        Place of its operation.
    kind : str
        Type of its value; '' for a store.
    target : callable
        Returns what is written to, for an index.
    value : Vector
        What is written.

    """

    place: int
    kind: str
    target: Callable[[str], str]
    value: Vector


class Printer:
    """
    Prints the definition of a function.

    Parameters
    ----------
    function : CFunction
        See there.

    Attributes
    ----------
    lines : list of str
        Lines of its body.
    helpers : set of str
        Names of the functions of support.c that it calls.

    """

    def __init__(self, function: CFunction):
        self.function = function
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self._operations = _Lowering(function).run()
        self._values: list[Any] = []  # Scalar, Vector, or names, by place
        self._depth, self._count = 1, 0
        self._constants: dict[tuple, str] = {}
        self._uses, self._several, self._blocks = self._find_uses()
        self._open: list[tuple[int, list]] = []  # choices and loops, with their results
        self._loop: list[_Statement] = []
        self._length = 0                # of the vectors of the loop
        self._within: set[int] = set()  # places of what the loop computes
        self._local: set[int] = set()   # places of what only the loop needs
        for place, operation in enumerate(self._operations):
            self._values.append(None)
            name = 'arithmetic' if operation.name in ARITHMETIC else operation.name
            if name in _APART:
                self._finish_loop()
            self._values[place] = getattr(self, f'_{_METHODS.get(name, name)}')(place, operation)
        self._finish_loop()

    def definition(self) -> list[str]:
        """Return its lines."""
        constants = [line for numbers, name in self._constants.items() for line in wrapped(
            f'static const double {name}[{len(numbers)}] = '
            f'{{{", ".join(number(0.0 if x is None else x).text for x in numbers)}}};', 1)]
        return [*self.function.head(restrict=True), '{', *constants,
                *(f'{INDENT}(void){name};' for name in self._unused()), *self.lines, '}']

    def _unused(self) -> list[str]:
        """Return the names of parameters that the function does not use."""
        used = {each.data[0] for each in self._operations
                if each.name in ('input', 'address', 'row', 'search')}
        return [name for k, place in enumerate(self.function.inputs)
                if k not in used and not isinstance(place, Functions)
                for name in ([place.name, place.length] if isinstance(place, Rows)
                             else [place.name])]

    def _find_uses(self) -> tuple[dict[int, list[int]], set[int], list[int]]:
        """Return the users of each operation, those that need a name, and the blocks of all."""
        uses: dict[int, list[int]] = defaultdict(list)
        several, blocks, stack, latest = set(), [], [0], 0
        for place, (name, operands, *_) in enumerate(self._operations):
            if name == 'end':
                stack.pop()
            elif name == 'case':
                latest += 1
                stack[-1] = latest
            blocks.append(stack[-1])
            if name in ('choice', 'loop'):
                latest += 1
                stack.append(latest)
            for k, each in enumerate(operands):
                if each.__class__ is int:
                    uses[each].append(place)
                    if name in _SEVERAL and _SEVERAL[name] in (None, k):
                        several.add(each)
        return uses, several, blocks

    # --- lines ------------------------------------------------------------------------------

    def _line(self, text: str) -> None:
        self.lines += wrapped(text, self._depth)

    def _begin(self, text: str) -> None:
        self._line(f'{text} {{')
        self._depth += 1

    def _close(self, text: str = '}') -> None:
        self._depth -= 1
        self._line(text)

    def _new(self, letter: str) -> str:
        self._count += 1
        return f'{letter}{self._count}'

    def _for(self, count: int, body: Callable[[str], Sequence[str]]) -> None:
        """Write a loop; body: returns its lines for an index."""
        i = self._new('i')
        self._begin(f'for (int32_t {i} = 0; {i} < {count}; ++{i})')
        for each in body(i):
            self._line(each)
        self._close()

    def _assign(self, pairs: Sequence[tuple[Any, Any, int]]) -> None:
        """Write assignments: of a target (Scalar or Vector), what it gets, and the length."""
        for target, value, _ in pairs:
            if isinstance(target, Scalar):
                self._line(f'{target.expression.text} = {value.expression.text};')
        for count in sorted({count for target, _, count in pairs if isinstance(target, Vector)}):
            own = [pair for pair in pairs if isinstance(pair[0], Vector) and pair[2] == count]
            self._for(count, lambda i: [f'{target.at(i).text} = {value.at(i).text};'
                                        for target, value, _ in own])

    # --- values -----------------------------------------------------------------------------

    def _value(self, value: Value) -> Any:
        if value.__class__ is int:
            return self._values[value]
        if value.__class__ is tuple:
            numbers = {repr(x): x for x in value if x is not None}
            if len(numbers) < 2:
                return self._everywhere(number(next(iter(numbers.values()), 0.0)))
            name = self._constants.setdefault(value, f'k{len(self._constants)}')
            return self._array_at(Slot(name, 0))
        return Scalar(number(value))

    def _vector(self, value: Value) -> Vector:
        found = self._value(value)
        return found if isinstance(found, Vector) else self._everywhere(found.expression)

    @staticmethod
    def _everywhere(each: Expression) -> Vector:
        return Vector(lambda _: each)

    @staticmethod
    def _array_at(slot: Slot) -> Vector:
        array, begin = slot

        def at(i: str) -> Expression:
            if i.isdigit():
                return Expression(f'{array}[{int(i) + begin}]')
            return Expression(f'{array}[{i} + {begin}]' if begin else f'{array}[{i}]')

        return Vector(at, slot)

    @staticmethod
    def _element(slot: Slot) -> Scalar:
        return Scalar(Expression(slot.array if slot.place < 0 else
                                 f'{slot.array}[{slot.place}]'), slot)

    def _neighbours(self, slots: Sequence[Slot | None]) -> Slot | None:
        """Return the first of slots that are neighbours in an array; None: they are not."""
        first = slots[0] if slots else None
        if first is None or first.place < 0 or any(
                slot != (first.array, first.place + k) for k, slot in enumerate(slots)):
            return None
        return first

    def _declared(self, letter: str, count: int) -> Any:
        """Write the declaration of a variable, or of an array."""
        name = self._new(letter)
        self._line(f'double {name}{f"[{count}]" if count > 1 else ""};')
        return self._array_at(Slot(name, 0)) if count > 1 else Scalar(Expression(name))

    def _is_inline(self, place: int, text: str) -> bool:
        """Return whether the expression of an operation is written where it is used."""
        uses = self._uses[place]
        return (len(uses) == 1 and len(text) < _LONGEST and place not in self._several
                and self._blocks[uses[0]] == self._blocks[place])

    # --- arithmetic -------------------------------------------------------------------------

    def _arithmetic(self, place: int, operation: Operation) -> Scalar | Vector:
        if operation.length > 1:
            return self._in_loop(place, operation)
        given = [self._value(each) for each in operation.operands]
        made = expression(operation.name, [each.expression for each in given])
        if self._is_inline(place, made.text):
            return Scalar(made)
        return self._constant('bool' if is_mask(self._operations, place) else 'double', made.text)

    def _constant(self, kind: str, text: str) -> Scalar:
        name = self._new('b' if kind == 'bool' else 't')
        self._line(f'const {kind} {name} = {text};')
        return Scalar(Expression(name))

    def _in_loop(self, place: int, operation: Operation) -> Vector:
        """Add an operation on vectors to the loop."""
        given = [self._vector(each) for each in operation.operands]
        within = frozenset([place]).union(*(each.within for each in given))
        made = Vector(lambda i: expression(operation.name, [each.at(i) for each in given]), None,
                      within)
        user = self._operations[self._uses[place][0]]
        if self._is_inline(place, made.at('0').text) and (
                user.name in ARITHMETIC and user.length == operation.length):
            return made
        is_bool = is_mask(self._operations, place)
        name = self._new('q' if is_bool else 'p')

        def at(i: str) -> Expression:
            return Expression(name) if place in self._local else self._array_at(slot).at(i)

        slot = Slot(name, 0)
        self._state(_Statement(place, 'bool' if is_bool else 'double', lambda i: at(i).text, made),
                    operation.length)
        return Vector(at, slot)

    def _state(self, statement: _Statement, length: int) -> None:
        """Add a statement to the loop, or to a new one."""
        if length != self._length:
            self._finish_loop()
        self._length = length
        self._loop.append(statement)
        self._within |= {statement.place} | statement.value.within

    def _finish_loop(self) -> None:
        """Write the loop with the statements that are waiting for it."""
        statements, within = self._loop, self._within
        self._loop, self._within, length, self._length = [], set(), self._length, 0
        for each in statements:
            if each.kind and all(user in within for user in self._uses[each.place]):
                self._local.add(each.place)
            elif each.kind:
                self._line(f'{each.kind} {self._values[each.place].slot.array}[{length}];')
        if statements:
            self._for(length, lambda i: [
                (f'const {each.kind} ' if each.place in self._local else '')
                + f'{each.target(i)} = {each.value.at(i).text};' for each in statements])

    # --- vectors ----------------------------------------------------------------------------

    def _spread(self, _place: int, operation: Operation) -> Vector:
        return self._everywhere(self._value(operation.operands[0]).expression)

    def _take(self, _place: int, operation: Operation) -> Scalar:
        vector, = operation.operands
        if vector in self._within:
            self._finish_loop()
        array, begin = self._values[vector].slot
        return self._element(Slot(array, begin + operation.data[0]))

    def _gather(self, place: int, operation: Operation) -> Vector:
        base, *operands = operation.operands
        values = dict(zip(operation.data, map(self._value, operands)))
        if base.__class__ is int:
            self._finish_loop()
        elif len(values) == operation.length:
            first = self._neighbours([values[k].slot for k in range(len(values))])
            if first is not None:
                return self._array_at(first)
        kind = 'bool' if is_mask(self._operations, place) else 'double'
        name = self._new('i')
        array = self._array_at(Slot(name, 0))
        self._line(f'{kind} {name}[{operation.length}];')
        if base.__class__ is int:
            own = min(operation.length, self._operations[base].length)
            self._assign([(array, self._values[base], own)])
        else:
            values = {k: values.get(k) or Scalar(number(x or 0.0)) for k, x in enumerate(base)}
        self._assign([(Scalar(array.at(str(k))), value, 1) for k, value in values.items()])
        return array

    def _reduce(self, _place: int, operation: Operation) -> Scalar:
        name, _, lanes = operation.data
        vector, word = self._vector(operation.operands[0]), {'both': '&&', 'either': '||'}[name]
        first, count = lanes[0], len(lanes)
        if lanes != tuple(range(first, first + count)):
            return self._constant('bool', f' {word} '.join(
                vector.at(str(lane)).operand for lane in lanes))
        result = self._new('b')
        self._line(f'bool {result} = {"true" if name == "both" else "false"};')
        self._for(count, lambda i: [
            f'{result} = {result} {word} {vector.at(f"{i} + {first}" if first else i).operand};'])
        return Scalar(Expression(result))

    def _sincos(self, _place: int, operation: Operation) -> tuple[str, str]:
        self.helpers.add('sines')
        angles, count = self._values[operation.operands[0]], operation.length
        sine, cosine = self._new('s'), self._new('c')
        for name in (sine, cosine):
            self._line(f'double {name}[{count}];')
        self._line(f'sines({self._address_of(angles.slot)}, {sine}, {cosine}, {count});')
        return sine, cosine

    def _sin(self, _place: int, operation: Operation) -> Vector:
        return self._array_at(Slot(self._values[operation.operands[0]][0], 0))

    def _cos(self, _place: int, operation: Operation) -> Vector:
        return self._array_at(Slot(self._values[operation.operands[0]][1], 0))

    # --- memory -----------------------------------------------------------------------------

    @staticmethod
    def _address_of(slot: Slot) -> str:
        array, index = slot
        return f'&{array}' if index < 0 else f'&{array}[{index}]' if index else array

    def _loaded(self, slots: Sequence[Slot]) -> Any:
        if len(slots) == 1:
            return self._element(slots[0])
        first = self._neighbours(slots)
        if first is not None:
            return self._array_at(first)
        array = self._declared('i', len(slots))
        self._assign([(Scalar(array.at(str(k))), self._element(slot), 1)
                      for k, slot in enumerate(slots)])
        return array

    def _input(self, _place: int, operation: Operation) -> Scalar | Vector:
        argument, position, _ = operation.data
        place: Any = self.function.inputs[argument]
        return self._loaded([Slot(*place.slot(position + k)) for k in range(operation.length)])

    def _result(self, _place: int, operation: Operation) -> Scalar | Vector:
        array, position = self._values[operation.operands[0]], operation.data[0]
        return self._loaded([Slot(array, position + k) for k in range(operation.length)])

    def _address(self, _place: int, operation: Operation) -> str:
        argument, position = operation.data
        if operation.operands:
            return self._address_of(Slot(self._values[operation.operands[0]], position))
        place: Any = self.function.inputs[argument]
        found = self._loaded([Slot(*place.slot(position + k)) for k in range(operation.length)])
        return self._address_of(found.slot)

    def _array(self, _place: int, operation: Operation) -> str:
        values = [self._value(each) for each in operation.operands]
        slots = [each.slot for each in values]
        if operation.data == ((0, operation.length),) and slots[0] is not None:
            return self._address_of(slots[0])
        if [begin for begin, _ in operation.data] == list(range(operation.length)):
            first = self._neighbours(slots)
            if first is not None:
                return self._address_of(first)
        name = self._new('i')
        self._line(f'double {name}[{operation.length}];')
        self._assign([(self._array_at(Slot(name, begin)) if count > 1 else
                       self._element(Slot(name, begin)), value, count)
                      for value, (begin, count) in zip(values, operation.data)])
        return name

    def _store(self, place: int, operation: Operation) -> None:
        (value,), (number_, position, _) = operation.operands, operation.data
        target, length = self.function.outputs[number_], operation.length
        slots = [Slot(*target.slot(position + k)) for k in range(length)]
        if length == 1:
            self._assign([(self._element(slots[0]), self._value(value), 1)])
            return
        vector, first = self._vector(value), self._neighbours(slots)
        if first is None:
            self._finish_loop()
            self._assign([(self._element(slot), Scalar(vector.at(str(k))), 1)
                          for k, slot in enumerate(slots)])
            return
        array = self._array_at(first)
        self._state(_Statement(place, '', lambda i: array.at(i).text, vector), length)

    # --- choices and loops ------------------------------------------------------------------

    def _selector(self, _place: int, operation: Operation) -> str:
        given, (last,) = self._value(operation.operands[0]).expression.operand, operation.data
        name = self._new('k')
        self._line(f'int32_t {name} = {last};')
        self._begin(f'if (({given} >= 0.0) && ({given} < {last}.0))')
        self._line(f'{name} = (int32_t){given};')
        self._close()
        return name

    def _choice(self, place: int, operation: Operation) -> None:
        self._open.append((place, [self._declared('c', count) for count in operation.data[1]]))

    def _case(self, _place: int, operation: Operation) -> None:
        choice = self._operations[self._open[-1][0]]
        cases, selector, k = choice.data[0], self._value(choice.operands[0]), operation.data[0]
        if cases == 2:
            if k == 0:
                self._begin(f'if ({selector.expression.text})')
            else:
                self._close('} else {')
                self._depth += 1
            return
        if k == 0:
            self._begin(f'switch ({selector})')
        self._begin('default:' if k == cases - 1 else f'case {k}:')

    def _yield(self, _place: int, operation: Operation) -> None:
        place, results = self._open[-1]
        opened = self._operations[place]
        found = list(zip(results, map(self._value, operation.operands), opened.data[1]))
        if opened.name == 'loop':
            # all of them before the first variable changes
            after = [self._declared('n', count) for *_, count in found]
            self._assign([(new, value, count) for new, (_, value, count) in zip(after, found)])
            found = [(old, new, count) for new, (old, _, count) in zip(after, found)]
        self._assign(found)
        if opened.name == 'choice' and opened.data[0] > 2:
            self._line('break;')
            self._close()

    def _end(self, _place: int, _operation: Operation) -> None:
        place, results = self._open.pop()
        self._values[place] = results
        self._close()

    def _merged(self, _place: int, operation: Operation) -> Scalar | Vector:
        return self._values[operation.operands[0]][operation.data[0]]

    def _loop_(self, place: int, operation: Operation) -> list:
        count, *first = operation.operands
        limit, counts = operation.data
        variables = [self._declared('v', count) for count in counts]
        self._assign(list(zip(variables, map(self._value, first), counts)))
        k, count = self._new('k'), self._value(count).expression.operand
        self._begin(f'for (int32_t {k} = 0; ({k} < {int(limit)}) && ((double){k} < {count}); '
                    f'++{k})')
        self._open.append((place, variables))
        return variables

    _variable = _merged

    def _block(self, _place: int, _operation: Operation) -> None:
        """Write nothing: C needs no cuts."""

    # --- calls and tables -------------------------------------------------------------------

    def _call(self, place: int, operation: Operation) -> str:
        argument, = operation.data
        row, *given = operation.operands
        functions: Any = self.function.inputs[argument]
        names, arrays = functions.names, [self._values[each] for each in given]
        out = self._new('r')
        self._line(f'double {out}[{operation.length}];')
        if row.__class__ is not int:
            self._invoke(names[int(row)] if 0.0 <= row < len(names) else None, arrays, out,
                         operation.length)
            return out
        self._begin(f'switch ({self._selector(place, Operation("", (row,), (len(names),), 1))})')
        for k, name in enumerate([*names, None]):
            if name is not None or k == len(names):
                self._begin('default:' if k == len(names) else f'case {k}:')
                self._invoke(name, arrays, out, operation.length)
                self._line('break;')
                self._close()
        self._close()
        return out

    def _inverse(self, _place: int, operation: Operation) -> str:
        array, (size,) = self._values[operation.operands[0]], operation.data
        self.helpers.add('invert')
        self._line(f'invert({array}, {size}, {stride_of(size)});')
        return array

    def _invoke(self, name: str | None, given: Sequence[str], out: str, size: int) -> None:
        """Write a call; without a function the result is not a number."""
        if name is None:
            self.helpers.add('fill_nan')
            self._line(f'fill_nan({out}, {size});')
        else:
            self._line(f'{name}({", ".join([*given, out])});')

    def _row(self, _place: int, operation: Operation) -> str:
        rows: Any = self.function.inputs[operation.data[0]]
        self.helpers.update(('row_at', 'fill_nan'))
        nothing, name = self._new('n'), self._new('p')
        self._line(f'double {nothing}[{rows.columns}];')
        self._line(f'const double *{name} = {nothing};')
        self._begin(f'if ({rows.length} > 0)')
        self._line(f'{name} = &{rows.name}[row_at({rows.length}, '
                   f'{self._value(operation.operands[0]).expression.text}) * {rows.columns}];')
        self._close('} else {')
        self._depth += 1
        self._line(f'fill_nan({nothing}, {rows.columns});')
        self._close()
        return name

    def _search(self, _place: int, operation: Operation) -> Scalar:
        argument, column = operation.data
        rows: Any = self.function.inputs[argument]
        self.helpers.add('search_sorted')
        given = ', '.join(self._value(each).expression.text for each in operation.operands)
        return self._constant('double', f'search_sorted({rows.name}, {rows.length}, '
                              f'{rows.columns}, {column}, {given})')


def operation_count(program: Program) -> int:
    """Return the number of operations and calls of a program."""
    return sum(program.graph.nodes[index][0] not in MEMORY for index in program.needed)
