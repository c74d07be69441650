"""Operations on numbers and vectors, and their finite check, as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from robodyn_ros.dynamics.jit.sines import VECTOR, WIDTH

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


def finite_ir(name: str, data: list[tuple[str, int]], double: str, vector: str, good: str,
              bad: str) -> list[str]:
    """
    Return instructions that branch on whether doubles in memory are finite.

    Parameters
    ----------
    name : str
        Prefix of the names of all values.
    data : list of (str, int)
        Addresses, as 64-bit integers, and numbers of doubles.
    double, vector : str
        Type of a pointer to a double, and to a vector.
    good, bad : str
        Labels for the two cases.

    """
    lines, sums = [], {'double': '0.0', VECTOR: 'zeroinitializer'}
    for array, (address, size) in enumerate(data):
        kind, pointer, step = ('double', double, 1) if size < WIDTH else (VECTOR, vector, WIDTH)
        # if vectors do not fill the array, the last one overlaps the one before
        for start in [*range(0, size - step, step), size - step] if size else []:
            at, zero = f'%{name}{array}.{start}', '0.0' if step == 1 else 'zeroinitializer'
            lines += [f'  {at} = add i64 {address}, {8 * start}',
                      f'  {at}p = inttoptr i64 {at} to {pointer}',
                      f'  {at}x = load {kind}, {pointer} {at}p, align 8',
                      f'  {at}z = fmul contract {kind} {at}x, {zero}',
                      f'  {at}s = fadd contract {kind} {at}z, {sums[kind]}']
            sums[kind] = f'{at}s'
    return [*lines,
            f'  %{name}v = fcmp uno {VECTOR} {sums[VECTOR]}, zeroinitializer',
            f'  %{name}bits = bitcast <{WIDTH} x i1> %{name}v to i{WIDTH}',
            f'  %{name}lanes = icmp ne i{WIDTH} %{name}bits, 0',
            f'  %{name}d = fcmp uno double {sums["double"]}, 0.0',
            f'  %{name}any = or i1 %{name}lanes, %{name}d',
            f'  br i1 %{name}any, label %{bad}, label %{good}']
