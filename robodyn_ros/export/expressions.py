"""Operations of a traced program as expressions of C."""

from __future__ import annotations

import math
from typing import NamedTuple

_BINARY = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/', 'above': '>', 'at_least': '>=',
           'equal': '==', 'both': '&&', 'either': '||'}
_CALLS = {'sqrt': 'sqrt', 'abs': 'fabs', 'nearest': 'rint', 'floor': 'floor'}
# {0}: an operand
_FORMATS = {
    **{name: f'{{0}} {sign} {{1}}' for name, sign in _BINARY.items()},
    'min': '({0} < {1}) ? {0} : {1}', 'max': '({0} > {1}) ? {0} : {1}',
    'select': '{0} ? {1} : {2}', 'flag': '{0} ? 1.0 : 0.0', 'neg': '-{0}', 'no': '!{0}'}
ARITHMETIC = {*_CALLS, *_FORMATS}


class Expression(NamedTuple):
    """
    An expression.

    Attributes
    ----------
    text : str
        Without parentheses around it.
    whole : bool
        Whether it needs none as an operand.

    """

    text: str
    whole: bool = True

    @property
    def operand(self) -> str:
        """Return it as an operand."""
        return self.text if self.whole else f'({self.text})'


def number(value: float) -> Expression:
    """Return a constant that C reads back to the bit."""
    if math.isnan(value):
        return Expression('(double)NAN', False)
    if math.isinf(value):
        return Expression('(double)INFINITY' if value > 0.0 else '-(double)INFINITY', False)
    text = repr(float(value))
    return Expression(text, not text.startswith('-'))


def literal(value: float) -> str:
    """Return a constant as an operand."""
    return number(value).operand


def expression(operation: str, operands: list[Expression]) -> Expression:
    """Return an operation of arithmetic, named as in a graph."""
    if operation in _CALLS:
        return Expression(f'{_CALLS[operation]}({operands[0].text})')
    return Expression(_FORMATS[operation].format(*(each.operand for each in operands)), False)
