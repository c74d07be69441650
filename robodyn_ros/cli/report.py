"""Text for people: tables and verdicts, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

WIDTH = 100


class Criterion(NamedTuple):
    """
    Something that must hold.

    Attributes
    ----------
    text : str
        What must hold, with its bound.
    measured : str
        What was found.
    passed : bool
        Whether it holds.

    """

    text: str
    measured: str
    passed: bool


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], groups: Sequence[str] = (),
          width: int = WIDTH) -> list[str]:
    """
    Return the lines of a table; the first column flush left, the others right.

    Parameters
    ----------
    heads : sequence of str
        Of the columns. A head that starts with a space sets its column apart from the one before.
    rows : iterable of sequences of str
        Cells; the first column is cut where the table would get too wide.
    groups : sequence of str, optional
        A line above the heads: a text for each column that begins a group, '' for the others.
    width : int
        Most columns of the terminal.

    """
    cells = [tuple(heads), *(tuple(row) for row in rows)]
    sizes = [max(len(row[k]) for row in cells) for k in range(len(heads))]
    sizes[0] = max(8, min(sizes[0], width - sum(sizes[1:]) - 2 * (len(sizes) - 1)))
    lines = [_group_line(groups, sizes)] if groups else []
    lines += ['  '.join((shortened(row[0], sizes[0]).ljust(sizes[0]),
                         *(cell.rjust(size) for cell, size in zip(row[1:], sizes[1:])))).rstrip()
              for row in cells]
    lines.insert(len(lines) - len(cells) + 1, '-' * (sum(sizes) + 2 * (len(sizes) - 1)))
    return lines


def _group_line(groups: Sequence[str], sizes: Sequence[int]) -> str:
    """Return group texts, each ending where the last column of its group ends."""
    ends = [k for k in range(len(groups)) if k + 1 == len(groups) or groups[k + 1]]
    line, text = '', ''
    for k, group in enumerate(groups):
        text = group or text
        if k in ends:
            stop = sum(sizes[:k + 1]) + 2 * k
            line += text.rjust(stop - len(line)) if line or k else text.ljust(stop)
            text = ''
    return line.rstrip()


def shortened(text: str, size: int) -> str:
    """Return a text cut in its middle to a size."""
    if len(text) <= size:
        return text
    head = (size - 1) // 2
    return f'{text[:head]}~{text[len(text) - (size - 1 - head):]}'


def verdict(criteria: Sequence[Criterion]) -> list[str]:
    """Return one line for each criterion, and one for all of them."""
    size = max(len(each.text) for each in criteria)
    lines = [f'{"pass" if each.passed else "FAIL"}  {each.text:<{size}}  {each.measured}'
             for each in criteria]
    failed = sum(not each.passed for each in criteria)
    lines.append(f'{failed} of {len(criteria)} criteria failed' if failed else
                 f'all {len(criteria)} criteria hold')
    return lines


def number(value: float) -> str:
    """Return a number with about three digits, without an exponent where that is readable."""
    size = abs(value)
    if not size < float('inf'):
        return '-'
    for bound, digits in ((0.0995, 3), (9.995, 2), (99.95, 1)):
        if size < bound:
            return f'{value:.{digits}f}'
    return f'{value:.0f}'
