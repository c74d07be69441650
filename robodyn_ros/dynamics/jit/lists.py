"""Where lists are in a block of numbers: what is done with their elements is done side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

WIDEST = 8  # elements of a vector


class Lists(int):
    """
    Length of a block of numbers that are lists, one behind the other.

    Parameters
    ----------
    sizes : iterable of int
        Length of each list.

    """

    sizes: tuple[int, ...]

    def __new__(cls, sizes: Iterable[int]) -> Lists:
        sizes = tuple(sizes)
        self = super().__new__(cls, sum(sizes))
        self.sizes = sizes
        return self


class Span(NamedTuple):
    """Neighbouring numbers of a list, no more than a vector has: the first, and how many."""

    begin: int
    count: int


def spans(length: int) -> list[Span]:
    """Return the spans of a block; of one that is no lists there are none."""
    found, begin = [], 0
    for size in getattr(length, 'sizes', ()):
        found += [Span(begin + start, min(WIDEST, size - start))
                  for start in range(0, size, WIDEST)]
        begin += size
    return [span for span in found if span.count > 1]


def width_of(count: int) -> int:
    """Return how many elements a vector of so many numbers has: the next power of two."""
    return 1 << (count - 1).bit_length()
