"""C as text: names, constants, expressions, and lines that are not too long."""

from __future__ import annotations

import math
import re
import textwrap
from typing import NamedTuple

WIDTH = 99
INDENT = '    '
# of C99, and of C++ because a header may be read by it; also what C's own headers define as macros
_KEYWORDS = frozenset("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
    constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if inline int long mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq""".split())
_BINARY = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/', 'above': '>', 'at_least': '>=',
           'equal': '==', 'both': '&&', 'either': '||'}
_CALLS = {'sqrt': 'sqrt', 'abs': 'fabs', 'nearest': 'rint', 'floor': 'floor'}
# {0}: an operand
_FORMATS = {
    **{name: f'{{0}} {sign} {{1}}' for name, sign in _BINARY.items()},
    'min': '({0} < {1}) ? {0} : {1}', 'max': '({0} > {1}) ? {0} : {1}',
    'select': '{0} ? {1} : {2}', 'flag': '{0} ? 1.0 : 0.0', 'neg': '-{0}', 'no': '!{0}'}
ARITHMETIC = {*_CALLS, *_FORMATS}


def identifier(text: str) -> str:
    """
    Return a text as an identifier of C.

    Other characters than letters, digits and underscores become underscores; keywords of C and C++
    get one at the end.
    """
    name = re.sub(r'[^0-9A-Za-z_]+', '_', text).strip('_') or 'robot'
    if name[0].isdigit():
        name = f'robot_{name}'
    return f'{name}_' if name in _KEYWORDS else name


def macro(prefix: str, text: str) -> str:
    """Return the name of a macro of a robot."""
    return identifier(f'{prefix}_{text}').upper()


def comment(text: str) -> str:
    """Return a text of unknown origin as part of a comment of C."""
    return ''.join(each if each.isascii() and each.isprintable() and each not in '*\\?' else '_'
                   for each in text)


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


def wrapped(text: str, depth: int = 0) -> list[str]:
    """Return code as lines: broken at spaces where it is too long, `depth` blocks inside."""
    line = INDENT * depth + text
    if len(line) <= WIDTH:
        return [line]
    return textwrap.wrap(text, WIDTH, initial_indent=INDENT * depth,
                         subsequent_indent=INDENT * (depth + 1), break_long_words=False,
                         break_on_hyphens=False)
