"""Reports of the state of an arm, changed by faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.simulation.fault_loop.fault_numbers import fault_of, numbers
from robodyn_ros.simulation.fault_loop.link import changed
from robodyn_ros.simulation.faults import Fault


# numbers that change position, velocity or effort
_OF_STATE = {'repeats', 'frozen', 'position', 'velocity_gain', 'velocity', 'effort'}


@dataclass(frozen=True)
class StateReport:
    """
    A reported joint state; joints in any order.

    Attributes
    ----------
    names : tuple of str
    position, velocity, effort : array
        One number per name.
    stamp : int
        Time of measurement, in ns.

    """

    names: tuple[str, ...]
    position: NDArray
    velocity: NDArray
    effort: NDArray
    stamp: int

    def subset(self, indices: Sequence[int]) -> StateReport:
        """Return the report of some joints."""
        chosen = list(indices)
        return replace(self, names=tuple(self.names[i] for i in chosen),
                       position=self.position[chosen], velocity=self.velocity[chosen],
                       effort=self.effort[chosen])


class FaultyReports:
    """Reports under the active faults; keeps what this needs of earlier ones."""

    def __init__(self) -> None:
        # numbers of each active fault, and its memory, see `link.changed`
        self._active: dict[Fault, tuple[SimpleNamespace, list]] = {}
        self._delayed: deque[tuple[float, StateReport]] = deque()

    @property
    def idle(self) -> bool:
        """Whether no report is kept or delayed."""
        return not (self._active or self._delayed)

    def reset(self) -> None:
        """Delete kept and delayed reports."""
        self._active.clear()
        self._delayed.clear()

    def apply(self, time: float, report: StateReport, active: Sequence[Fault]
              ) -> list[StateReport]:
        """
        Return the reports that replace one report: none, one or several.

        Parameters
        ----------
        time : float
            Time (s) on the clock of the faults.
        report : StateReport
            Nominal report.
        active : sequence of Fault
            Active faults.

        """
        state = [each.tolist() for each in (report.position, report.velocity, report.effort)]
        known, self._active = self._active, {}
        clock, silent, delay = 0.0, False, 0.0
        for fault in active:
            f, memory = known.get(fault) or (_numbers(fault, report.names), [0.0, *state])
            if f.of_state:
                state, memory = changed(f, 1.0, state, memory)
            self._active[fault] = f, memory
            clock, silent, delay = clock + f.clock, silent or f.silent > 0.0, max(delay, f.delay)
        position, velocity, effort = map(np.array, state)
        # a message cannot carry a time before the epoch
        report = replace(report, position=position, velocity=velocity, effort=effort,
                         stamp=max(0, report.stamp + round(1e9 * clock)))
        for fault in active:
            if fault.kind in _EDITS:
                report = _EDITS[fault.kind](fault, report)
        if delay:
            self._delayed.append((time + delay, report))
        # the end of a delay releases all reports at once, so that their order is kept
        reports = []
        while self._delayed and (not delay or self._delayed[0][0] <= time + 1e-9):
            reports.append(self._delayed.popleft()[1])
        if not delay:
            reports.append(report)
        return [] if silent else reports


def _numbers(fault: Fault, names: Sequence[str]) -> SimpleNamespace:
    """Return the numbers of a fault, with `of_state`: whether they change position and others."""
    effect = fault.numbers(names)
    found = fault_of(numbers(len(names), effect).tolist(), len(names))
    found.of_state = not _OF_STATE.isdisjoint(effect)
    return found


def _swap(fault: Fault, report: StateReport) -> StateReport:
    first, second = fault.joints
    other = {first: second, second: first}
    return replace(report, names=tuple(other.get(name, name) for name in report.names))


def _missing(fault: Fault, report: StateReport) -> StateReport:
    return report.subset([i for i, name in enumerate(report.names) if name not in fault.joints])


def _duplicate(fault: Fault, report: StateReport) -> StateReport:
    again = [i for i, name in enumerate(report.names) if name in fault.joints]
    return report.subset([*range(len(report.names)), *again[:1]])


def _extra(_fault: Fault, report: StateReport) -> StateReport:
    position, velocity, effort = (np.concatenate([[9.9], each]) for each in (
        report.position, report.velocity, report.effort))
    return replace(report, names=('unknown_joint', *report.names), position=position,
                   velocity=velocity, effort=effort)


def _reorder(_fault: Fault, report: StateReport) -> StateReport:
    return report.subset(range(len(report.names) - 1, -1, -1))


# faults that change the form of a message, not its numbers
_EDITS: dict[str, Any] = {'swap': _swap, 'missing': _missing, 'duplicate': _duplicate,
                          'extra': _extra, 'reorder': _reorder}
