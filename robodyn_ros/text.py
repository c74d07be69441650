"""Tables, paragraphs and verdicts as text, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
import re
from textwrap import wrap
from typing import NamedTuple

WIDTH = 100
_KEPT = '\u00a0'


class Criterion(NamedTuple):
    """
    A criterion and its result.

    Attributes
    ----------
    text : str
        Criterion with its bound.
    measured : str
        Measured value.
    passed : bool or None
        Whether the criterion holds; None if the machine was too busy to judge it.

    """

    text: str
    measured: str
    passed: bool | None


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], groups: Sequence[str] = (),
          width: int = WIDTH) -> list[str]:
    """
    Return the lines of a table; the first column flush left, the others right.

    Parameters
    ----------
    heads : sequence of str
        Heads of the columns.
    rows : iterable of sequences of str
        Cells; those of the first column are cut where the table is too wide. If that makes them
        ambiguous, they are numbered and listed in full below the table.
    groups : sequence of str, optional
        Line above the heads: the group of each column; adjacent columns with the same text are
        one group.
    width : int
        Largest width, in characters.

    """
    cells = [tuple(heads), *(tuple(row) for row in rows)]
    sizes = [max(len(row[k]) for row in cells) for k in range(len(heads))]
    spans = [list(span) for _, span in groupby(range(len(groups)), key=groups.__getitem__)]
    for span in spans:
        lacking = len(groups[span[0]]) + 2 - _extent(sizes, span)
        sizes[span[0]] += max(0, lacking) if span[0] else 0
    sizes[0] = max(8, min(sizes[0], width - _extent(sizes, range(1, len(sizes))) - 2))
    labels, legend = _labels([row[0] for row in cells], sizes[0], width)
    lines = ['  '.join((label.ljust(sizes[0]),
                        *(cell.rjust(size) for cell, size in zip(row[1:], sizes[1:]))))
             for label, row in zip(labels, cells)]
    above = ['  '.join(groups[span[0]].rjust(_extent(sizes, span)) for span in spans).rstrip()]
    return [*(above if groups else ()), lines[0], '-' * len(lines[0]), *lines[1:], *legend]


def _labels(texts: Sequence[str], size: int, width: int) -> tuple[list[str], list[str]]:
    """Return the cells of the first column, and the legend below the table."""
    cut = [shortened(text, size) for text in texts]
    if len(set(cut)) == len(set(texts)):
        return cut, []
    names = texts[1:]
    labels = [f'{k} ' + shortened(name, size - len(f'{k} ')) for k, name in enumerate(names, 1)]
    legend = [line for k, name in enumerate(names, 1)
              for line in wrap(f'{k} {name}', width, subsequent_indent='  ')]
    return [cut[0], *labels], ['', *legend]


def _extent(sizes: Sequence[int], columns: Sequence[int]) -> int:
    """Return the width of adjacent columns."""
    return sum(sizes[k] for k in columns) + 2 * (len(columns) - 1)


def shortened(text: str, size: int) -> str:
    """Return a text cut to a size; its end is kept, where names of joints differ."""
    return text if len(text) <= size else '~' + text[len(text) - size + 1:]


def paragraph(label: str, text: str, width: int = WIDTH) -> list[str]:
    """Return the lines of a text with a label, indented by the length of the label."""
    # no line break between a number and its unit
    kept = re.sub(r'(?<=[\d)]) (?=[a-zA-Z%|])', _KEPT, text).replace('N m', f'N{_KEPT}m')
    rows = wrap(kept, width, initial_indent=label, subsequent_indent=' ' * len(label),
                break_on_hyphens=False)
    return [row.replace(_KEPT, ' ') for row in rows] or [label]


def verdict(criteria: Sequence[Criterion], reservation: str = '') -> list[str]:
    """Return one line for each criterion, and one for all of them, with a reservation if any."""
    size = max(len(each.text) for each in criteria)
    words = {True: 'pass', False: 'FAIL', None: 'busy'}
    lines = [f'{words[each.passed]}  {each.text:<{size}}  {each.measured}' for each in criteria]
    failed = sum(each.passed is False for each in criteria)
    judged = sum(each.passed is not None for each in criteria)
    lines.append(f'{failed} of {judged} criteria failed' if failed else
                 f'all {judged} criteria hold' if judged == len(criteria) else
                 f'{judged} of {len(criteria)} criteria hold, the rest needs a less busy machine')
    lines[-1] += f'; but {reservation}' if reservation else ''
    return lines


def number(value: float) -> str:
    """Return a number with about three digits, and never an exponent."""
    size = abs(value)
    if not size < float('inf'):
        return '-'
    if size < 0.0005:
        return '<0.001' if size else '0'
    for bound, digits in ((0.0995, 3), (9.995, 2), (99.95, 1)):
        if size < bound:
            return f'{value:.{digits}f}'
    return f'{value:.0f}'
