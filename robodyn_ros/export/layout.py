"""The blocks of the control cycle as structs of C, and their values as initialisers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
import textwrap

import numpy as np

from robodyn_ros.export.syntax import identifier, INDENT, number, WIDTH, wrapped


def struct_lines(name: str, cls: type, dimensions: Mapping[str, int]) -> list[str]:
    """
    Return the declaration of a block as a struct of doubles, fields in the order of the block.

    Parameters
    ----------
    name : str
        Of the struct.
    cls : type
        The block, see `dynamics.jit.blocks`.
    dimensions : mapping of str to int
        As for `blocks.entries`.

    """
    lines, size = _members(cls, dimensions, 0, 1)
    return [f'/* {size} doubles; at each field the place of its first one, unit and meaning. */',
            f'struct {name} {{', *lines, '};']


def _members(cls: type, dimensions, begin: int, depth: int) -> tuple[list[str], int]:
    """Return the lines of the members of a block, and the place behind it."""
    indent, lines = '    ' * depth, []
    for each in fields(cls):
        name, inner = identifier(each.name), each.metadata.get('part')
        if inner is not None:
            members, begin = _members(inner, dimensions, begin, depth + 1)
            lines += [f'{indent}struct {{', *members, f'{indent}}} {name};']
            continue
        dimension, unit = each.metadata['dimension'], each.metadata['unit']
        count = int(dimensions[dimension]) if dimension else 1
        if count:
            size = f'[{count}]' if dimension else ''
            comment = f'{begin}: {unit}{"; " if unit else ""}{each.metadata["meaning"]}'
            lines += [*textwrap.wrap(f'/* {comment} */', WIDTH, initial_indent=indent,
                                     subsequent_indent=f'{indent}   '),
                      f'{indent}double {name}{size};']
        begin += count
    return lines, begin


def initialiser(cls: type, values: np.ndarray, dimensions: Mapping[str, int]) -> list[str]:
    """Return the lines of an initialiser of a block with these numbers."""
    return _values(cls, iter(values.tolist()), dimensions, '')


def _values(cls: type, rest: Iterator[float], dimensions, indent: str) -> list[str]:
    lines, deeper = [f'{indent}{{'], f'{indent}    '
    for each in fields(cls):
        inner, name = each.metadata.get('part'), identifier(each.name)
        if inner is not None:
            first, *more = _values(inner, rest, dimensions, deeper)
            lines += [f'{deeper}.{name} = {first.strip()}', *more[:-1], f'{more[-1]},']
            continue
        dimension = each.metadata['dimension']
        numbers = [next(rest) for _ in range(dimensions[dimension] if dimension else 1)]
        if numbers:
            begin = f'{deeper}.{name} = '
            lines += _listed(begin, numbers, ',') if dimension else [
                f'{begin}{number(numbers[0]).text},']
    return [*lines, f'{indent}}}']


def _listed(begin: str, numbers: Sequence[float], end: str) -> list[str]:
    """Return a list of numbers; one of zeros is short."""
    shown = numbers if any(map(_is_some, numbers)) else numbers[:1]
    text = ', '.join(number(x).text for x in shown)
    depth = (len(begin) - len(begin.lstrip())) // len(INDENT)
    return wrapped(f'{begin.lstrip()}{{{text}}}{end}', depth)


def _is_some(x: float) -> bool:
    return x != 0.0 or np.signbit(x)


def array_lines(head: str, numbers: Sequence[float]) -> list[str]:
    """Return the definition of an array of numbers."""
    return _listed(f'{head} = ', numbers, ';')
