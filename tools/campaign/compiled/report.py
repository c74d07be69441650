"""Results of compiled runs as Markdown, and as histograms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robodyn_ros.montecarlo.measured import CALM
from robodyn_ros.montecarlo.results import cells, DRAWN, EDGES, Rate, Summary, verdict
from robodyn_ros.picture import colour, picture
from robodyn_ros.text import number

_CALM_HEADS = ('fault', 'runs', 'failed', 'before', 'after', 'end', 'faults', '% step', '% speed')
_HEADS = ('fault', 'runs', 'failed', '>150 %', 'fell', '>rate', '% torque', '% step', '% speed',
          'beyond', 'drift')


def _calm_cells(each: Summary) -> list[str]:
    runs, worst = each.failed.runs, each.worst
    return [each.name, str(runs), each.failed.text(), *(
        Rate(each.criteria[text], runs).text() for text in CALM), str(each.faults),
        number(100.0 * worst['step']), number(100.0 * worst['speed'])]


def markdown(found: Sequence[Summary], drawn: bool = False) -> str:
    """Return the table of the runs in Markdown; drawn: that of drawn plants."""
    heads, row = (_CALM_HEADS, _calm_cells) if drawn else (_HEADS, cells)
    rows = [heads, ['---'] * len(heads), *map(row, found)]
    return '\n'.join([*(f'| {" | ".join(each)} |' for each in rows), '', f'{verdict(found)}.', ''])


def draw_histograms(path: Path, found: Sequence[Summary]) -> None:
    """Write histograms of the figures of all runs (raises ImportError without matplotlib)."""
    with picture(path, len(DRAWN), 1, figsize=(8.0, 2.2 * len(DRAWN)), layout='constrained') as (
            _, axes):
        for k, (axis, (name, (label, _))) in enumerate(zip(axes, DRAWN.items())):
            counts = np.sum([each.counts[name] for each in found], axis=0)
            used = np.flatnonzero(counts)
            axis.stairs(counts, EDGES, fill=True, color=colour(k))
            axis.set(xscale='log', yscale='log', xlabel=label, ylabel='runs',
                     xlim=(EDGES[used[0]], EDGES[used[-1] + 1]))
