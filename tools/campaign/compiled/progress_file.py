"""Results of compiled runs in a file, which an interrupted campaign continues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
import json
from pathlib import Path
from typing import Any

from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.montecarlo.results import Rate, Summary

_RATES = ('failed', 'fast', 'fell', 'steep')


class ProgressFile:
    """
    Summaries of parts of a campaign: a line of settings, then a line for each part.

    Files of campaigns of the same robot and code may be joined with `cat`.

    Parameters
    ----------
    path : Path
        File; created if missing. A line that was not written completely is ignored.
    settings : dict
        What the results depend on, besides the seeds.

    Raises
    ------
    ParameterError
        The file is of a campaign with other settings, or of something else.

    """

    def __init__(self, path: Path, settings: dict):
        self.path = path
        self.parts: dict[tuple[int, int], tuple[Summary, int]] = {}
        known = False
        for number, row in self._rows():
            if 'first' in row:
                try:
                    self.parts[row['first'], row['runs']] = _summary_of(row), int(row['steps'])
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    raise ParameterError(
                        f'{path}, line {number} is not the result of a part ({shown(error)}): '
                        'choose another file, or remove it') from error
            elif row.get('settings') != settings:
                raise ParameterError(f'{path} has results of {row.get("settings")}, this campaign '
                                     f'is of {settings}: choose another file, or remove it')
            known = True
        if path.exists() and not path.read_bytes().endswith(b'\n'):
            self._write('\n')  # after a line that was interrupted
        if not known:
            self._append({'settings': settings})

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        if not self.path.exists():
            return
        lines = self.path.read_bytes().splitlines()
        unread = []
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                unread.append(number)
                continue
            if not isinstance(row, dict):
                unread.append(number)
                continue
            yield number, row
        if lines and len(unread) == len(lines):
            raise ParameterError(f'{self.path} has no result of a campaign: choose another file, '
                                 'or remove it')

    def add(self, seeds: Sequence[int], summary: Summary, steps: int) -> None:
        """Append the results of a part."""
        rates = {name: getattr(summary, name).events for name in _RATES}
        self._append({'first': seeds[0], 'runs': len(seeds), 'steps': steps,
                      **summary._asdict(), **rates})

    def _append(self, row: dict) -> None:
        self._write(f'{json.dumps(row)}\n')

    def _write(self, text: str) -> None:
        with self.path.open('a', encoding='utf-8') as file:
            file.write(text)


def _summary_of(row: dict[str, Any]) -> Summary:
    """Return a summary as it was before it was written."""
    given = {name: row[name] for name in Summary._fields}
    rates = {name: Rate(row[name], row['runs']) for name in _RATES}
    return Summary(**{**given, **rates, 'criteria': Counter(row['criteria'])})
