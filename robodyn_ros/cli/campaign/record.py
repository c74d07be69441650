"""The table of a fault campaign: on the terminal, as Markdown, and for machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
import json
import math
from typing import TYPE_CHECKING

from robodyn_ros.cli.campaign.faults import Case
from robodyn_ros.cli.report import number, table

if TYPE_CHECKING:  # the runner needs ROS
    from robodyn_ros.cli.campaign.run import Outcome

_WORDS = {True: 'pass', False: 'FAIL', None: 'busy'}
_HOW = ('itself', 'reset', 'restart')


def row(outcome: Outcome) -> str:
    """Return one line about a run."""
    bad = [f'{each.text}: {each.measured}' for each in outcome.criteria if not each.passed]
    figures, words = outcome.figures, _WORDS[outcome.passed]
    if figures is None or bad:
        return '; '.join([words, *bad])
    rest = figures.rest if math.isfinite(figures.rest) else math.nan
    return (f'{words}  at {100 * figures.speed_at_fault:.0f} % speed, rest {number(rest)} s, '
            f'drift {number(1e3 * figures.drift)} mrad, {outcome.recording.recovery}')


def summary(cases: Sequence[Case], outcomes: Sequence[Outcome],
            skipped: dict[str, str]) -> list[str]:
    """Return the table, a line per fault, what failed, and the verdict."""
    lines = table(('fault', 'pass', 'runs', '% torque', '% step', '% speed', 'gap (s)', 'rest (s)',
                   'drift', 'recovers'),
                  [_cells(case.name, some) for case, some in _by_case(cases, outcomes)])
    lines += [f'skipped  {name}: {reason}' for name, reason in skipped.items()]
    lines += [f'{_WORDS[each.passed]}  {each.case}, seed {each.seed}: '
              + '; '.join(f'{one.text}: {one.measured}' for one in each.criteria
                          if not one.passed)
              for each in outcomes if not each.passed]
    return [*lines, '', verdict(outcomes)]


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Return one line about all runs."""
    bad = sum(each.passed is False for each in outcomes)
    busy = sum(each.passed is None for each in outcomes)
    text = f'{len(outcomes) - bad - busy} of {len(outcomes)} runs passed'
    return text + (f', {busy} could not be judged: the machine was busy' if busy else '')


def _by_case(cases: Sequence[Case], outcomes: Sequence[Outcome]
             ) -> Iterable[tuple[Case, list[Outcome]]]:
    for case in cases:
        some = [each for each in outcomes if each.case == case.name]
        if some:
            yield case, some


def _cells(name: str, some: Sequence[Outcome]) -> list[str]:
    """Return the worst figures of a fault."""
    measured = [each.figures for each in some if each.figures is not None]

    def worst(of: Callable) -> str:
        values = [of(each) for each in measured]
        return number(max(values)) if values else '-'

    # how long after the end of the fault
    rest = [max(each.figures.rest - each.recording.lasted, 0.0)
            for each in some if each.figures]
    return [name, str(sum(each.passed is True for each in some)), str(len(some)),
            worst(lambda each: 100.0 * each.torque), worst(lambda each: 100.0 * each.step),
            worst(lambda each: 100.0 * each.speed), worst(lambda each: each.gap),
            number(max(rest)) if rest else '-', worst(lambda each: 1e3 * each.drift),
            recoveries(some)]


def recoveries(some: Sequence[Outcome]) -> str:
    """Return what it took to move again, and how often."""
    found = [each.recording.recovery for each in some if each.recording is not None]
    told = [f'{how} {found.count(how)}' for how in _HOW if how in found]
    other = sum(how not in _HOW for how in found)
    return ', '.join([*told, *([f'not {other}'] if other else [])]) or '-'


def markdown(cases: Sequence[Case], outcomes: Sequence[Outcome],
             skipped: dict[str, str]) -> str:
    """Return the tables of `docs/reliability.md`: figures, then what was done and asked for."""
    heads = ('fault', 'passed', 'torque', 'step', 'speed', 'gap', 'rest', 'drift', 'recovery')
    rows = [[cells[0], f'{cells[1]} of {cells[2]}', *cells[3:]] for cells in
            (_cells(case.name, some) for case, some in _by_case(cases, outcomes))]
    rules = [(case.name, case.text, case.must, case.bounds.words(), _sayings(case))
             for case in cases]
    return '\n'.join([
        *_grid(heads, rows), '', f'{verdict(outcomes)}.', '',
        *[f'Skipped: {name}, because {reason}.' for name, reason in skipped.items()],
        *_grid(('fault', 'what is done', 'what must happen', 'criteria', 'said'), rules), ''])


def _sayings(case: Case) -> str:
    return '; '.join(f'`{words}`' + (f' if it lasts {least:g} s' if least else '')
                     for least, words in case.says)


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(heads), _line(['---'] * len(heads)), *map(_line, rows)]


def _line(cells: Iterable[str]) -> str:
    return f'| {" | ".join(cells)} |'


def as_json(outcomes: Sequence[Outcome], skipped: dict[str, str]) -> str:
    """Return every run as JSON; numbers that are not finite are null."""
    runs = [{'fault': each.case, 'seed': each.seed, 'passed': each.passed,
             'attempts': each.attempts, 'draw': asdict(each.draw),
             'figures': asdict(each.figures) if each.figures else None,
             'recovery': each.recording.recovery if each.recording else None,
             'told': each.recording.told if each.recording else None,
             'failed': [f'{one.text}: {one.measured}' for one in each.criteria if not one.passed]}
            for each in outcomes]
    return json.dumps(_finite({'skipped': skipped, 'runs': runs}), indent=1) + '\n'


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
