"""Lines of C that are not too long."""

from __future__ import annotations

import textwrap

WIDTH = 99
INDENT = '    '


def wrapped(text: str, depth: int = 0) -> list[str]:
    """Return code as lines: broken at spaces where it is too long, `depth` blocks inside."""
    line = INDENT * depth + text
    if len(line) <= WIDTH:
        return [line]
    return textwrap.wrap(text, WIDTH, initial_indent=INDENT * depth,
                         subsequent_indent=INDENT * (depth + 1), break_long_words=False,
                         break_on_hyphens=False)
