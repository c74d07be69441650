"""Findings of a check, each with level, kind and text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from robodyn_ros.exceptions import printable
from robodyn_ros.text import paragraph

STOP, WARNING, NOTE = 'stop', 'warning', 'note'
_LONGEST = 10_000  # characters of a finding; a message may name any number of joints
_LABELS = {STOP: 'STOP  ', WARNING: 'warn  ', NOTE: 'note  '}


class Finding(NamedTuple):
    """
    A finding.

    Attributes
    ----------
    level : {'stop', 'warning', 'note'}
        'stop': the controller would not start, or must not.
    kind : str
        Subject, for programs: model, inertia, limits, gravity, payload, ...
    text : str
        Message with names, values, units and, if there is one, a remedy.

    """

    level: str
    kind: str
    text: str


def lines(findings: Iterable[Finding]) -> list[str]:
    """Return the findings as lines, ordered by level."""
    order = list(_LABELS)
    ranked = sorted(findings, key=lambda each: order.index(each.level))
    return [line for each in ranked
            for line in paragraph(_LABELS[each.level], printable(each.text, _LONGEST))]


def stops(findings: Iterable[Finding]) -> int:
    """Return the number of findings that prevent a start."""
    return sum(each.level == STOP for each in findings)


def listed(names: Sequence[str]) -> str:
    """Return quoted names, separated by commas."""
    return ', '.join(f"'{name}'" for name in names)
