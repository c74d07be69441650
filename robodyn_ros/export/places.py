"""Where a C function finds the numbers of its arguments, and where it puts its results."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, Union

from robodyn_ros.dynamics.jit.blocks import Entry
from robodyn_ros.export.syntax import identifier


class Array:
    """
    Numbers of an array.

    Parameters
    ----------
    name : str
        Of the array.
    size : int
        How many there are.

    """

    def __init__(self, name: str, size: int):
        self.name, self.size = name, size

    def slot(self, k: int) -> tuple[str, int]:
        """Return array and index of number `k`."""
        return self.name, k

    def declaration(self, constant: bool, restrict: bool) -> str:
        """Return the declaration of it as a parameter."""
        size = f'restrict {self.size}' if restrict else f'{self.size}'
        return f'{"const " if constant else ""}double {self.name}[{size}]'


class Struct:
    """
    Numbers of a block, by the names of its fields.

    Parameters
    ----------
    name : str
        Of the parameter, a pointer to it.
    kind : str
        Name of the type.
    entries : list of Entry
        Its fields, see `dynamics.jit.blocks`.

    """

    def __init__(self, name: str, kind: str, entries: Sequence[Entry]):
        self.name, self.kind = name, kind
        self._entries = entries
        self._begins = [entry.begin for entry in entries]

    def slot(self, k: int) -> tuple[str, int]:
        """Return array and index of number `k`; index -1: it is a field of its own."""
        # fields without numbers begin where the next one does
        entry = self._entries[bisect_right(self._begins, k) - 1]
        return f'{self.name}->{field(entry.name)}', -1 if entry.scalar else k - entry.begin

    def declaration(self, constant: bool, restrict: bool) -> str:
        """Return the declaration of it as a parameter."""
        return (f'{"const " if constant else ""}struct {self.kind} *'
                f'{"restrict " if restrict else ""}{self.name}')


class Rows(NamedTuple):
    """A table of rows of doubles, one behind the other; `name`_rows is their number."""

    name: str
    columns: int

    def declaration(self, _constant: bool, restrict: bool) -> str:
        """Return the declaration of it as two parameters."""
        return f'const double *{"restrict " if restrict else ""}{self.name}, int32_t {self.length}'

    @property
    def length(self) -> str:
        """Return the name of the number of rows."""
        return f'{self.name}_rows'


class Functions(NamedTuple):
    """
    A table of functions, which is no parameter in C.

    Attributes
    ----------
    names : tuple of str or None
        Of the C function of each row; None: there is none.

    """

    names: tuple[str | None, ...]


Place = Union[Array, Struct, Rows, Functions]


def field(name: str) -> str:
    """Return the name of a field, with all blocks around it, in C."""
    return '.'.join(identifier(part) for part in name.split('.'))
