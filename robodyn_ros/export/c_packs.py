"""
Functions of C in which lists are computed by loops.

What is done with the elements of a list alike is a pack (see `dynamics.jit.packs`). Here a pack is
one statement in a loop over its lanes. Packs one behind the other share a loop; what only the rest
of that loop needs is a local constant, all else an array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import sys
from typing import cast, NamedTuple

from robodyn_ros.dynamics.jit.graph import Symbol
from robodyn_ros.dynamics.jit.packs import CONDITIONS, Pack
from robodyn_ros.export.c_function import CFunction, LONGEST, Writer
from robodyn_ros.export.c_text import FEWEST, indexed, is_at, order, runs
from robodyn_ros.export.expressions import bare, enclosed, expression

_LANE = '@'  # in a text, what the number of the lane takes the place of
_TWICE = ('min', 'max')
_NAMED = ('variable', 'chosen', 'iterated')  # have their names from elsewhere
_LOGICAL = {'both': '&&', 'either': '||'}


class Statement(NamedTuple):
    """
    A part of a pack in a loop.

    Attributes
    ----------
    nodes : tuple of int
        Its nodes, by lane.
    name : str
        Of its values.
    kind : str
        Their type.
    text : str
        The expression; names of statements of the same loop are in guillemets.

    """

    nodes: tuple[int, ...]
    name: str
    kind: str
    text: str


class ListWriter(Writer):
    """Writes the definition of a function with loops over lists."""

    def __init__(self, function: CFunction):
        super().__init__(function)
        self.packs = function.program.packs_of(sys.maxsize)  # a loop has any length
        self._loop: list[Statement] = []
        self._within: set[int] = set()  # nodes that the loop computes
        # expressions that one other one needs, by nodes; and all nodes that these compute
        self._inlined: dict[tuple, str] = {}
        self._inner: dict[tuple, set[int]] = {}

    def block(self, region, first: Callable[[], None] = lambda: None) -> None:
        """Write all that is computed in a region, as `Writer.block`."""
        self.arrays.append({})
        first()
        for item in self.packs.inside.get(region, ()):
            if isinstance(item, Pack):
                self._pack(item)
            else:
                self._single(item)
        self._finish_loop()

    def _single(self, index: int) -> None:
        operation, *operands = self.nodes[index]
        plain = index not in self.packs.leaves and all(
            not isinstance(each, Symbol) or each.index not in self._within for each in operands)
        if not (plain and self.is_arithmetic(operation)):
            self._finish_loop()
        if index in self.packs.leaves:
            self._joined(index)
        else:
            self.node(index)
        self.store([index])

    def _joined(self, index: int) -> None:
        """Write whether all, or any, of several conditions hold."""
        word = _LOGICAL[self.nodes[index][0]]
        texts = sorted(map(self.operand, self.packs.leaves[index]), key=order)
        parts = runs(texts, is_at)
        single = [texts[k] for part in parts if len(part) < FEWEST for k in part]
        lists = [(texts[part[0]], len(part)) for part in parts if len(part) >= FEWEST]
        name = self.names[index] = self.new('b')
        value = f' {word} '.join(single) or ('true' if word == '&&' else 'false')
        self.line(f'{"bool" if lists else "const bool"} {name} = {bare(value)};')
        for text, count in lists:
            i = self.begin_loop(count)
            self.line(f'{name} = {name} {word} {indexed(text, i)};')
            self.end()

    # --- packs ------------------------------------------------------------------------------

    def _pack(self, pack: Pack) -> None:
        if pack.operation in _NAMED:
            self._finish_loop()
            nodes = [pack.lanes[lane] for lane in sorted(pack.lanes)]
            for index in nodes:
                self.node(index)
            self.store(nodes)
            return
        for lanes in _runs(pack):
            if len(lanes) < FEWEST:
                for lane in lanes:
                    self._single(pack.lanes[lane])
            else:
                self._statement(pack, lanes)

    def _statement(self, pack: Pack, lanes: range) -> None:
        """Add neighbouring lanes of a pack to the loop."""
        nodes = tuple(pack.lanes[lane] for lane in lanes)
        if self._loop and len(self._loop[0].nodes) != len(nodes):
            self._finish_loop()
        columns = list(zip(*(pack.operands[lane] for lane in lanes)))
        if any(self._crosses(column) for column in columns):
            self._finish_loop()
        text = expression(pack.operation, [self._column(column) for column in columns])
        within = set(nodes).union(*(self._inner.get(_nodes(column), ()) for column in columns))
        if self._is_inlined(lanes, nodes, text):
            self._inlined[nodes], self._inner[nodes] = enclosed(text), within
            return
        is_mask = pack.operation in CONDITIONS
        name = self.new('q' if is_mask else 'p')
        self._loop.append(Statement(nodes, name, 'bool' if is_mask else 'double', text))
        self._within |= within
        for k, index in enumerate(nodes):
            self.names[index] = f'{name}[{k}]'

    def _crosses(self, values: Sequence) -> bool:
        """Return whether values need the present loop, but not lane by lane."""
        nodes = _nodes(values)
        return nodes not in self._inlined and all(
            each.nodes != nodes for each in self._loop) and any(
            isinstance(each, Symbol) and each.index in self._within for each in values)

    def _column(self, values: Sequence) -> str:
        """Return one operand of all lanes as a text."""
        nodes = _nodes(values)
        if nodes in self._inlined:
            return self._inlined[nodes]
        statement = next((each for each in self._loop if each.nodes == nodes), None)
        if statement is not None:
            return f'«{statement.name}»'
        texts = [self.operand(each) for each in values]
        if all(text == texts[0] for text in texts):
            return texts[0]
        if not all(is_at(texts[0], text, k) for k, text in enumerate(texts)):
            texts = [f'{self.array(values)}[0]']
        return indexed(texts[0], _LANE)

    def _is_inlined(self, lanes: range, nodes: tuple[int, ...], text: str) -> bool:
        """Return whether a statement is written where another one needs it."""
        uses = [self.uses[index] for index in nodes]
        if len(text) > LONGEST or any(len(each) != 1 or each[0].user is None for each in uses):
            return False
        places = [self.packs.of.get(cast(int, each[0].user)) for each in uses]
        user = places[0].pack if places[0] is not None else None
        return (user is not None and user.operation not in (*_NAMED, *_TWICE)
                and lanes in _runs(user)
                and all(place == (user, lane) for place, lane in zip(places, lanes))
                and self.schedule.region[nodes[0]] is self.schedule.region[uses[0][0].user])

    # --- loops ------------------------------------------------------------------------------

    def _finish_loop(self) -> None:
        """Write the loop with the packs that are waiting for it."""
        statements, self._loop = self._loop, []
        within, self._within = self._within, set()
        if not statements:
            return
        count, lines, names = len(statements[0].nodes), [], {}
        late: list[int] = []
        for statement in statements:
            nodes, name = statement.nodes, statement.name
            targets = self._targets_of(nodes)
            late += nodes if targets is None else ()
            is_local = targets is not None and all(
                use.user in within or use.user is None
                for index in nodes for use in self.uses[index])
            names[name] = name if is_local else f'{name}[{_LANE}]'
            if not is_local:
                self.line(f'{statement.kind} {name}[{count}];')
            lines.append((f'const {statement.kind} ' if is_local else '', statement, targets))
        i = self.begin_loop(count)
        for declared, statement, targets in lines:
            name, text = names[statement.name], bare(statement.text)
            for each, local in names.items():
                text = text.replace(f'«{each}»', local)
            self.line(f'{declared}{name} = {text};'.replace(_LANE, i))
            for target in targets or ():
                self.line(f'{indexed(target, i)} = {name};'.replace(_LANE, i))
        self.end()
        # what goes into another loop finds them as arrays
        for nodes, text in self._inlined.items():
            for each in names:
                text = text.replace(f'«{each}»', f'{each}[{_LANE}]')
            self._inlined[nodes] = text
        self.store(late)

    def _targets_of(self, nodes: tuple[int, ...]) -> list[str] | None:
        """Return the first places of results that are stored in a loop; None: they are not."""
        found = [self.waiting.get(index, []) for index in nodes]
        if len({len(each) for each in found}) > 1:
            return None
        columns = [[target for target, _ in column] for column in zip(*found)]
        if not all(is_at(column[0], target, k) for column in columns
                   for k, target in enumerate(column)):
            return None
        for index in nodes:
            self.waiting.pop(index, None)
        return [column[0] for column in columns]


def _nodes(values: Sequence) -> tuple:
    """Return the nodes that values are; -1 for constants."""
    return tuple(each.index if isinstance(each, Symbol) else -1 for each in values)


def _runs(pack: Pack) -> list[range]:
    """Return the lanes of a pack, neighbours together."""
    lanes = sorted(pack.lanes)
    return [range(lanes[run[0]], lanes[run[-1]] + 1)
            for run in runs(lanes, lambda first, lane, distance: lane - first == distance)]


def writer_of(function: CFunction) -> Writer:
    """
    Return a writer of a function.

    Programs with sines are recursions over the bodies for the most part: there are no lists.
    """
    return (Writer if function.program.has_sines else ListWriter)(function)
