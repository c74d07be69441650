"""Files of C with places for values, and parts that are left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
import re

_FOLDER = Path(__file__).parent / 'c'
_PLACE = re.compile(r'@([A-Z_]+\d?)@')


def filled(name: str, values: Mapping[str, str], parts: Collection[str] = ()) -> str:
    """
    Return a template as the text of a file.

    Parameters
    ----------
    name : str
        Its file.
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
