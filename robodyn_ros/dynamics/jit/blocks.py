"""
Blocks of named numbers: inputs and memory of the control cycle.

The fields of a block are declared beside the function that uses them, with unit and meaning. The
scalars that the function reads, named NumPy views for other code, and tables for documentation and
other languages are derived from the declaration.

    @block
    class State:
        offset: list = joints('N m', 'Difference to the torque of the law.')
        elapsed: float = scalar('s', 'Time since the transition began.')

Blocks nest: a field may be another block (`part`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, Field, field, fields
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from robodyn_ros.dynamics.jit.lists import ListLayout
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.settings.declaration import dataclass_transform

_T = TypeVar('_T')
_SCALAR = ''  # dimension of a field that is one number


class Entry(NamedTuple):
    """
    One field of a block, with its enclosing blocks.

    Attributes
    ----------
    name : str
        Names of the blocks and of the field, joined by dots.
    begin, size : int
        Index of its first number, and how many there are.
    scalar : bool
        Whether it is a single number, not a list.
    unit, meaning : str
        Unit and meaning as declared.

    """

    name: str
    begin: int
    size: int
    scalar: bool
    unit: str
    meaning: str


@dataclass_transform(frozen_default=True, eq_default=False)
def block(cls: type[_T]) -> type[_T]:
    """Return a class whose annotated fields are a block: a frozen dataclass."""
    return dataclass(frozen=True, eq=False)(cls)


def scalar(unit: str, meaning: str) -> Any:
    """Declare a field with one number; flags and counters have the unit ''."""
    return field(metadata={'dimension': _SCALAR, 'unit': unit, 'meaning': meaning})


def joints(unit: str, meaning: str) -> Any:
    """Declare a field with a number for each joint; N m stands for N m or N, rad for rad or m."""
    return numbers('joints', unit, meaning)


def numbers(dimension: str, unit: str, meaning: str) -> Any:
    """Declare a field whose length is a dimension of the robot, such as 'bodies'."""
    return field(metadata={'dimension': dimension, 'unit': unit, 'meaning': meaning})


def part(cls: type) -> Any:
    """Declare a field that is a block itself."""
    return field(metadata={'part': cls})


def entries(cls: type, dimensions: Mapping[str, int]) -> list[Entry]:
    """
    Return the fields of a block, nested ones included, in order.

    Parameters
    ----------
    cls : type
        The block.
    dimensions : mapping of str to int
        Length of each dimension that its fields name; `ListLayout` where that is several lists.

    """
    return list(_entries(cls, dimensions, '', 0))


def _entries(cls: type, dimensions, prefix: str, begin: int) -> Iterator[Entry]:
    for each in fields(cls):
        inner = each.metadata.get('part')
        if inner is not None:
            nested = list(_entries(inner, dimensions, f'{prefix}{each.name}.', begin))
            yield from nested
            begin += sum(entry.size for entry in nested)
            continue
        entry = _entry(each, dimensions, prefix, begin)
        yield entry
        begin += entry.size


def _entry(each: Field, dimensions, prefix: str, begin: int) -> Entry:
    dimension = each.metadata['dimension']
    return Entry(f'{prefix}{each.name}', begin, dimensions[dimension] if dimension else 1,
                 not dimension, each.metadata['unit'], each.metadata['meaning'])


def size(cls: type, dimensions: Mapping[str, int]) -> ListLayout:
    """Return the size of a block as the lengths of its lists."""
    return ListLayout(each for entry in entries(cls, dimensions) for each in (
        [1] if entry.scalar else getattr(entry.size, 'sizes', [entry.size])))


def unpack(cls: type, scalars: Iterable, dimensions: Mapping[str, int]) -> Any:
    """
    Return a block made of scalars: numbers, and lists of them.

    Raises
    ------
    ArgumentError
        There are more or fewer scalars than the block has.

    """
    rest = list(scalars)
    wanted = size(cls, dimensions)
    if len(rest) != wanted:
        raise ArgumentError(f'{len(rest)} scalars for the {wanted} of block {cls.__module__}')
    return _unpacked(cls, iter(rest), dimensions)


def _unpacked(cls: type, rest: Iterator, dimensions) -> Any:
    values = {}
    for each in fields(cls):
        inner = each.metadata.get('part')
        if inner is not None:
            values[each.name] = _unpacked(inner, rest, dimensions)
        elif not each.metadata['dimension']:
            values[each.name] = next(rest)
        else:
            values[each.name] = [next(rest) for _ in range(
                dimensions[each.metadata['dimension']])]
    return cls(**values)


def views(cls: type, array: np.ndarray, dimensions: Mapping[str, int]) -> SimpleNamespace:
    """
    Return the fields of a block in an array as attributes, nested ones included.

    Each is a view of the array, single numbers as arrays of shape (): writing to it writes into
    the block.
    """
    result = SimpleNamespace()
    for entry in entries(cls, dimensions):
        *path, name = entry.name.split('.')
        place = result
        for step in path:
            if not hasattr(place, step):
                setattr(place, step, SimpleNamespace())
            place = getattr(place, step)
        values = array[entry.begin:entry.begin + entry.size]
        setattr(place, name, values.reshape(()) if entry.scalar else values)
    return result


def differences(cls: type, a: np.ndarray, b: np.ndarray, dimensions: Mapping[str, int],
                same: Callable[[float, float], bool] = lambda x, y: x == y or x != x and y != y
                ) -> list[str]:
    """
    Return a line for each number in which two blocks differ: name, both values, unit.

    Parameters
    ----------
    cls : type
        The block.
    a, b : (size,) array
        Numbers of the two blocks.
    dimensions : mapping of str to int
        Lengths of dimensions, see `entries`.
    same : callable
        Whether two numbers are regarded as equal.

    """
    lines = []
    for entry in entries(cls, dimensions):
        for k in range(entry.size):
            x, y = float(a[entry.begin + k]), float(b[entry.begin + k])
            if not same(x, y):
                index = '' if entry.scalar else f'[{k}]'
                lines.append(f'{entry.name}{index}: {x:.17g} and {y:.17g} {entry.unit}'.rstrip())
    return lines


def explain(cls: type, values: np.ndarray, dimensions: Mapping[str, int]) -> str:
    """Return a block as text: a line for each field, with its numbers, unit and meaning."""
    lines = []
    for entry in entries(cls, dimensions):
        numbers_ = ', '.join(f'{x:.6g}' for x in values[entry.begin:entry.begin + entry.size])
        lines.append(f'{entry.name} = {numbers_}{entry.unit and " " + entry.unit}  '
                     f'# {entry.meaning}')
    return '\n'.join(lines)
