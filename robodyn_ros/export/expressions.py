"""Operations of a traced program as expressions of C."""

from __future__ import annotations

import math

# nodes whose value is a condition
CONDITIONS = ('above', 'at_least', 'equal', 'both', 'either', 'no')
_BINARY = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/', 'above': '>', 'at_least': '>=',
           'equal': '==', 'both': '&&', 'either': '||'}
_FUNCTIONS = {'sqrt': 'sqrt', 'abs': 'fabs', 'nearest': 'rint', 'floor': 'floor'}
_COMPARED = {'min': '<', 'max': '>'}


def literal(value: float) -> str:
    """Return a constant that C reads back to the bit."""
    if math.isnan(value):
        return '((double)NAN)'
    if math.isinf(value):
        return '((double)INFINITY)' if value > 0.0 else '(-(double)INFINITY)'
    text = repr(float(value))
    return f'({text})' if text.startswith('-') else text


def expression(operation: str, operands: list[str]) -> str:
    """
    Return an operation as an expression without outer parentheses.

    Parameters
    ----------
    operation : str
        As in a node of a graph; of arithmetic and conditions.
    operands : list of str
        Names, constants, or expressions in parentheses.

    """
    if operation in _BINARY:
        return f'{operands[0]} {_BINARY[operation]} {operands[1]}'
    if operation in _FUNCTIONS:
        return f'{_FUNCTIONS[operation]}({bare(operands[0])})'
    if operation in _COMPARED:
        a, b = operands
        return f'({a} {_COMPARED[operation]} {b}) ? {a} : {b}'
    if operation == 'select':
        return f'{operands[0]} ? {operands[1]} : {operands[2]}'
    if operation == 'flag':
        return f'{operands[0]} ? 1.0 : 0.0'
    return {'neg': '-', 'no': '!'}[operation] + operands[0]


def enclosed(text: str) -> str:
    """Return an expression as an operand: in parentheses, unless it is a name or a call."""
    return text if ' ' not in text and text[0] not in '-!' or _is_call(text) else f'({text})'


def bare(text: str) -> str:
    """Return an expression without the parentheses around all of it, if there are any."""
    return text[1:-1] if text.startswith('(') and _closing(text, 0) == len(text) - 1 else text


def _is_call(text: str) -> bool:
    begin = text.find('(')
    return begin > 0 and text[:begin].isidentifier() and _closing(text, begin) == len(text) - 1


def _closing(text: str, begin: int) -> int:
    depth = 0
    for place in range(begin, len(text)):
        depth += {'(': 1, ')': -1}.get(text[place], 0)
        if depth == 0:
            return place
    return -1
