"""Text of a function of C: lines, blocks, names, and loops over elements of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import re

from robodyn_ros.export.expressions import bare
from robodyn_ros.export.lines import wrapped

FEWEST = 3  # neighbours for which a loop is written
_ELEMENT = re.compile(r'(.*)\[(\d+)\]')


class Text:
    """
    Lines of a function.

    Attributes
    ----------
    lines : list of str
        Those written.

    """

    def __init__(self):
        self.lines: list[str] = []
        self._depth = 1
        self._count = 0

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines += wrapped(text, self._depth)

    def begin(self, text: str) -> None:
        """Write a line that begins a block."""
        self.line(f'{text} {{')
        self._depth += 1

    def end(self, text: str = '}') -> None:
        """Write a line that ends a block."""
        self._depth -= 1
        self.line(text)

    def otherwise(self) -> None:
        """Write the line between the two blocks of an `if`."""
        self.end('} else {')
        self._depth += 1

    def new(self, letter: str) -> str:
        """Return a fresh name."""
        self._count += 1
        return f'{letter}{self._count}'

    def begin_loop(self, count: int) -> str:
        """Write the head of a loop; return the name of its variable."""
        i = self.new('i')
        self.begin(f'for (int32_t {i} = 0; {i} < {count}; ++{i})')
        return i

    def assign(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Write assignments, each of a place and what it gets; neighbours by loops."""
        for run in runs(pairs, _follows):
            target, source = pairs[run[0]]
            if len(run) < FEWEST:
                for k in run:
                    self.line(f'{pairs[k][0]} = {bare(pairs[k][1])};')
            else:
                i = self.begin_loop(len(run))
                self.line(f'{indexed(target, i)} = {indexed(source, i)};')
                self.end()


def runs(items: Sequence, follows: Callable) -> list[range]:
    """
    Return places of items that belong together, one behind the other.

    Parameters
    ----------
    items : sequence
        Of anything.
    follows : callable
        `follows(first, item, distance)`: whether an item is the one at a distance from the first.

    """
    found, begin = [], 0
    while begin < len(items):
        end = begin + 1
        while end < len(items) and follows(items[begin], items[end], end - begin):
            end += 1
        found.append(range(begin, end))
        begin = end
    return found


def _follows(first: tuple[str, str], other: tuple[str, str], distance: int) -> bool:
    return is_at(first[0], other[0], distance) and (
        is_at(first[1], other[1], distance)
        or first[1] == other[1] and _ELEMENT.fullmatch(first[1]) is None)


def is_at(first: str, other: str, distance: int) -> bool:
    """Return whether a text is an element of the same array as another, at a distance."""
    a, b = _ELEMENT.fullmatch(first), _ELEMENT.fullmatch(other)
    return (a is not None and b is not None and a[1] == b[1]
            and int(b[2]) - int(a[2]) == distance)


def indexed(text: str, i: str) -> str:
    """Return an element of an array with an index `i` more; other texts as they are."""
    found = _ELEMENT.fullmatch(text)
    if found is None:
        return bare(text)
    return f'{found[1]}[{i}]' if found[2] == '0' else f'{found[1]}[{i} + {found[2]}]'


def address(texts: Sequence[str]) -> str | None:
    """Return the address of elements of an array, one behind the other; None: they are not."""
    found = _ELEMENT.fullmatch(texts[0]) if texts else None
    if found is None or not all(is_at(texts[0], text, k) for k, text in enumerate(texts)):
        return None
    return found[1] if found[2] == '0' else f'&{texts[0]}'


def order(text: str) -> tuple[str, int]:
    """Return a key that sorts elements of an array one behind the other."""
    found = _ELEMENT.fullmatch(text)
    return (text, 0) if found is None else (found[1], int(found[2]))
