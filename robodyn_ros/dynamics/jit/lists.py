"""Lists within a block of numbers, whose elements are computed in parallel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

WIDEST = 8  # elements of a vector


class ListLayout(int):
    """
    Length of a block of numbers that consists of consecutive lists.

    Parameters
    ----------
    sizes : iterable of int
        Length of each list.

    """

    sizes: tuple[int, ...]

    def __new__(cls, sizes: Iterable[int]) -> ListLayout:
        sizes = tuple(sizes)
        self = super().__new__(cls, sum(sizes))
        self.sizes = sizes
        return self


class Span(NamedTuple):
    """Consecutive numbers of a list, at most as many as a vector has: the first, and how many."""

    begin: int
    size: int


def spans(length: int, widest: int = WIDEST) -> list[Span]:
    """Return the spans of a block, of at most so many elements; none if it is not of lists."""
    found, begin = [], 0
    for size in getattr(length, 'sizes', ()):
        found += [Span(begin + start, min(widest, size - start))
                  for start in range(0, size, widest)]
        begin += size
    return [span for span in found if span.size > 1]


def width_of(count: int) -> int:
    """Return the width of a vector of this many numbers: the next power of two."""
    return 1 << (count - 1).bit_length()
