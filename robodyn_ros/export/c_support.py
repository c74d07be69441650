"""
Functions in C that exported functions call; each file has its own copies of those it needs.

Sine and cosine are those of the LLVM backend (`dynamics.jit.sines`): one reduction and two
polynomials per angle below 1e6 rad, in a loop that compilers turn into vectors; beyond, the C
library's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
import re

from robodyn_ros.dynamics.jit import sines
from robodyn_ros.export import templates
from robodyn_ros.export.expressions import literal
from robodyn_ros.export.lines import INDENT, wrapped

# macros and types that exported files use
INCLUDES = ('math.h', 'stdbool.h', 'stdint.h')
# functions of math.h that may be called
LIBM = ('cos', 'fabs', 'floor', 'rint', 'sin', 'sqrt')


def helpers(names: Collection[str]) -> list[str]:
    """Return the definitions of helpers, by name."""
    text = templates.filled('support.c', {
        'LARGEST': literal(sines.LARGEST), 'TWO_OVER_PI': literal(sines.TWO_OVER_PI),
        'ROUND': literal(sines.ROUND), 'SINE': _horner(sines.SINE),
        'COSINE': _horner(sines.COSINE),
        **{f'HALF_PI{k}': literal(part) for k, part in enumerate(sines.HALF_PI)}})
    functions = {re.findall(r'(\w+)\(', each.partition('*/')[2])[0]: each
                 for each in text.split('\n\n')}
    return [line for name in sorted(names) for code in (*functions[name].splitlines(), '')
            for line in wrapped(code.lstrip(), (len(code) - len(code.lstrip())) // len(INDENT))]


def _horner(coefficients: Iterable[float]) -> str:
    text, *rest = map(literal, coefficients)
    for each in rest:
        text = f'(({text} * z) + {each})'
    return text
