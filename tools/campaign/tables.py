"""The results of a fault campaign as a table on the terminal, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
import json
import math
from typing import TYPE_CHECKING

from robodyn_ros.text import number, table
from tools.campaign.cases import Case

if TYPE_CHECKING:  # the runner needs ROS
    from tools.campaign.run import Outcome

_VERDICTS = {True: 'pass', False: 'FAIL', None: 'busy'}
_RECOVERIES = ('itself', 'reset', 'restart')


def row(outcome: Outcome) -> str:
    """Return one line about a run."""
    figures, result = outcome.figures, _VERDICTS[outcome.passed]
    failed = _failed(outcome)
    if figures is None or outcome.recording is None or failed:
        return '; '.join([result, *failed])
    rest = figures.rest if math.isfinite(figures.rest) else math.nan
    return (f'{result}  at {100 * figures.speed_at_fault:.0f} % speed, rest {number(rest)} s, '
            f'drift {number(1e3 * figures.drift)} mrad, {outcome.recording.recovery}')


def summary(cases: Sequence[Case], outcomes: Sequence[Outcome],
            skipped: dict[str, str]) -> list[str]:
    """Return the lines of the table, of failed runs, and of the verdict."""
    lines = table(('fault', 'pass', 'runs', '% torque', '% step', '% speed', 'gap (s)', 'rest (s)',
                   'drift', 'recovers'),
                  [_cells(case.name, runs) for case, runs in _by_case(cases, outcomes)])
    lines += [f'skipped  {name}: {reason}' for name, reason in skipped.items()]
    lines += [f'{_VERDICTS[each.passed]}  {each.case}, seed {each.seed}: '
              + '; '.join(_failed(each)) for each in outcomes if not each.passed]
    return [*lines, '', verdict(outcomes)]


def _failed(outcome: Outcome) -> list[str]:
    return [f'{each.text}: {each.measured}' for each in outcome.criteria if not each.passed]


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Return one line about all runs."""
    failed = sum(each.passed is False for each in outcomes)
    busy = sum(each.passed is None for each in outcomes)
    text = f'{len(outcomes) - failed - busy} of {len(outcomes)} runs passed'
    return text + (f', {busy} could not be judged: the machine was busy' if busy else '')


def _by_case(cases: Sequence[Case], outcomes: Sequence[Outcome]
             ) -> Iterable[tuple[Case, list[Outcome]]]:
    for case in cases:
        runs = [each for each in outcomes if each.case == case.name]
        if runs:
            yield case, runs


def _cells(name: str, runs: Sequence[Outcome]) -> list[str]:
    """Return the worst figures of the runs of a fault."""
    measured = [each.figures for each in runs if each.figures is not None]

    def worst(of: Callable) -> str:
        values = [of(each) for each in measured]
        return number(max(values)) if values else '-'

    # s after the end of the fault
    rest = [max(each.figures.rest - each.recording.lasted, 0.0)
            for each in runs if each.figures and each.recording]
    return [name, str(sum(each.passed is True for each in runs)), str(len(runs)),
            worst(lambda each: 100.0 * each.torque), worst(lambda each: 100.0 * each.step),
            worst(lambda each: 100.0 * each.speed), worst(lambda each: each.gap),
            number(max(rest)) if rest else '-', worst(lambda each: 1e3 * each.drift),
            recoveries(runs)]


def recoveries(runs: Sequence[Outcome]) -> str:
    """Return how often each kind of recovery was needed."""
    found = [each.recording.recovery for each in runs if each.recording is not None]
    counts = [f'{how} {found.count(how)}' for how in _RECOVERIES if how in found]
    failed = sum(how not in _RECOVERIES for how in found)
    return ', '.join([*counts, *([f'not {failed}'] if failed else [])]) or '-'


def markdown(cases: Sequence[Case], outcomes: Sequence[Outcome],
             skipped: dict[str, str]) -> str:
    """Return the tables of the campaign: figures, then faults and requirements."""
    heads = ('fault', 'passed', 'torque', 'step', 'speed', 'gap', 'rest', 'drift', 'recovery')
    rows = [[cells[0], f'{cells[1]} of {cells[2]}', *cells[3:]] for cells in
            (_cells(case.name, runs) for case, runs in _by_case(cases, outcomes))]
    return '\n'.join([
        *_grid(heads, rows), '', f'{verdict(outcomes)}.', '',
        *[f'Skipped: {name}, because {reason}.' for name, reason in skipped.items()],
        *description(cases), ''])


def description(cases: Sequence[Case]) -> list[str]:
    """Return the lines of the table of faults and requirements, as Markdown."""
    return _grid(
        ('fault', 'what is done', 'what must happen', 'criteria', 'logged'),
        [(case.name, case.description, case.expected, case.requirements.words(),
          _patterns(case)) for case in cases])


def _patterns(case: Case) -> str:
    return '; '.join(f'`{pattern}`' + (f' if it lasts {length:g} s' if length else '')
                     for length, pattern in case.logged)


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(heads), _line(['---'] * len(heads)), *map(_line, rows)]


def _line(cells: Iterable[str]) -> str:
    return f'| {" | ".join(cells)} |'


def as_json(outcomes: Sequence[Outcome], skipped: dict[str, str]) -> str:
    """Return all runs as JSON; numbers that are not finite are null."""
    runs = [{'fault': each.case, 'seed': each.seed, 'passed': each.passed,
             'attempts': each.attempts, 'draw': asdict(each.draw),
             'figures': asdict(each.figures) if each.figures else None,
             'recovery': each.recording.recovery if each.recording else None,
             'first_warning': each.recording.first_warning if each.recording else None,
             'failed': _failed(each)}
            for each in outcomes]
    return json.dumps(_finite({'skipped': skipped, 'runs': runs}), indent=1) + '\n'


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
