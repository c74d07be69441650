"""
A traced program as a function of C99.

The same graph, in the same order of evaluation, as the LLVM backend computes (`dynamics.jit`):
branches are `if` and `switch`, loops are bounded `for` loops, functions are called by their names.
A value is a `const` local variable of the block in which it is needed; what is used once is
written where it is used. Arguments and results must not overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
import re
from typing import NamedTuple

from robodyn_ros.dynamics.jit.graph import Symbol
from robodyn_ros.dynamics.jit.packs import MEMORY
from robodyn_ros.dynamics.jit.program import Program
from robodyn_ros.dynamics.jit.schedule import CHOICES
from robodyn_ros.dynamics.jit.sine_order import SineOrder, SINES
from robodyn_ros.export import c_flow, c_tables
from robodyn_ros.export.c_text import address, order, Text
from robodyn_ros.export.expressions import bare, CONDITIONS, enclosed, expression, literal
from robodyn_ros.export.lines import INDENT, wrapped
from robodyn_ros.export.places import Array, Functions, Place, Rows, Struct

LONGEST = 60    # characters of an expression that is written where it is used
_COMPARED = ('min', 'max')  # their operands are written twice
_WRITERS = {**c_flow.WRITERS, **c_tables.WRITERS}
_GLUE = '~'
_NAME = re.compile(r'[A-Za-z_][\w.]*(->[\w.]+)?')


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


class Use(NamedTuple):
    """
    Where a value is used.

    Attributes
    ----------
    user : int or None
        Node; None for a result.
    region : Region
        Block of the use.
    once : bool
        Whether it is written once there.

    """

    user: int | None
    region: object
    once: bool


class Writer(Text):
    """
    Writes the definition of a function.

    Parameters
    ----------
    function : CFunction
        See there.

    Attributes
    ----------
    helpers : set of str
        Names of the functions of `c_support` that it calls.
    names : dict of int to str
        Expression of each node that has been written.
    uses : dict of int to list of Use
        Where each node is used.
    arrays : list of dict
        Names of arrays that have been written in the regions around this place, by their values.
    waiting : dict of int to list
        Places of the results, with their values, by node; those that are not stored yet.

    """

    def __init__(self, function: CFunction):
        super().__init__()
        self.function = function
        self.program, self.schedule = function.program, function.program.schedule
        self.nodes = function.program.graph.nodes
        self.helpers: set[str] = set()
        self.names: dict[int, str] = {}
        self.arrays: list[dict[tuple, str]] = []
        self._sine_order = SineOrder(function.program)
        self.uses = self._find_uses()
        self.waiting: dict[int, list[tuple[str, Symbol]]] = defaultdict(list)

    def definition(self) -> list[str]:
        """Return its lines."""
        unused = self._unused()
        root, ready = self.program.graph.root, []
        for target, value in zip(self._targets(), self.program.outputs):
            if isinstance(value, Symbol) and self.nodes[value.index][0] != 'input':
                self.waiting[value.index].append((target, value))
            else:
                ready.append((target, value))
        self.block(root, lambda: self.copy(ready))
        return [*self.function.head(restrict=True), '{', *(
            f'{INDENT}(void){name};' for name in unused), *self.lines, '}']

    # --- values -----------------------------------------------------------------------------

    def constant(self, kind: str, text: str) -> str:
        """Write a local constant; return its name."""
        name = self.new('b' if kind == 'bool' else 't')
        self.line(f'const {kind} {name} = {bare(text)};')
        return name

    def copy(self, pairs: Sequence[tuple[str, object]]) -> None:
        """Write assignments of values to places; neighbours are copied by loops."""
        self.assign([(target, self.operand(value)) for target, value in pairs])

    @staticmethod
    def is_arithmetic(operation: str) -> bool:
        """Return whether a node is one operation, without branches, calls and tables."""
        return operation not in _WRITERS

    def address(self, values: Sequence, kind: str = 'i') -> str:
        """Return an array with these values: where they are, or a new one."""
        texts = [self.operand(each) for each in values]
        found = address(texts)
        if found is not None:
            return found
        if len(texts) == 1 and _NAME.fullmatch(texts[0]):
            return f'&{texts[0]}'
        return self.array(values, kind)

    def array(self, values: Sequence, kind: str = 'i') -> str:
        """Write an array with these values, unless there is one; return its name."""
        key = tuple(each.index if isinstance(each, Symbol) else repr(each) for each in values)
        for scope in self.arrays:
            if key in scope:
                return scope[key]
        name = self.arrays[-1][key] = self.new(kind)
        self.line(f'double {name}[{len(values)}];')
        self.copy([(f'{name}[{k}]', value) for k, value in enumerate(values)])
        return name

    # --- regions and nodes ------------------------------------------------------------------

    def block(self, region, first: Callable[[], None] = lambda: None) -> None:
        """
        Write all that is computed in a region.

        Parameters
        ----------
        region : Region
            See `graph`.
        first : callable
            Writes what comes before.

        """
        self.arrays.append({})
        first()
        for before, level in self._sine_order.levels(region):
            for index in before:
                self._write(index)
            self._sines(level)
        for index in self.schedule.inside[region]:
            self._write(index)

    def _write(self, index: int) -> None:
        self.node(index)
        self.store([index])

    def leave(self) -> None:
        """End a region: its arrays are not known any more."""
        self.arrays.pop()

    def operand(self, value) -> str:
        """Return a value as an operand."""
        if not isinstance(value, Symbol):
            return literal(value)
        operation, *operands = self.nodes[value.index]
        if operation == 'input':
            return self.function.inputs[operands[0]].element(operands[1])
        if operation in MEMORY:
            return f'{self.names[operands[0].index]}[{operands[1]}]'
        return self.names[value.index]

    def node(self, index: int) -> None:
        """Write a node, unless it has been written."""
        operation, *operands = self.nodes[index]
        if index in self.names or operation in MEMORY:
            return
        if operation in _WRITERS:
            self.names[index] = ''  # a choice has no value, but is written once
            _WRITERS[operation](self, index, *operands)
        elif operation not in SINES:
            text = expression(operation, [self.operand(each) for each in operands])
            self.names[index] = enclosed(text) if self.is_inline(index, text) else (
                self.constant('bool' if operation in CONDITIONS else 'double', text))

    def is_inline(self, index: int, text: str) -> bool:
        """Return whether the expression of a node is written where it is used."""
        uses = self.uses[index]
        return (len(text) < LONGEST and len(uses) == 1 and uses[0].once
                and uses[0].region is self.schedule.region[index])

    def store(self, nodes: Sequence[int]) -> None:
        """Store the results that nodes are."""
        found = [each for index in nodes for each in self.waiting.pop(index, ())]
        # targets with the same name side by side
        self.copy(sorted(found, key=lambda each: order(each[0])))

    def _sines(self, angles: dict[int, list[int]]) -> None:
        self.helpers.add('sines')
        given = self.address([Symbol(self.program.graph, index) for index in angles], 'x')
        sine, cosine = self.new('s'), self.new('c')
        for name in (sine, cosine):
            self.line(f'double {name}[{len(angles)}];')
        self.line(f'sines({given}, {sine}, {cosine}, {len(angles)});')
        for k, nodes in enumerate(angles.values()):
            for index in nodes:
                name = sine if self.nodes[index][0] == 'sin' else cosine
                self.names[index] = f'{name}[{k}]'

    # --- the whole --------------------------------------------------------------------------

    def _targets(self) -> list[str]:
        return [place.element(k) for place, size in zip(
            self.function.outputs, self.program.results) for k in range(size)]

    def _unused(self) -> list[str]:
        """Return the names of parameters that the function does not use."""
        used = set()
        for index in self.program.needed:
            operation, *operands = self.nodes[index]
            if operation in ('input', 'row', 'search', 'rows'):
                used.add(operands[0])
        unused: list[str] = []
        for number, place in enumerate(self.function.inputs):
            if number not in used and not isinstance(place, Functions):
                unused += [place.name, place.length] if isinstance(place, Rows) else [place.name]
        return unused

    def _find_uses(self) -> dict[int, list[Use]]:
        """Return where each node is used."""
        uses: dict[int, list[Use]] = defaultdict(list)

        index = None

        def use(value, region, once=True):
            if isinstance(value, Symbol):
                uses[value.index].append(Use(index, region, once))

        for value in self.program.outputs:
            use(value, self.program.graph.root)
        for index in self.program.needed:
            operation, *operands = self.nodes[index]
            here = self.schedule.region[index]
            if operation == 'chosen':
                choice = self.nodes[operands[0].index]
                for region, value in zip(choice[2], operands[1:]):
                    use(value, region)
            elif operation in CHOICES:
                use(operands[0], here, operation == 'branch')
            elif operation == 'iterate':
                count, _, body, *values = operands
                use(count, here, False)
                size = len(body.variables)
                for k, value in enumerate(values):
                    use(value, here if k < size else body)
            elif operation not in ('result', 'element', 'iterated'):
                for value in operands:
                    # a row that names a function is looked at several times
                    use(value, here, operation not in (*_COMPARED, 'call'))
        return uses


def operation_count(program: Program) -> int:
    """Return the number of operations and calls of a program."""
    return sum(program.graph.nodes[index][0] not in MEMORY for index in program.needed)
