"""What a check has found: how grave it is, what it is about, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from robodyn_ros.cli.report import paragraph
from robodyn_ros.exceptions import printable

STOP, WARNING, NOTE = 'stop', 'warning', 'note'
_LONGEST = 10_000  # characters of a finding: a message may name any number of joints
_LABELS = {STOP: 'STOP  ', WARNING: 'warn  ', NOTE: 'note  '}


class Finding(NamedTuple):
    """
    One finding.

    Attributes
    ----------
    level : {'stop', 'warning', 'note'}
        Whether the controller would not start or must not, something is odd, or good to know.
    kind : str
        What it is about, for programs: model, inertia, limits, gravity, payload, ...
    text : str
        With names, values and units, and a remedy where there is one.

    """

    level: str
    kind: str
    text: str


def lines(findings: Iterable[Finding]) -> list[str]:
    """Return the findings as text, the gravest first."""
    order = list(_LABELS)
    ranked = sorted(findings, key=lambda each: order.index(each.level))
    return [line for each in ranked
            for line in paragraph(_LABELS[each.level], printable(each.text, _LONGEST))]


def stops(findings: Iterable[Finding]) -> int:
    """Return how many stop a start."""
    return sum(each.level == STOP for each in findings)


def listed(names: Sequence[str]) -> str:
    """Return names for a sentence, all of them."""
    return ', '.join(f"'{name}'" for name in names)
