"""
Files of C with places for values, and parts that are left out; functions that others call.

Sine and cosine are those of the LLVM backend (`dynamics.jit.sines`): one reduction and two
polynomials per angle below 1e6 rad, in a loop that compilers turn into vectors; beyond, the C
library's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
import re

from robodyn_ros.dynamics.jit import sines
from robodyn_ros.export.syntax import INDENT, literal, wrapped

# macros and types that exported files use
INCLUDES = ('math.h', 'stdbool.h', 'stdint.h')
# functions of math.h that may be called
LIBM = ('cos', 'fabs', 'floor', 'rint', 'sin', 'sqrt')
_FOLDER = Path(__file__).parent
_PLACE = re.compile(r'@([A-Z_]+\d?)@')


def filled(name: str, values: Mapping[str, str], parts: Collection[str] = ()) -> str:
    """
    Return a template as the text of a file.

    Parameters
    ----------
    name : str
        Its path in this package.
    values : mapping of str to str
        Text for each place, such as `@NAME@`.
    parts : collection of str
        Parts that are not left out: lines between `@if part`, `@else` and `@end`.

    """
    lines, shown = [], [True]
    for line in (_FOLDER / name).read_text(encoding='utf-8').splitlines():
        if line.startswith('@if '):
            shown.append(shown[-1] and line[4:] in parts)
        elif line == '@else':
            shown[-1] = shown[-2] and not shown[-1]
        elif line == '@end':
            shown.pop()
        elif shown[-1]:
            lines.append(_PLACE.sub(lambda found: values[found[1]], line))
    return '\n'.join(lines) + '\n'


def helpers(names: Collection[str]) -> list[str]:
    """Return the definitions of functions of support.c by name; each file has its own copies."""
    text = filled('c/support.c', {
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
