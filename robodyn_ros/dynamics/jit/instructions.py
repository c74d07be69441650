"""Operations on numbers and vectors as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

BINARY = {'add': 'fadd contract', 'sub': 'fsub contract', 'mul': 'fmul contract', 'div': 'fdiv'}
LOGICAL = {'both': 'and', 'either': 'or'}
_COMPARED = {'min': 'olt', 'max': 'ogt'}
_INTRINSICS = {'sqrt': 'llvm.sqrt', 'abs': 'llvm.fabs', 'nearest': 'llvm.rint',
               'floor': 'llvm.floor'}
_RELATIONS = {'above': 'ogt', 'at_least': 'oge', 'equal': 'oeq'}


class Kind(NamedTuple):
    """
    Type of a value: a number, or a vector of several.

    Attributes
    ----------
    value, mask : str
        LLVM types of the value, and of the result of a comparison.
    suffix : str
        Suffix of the names of intrinsic functions.
    true : str
        Constant for a condition that holds.

    """

    value: str
    mask: str
    suffix: str
    true: str


SCALAR = Kind('double', 'i1', 'f64', '1')


def vector_kind(width: int) -> Kind:
    """Return the kind of vectors of this many numbers."""
    return Kind(f'<{width} x double>', f'<{width} x i1>', f'v{width}f64',
                f'<{", ".join(["i1 1"] * width)}>')


def instruction(operation: str, values: list[str], kind: Kind, write: Callable[[str], str]
                ) -> str:
    """
    Return the text of an operation.

    Parameters
    ----------
    operation : str
        Operation of a node.
    values : list of str
        Names of its operands.
    kind : Kind
        Kind of the operands.
    write : callable
        Writes a preceding instruction, and returns its name.

    """
    if operation in BINARY:
        return f'{BINARY[operation]} {kind.value} {values[0]}, {values[1]}'
    if operation in _INTRINSICS:
        return (f'call {kind.value} @{_INTRINSICS[operation]}.{kind.suffix}'
                f'({kind.value} {values[0]})')
    if operation in _COMPARED:
        a, b = values
        less = write(f'fcmp {_COMPARED[operation]} {kind.value} {a}, {b}')
        return select([less, a, b], kind)
    if operation in _RELATIONS:
        return f'fcmp {_RELATIONS[operation]} {kind.value} {values[0]}, {values[1]}'
    if operation in LOGICAL:
        return f'{LOGICAL[operation]} {kind.mask} {values[0]}, {values[1]}'
    return {'select': lambda: select(values, kind),
            'neg': lambda: f'fneg {kind.value} {values[0]}',
            'no': lambda: f'xor {kind.mask} {values[0]}, {kind.true}',
            'flag': lambda: f'uitofp {kind.mask} {values[0]} to {kind.value}'}[operation]()


def select(values: list[str], kind: Kind) -> str:
    """Return the text of a selection between two values, by a condition."""
    condition, positive, otherwise = values
    return f'select {kind.mask} {condition}, {kind.value} {positive}, {kind.value} {otherwise}'
