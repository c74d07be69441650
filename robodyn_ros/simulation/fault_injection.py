"""Effect of faults on the reported states of an arm, and on its motors."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.simulation.faults import Fault


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


_OUTLIERS = 50      # one state of this many has a wrong velocity


class FaultInjector:
    """Applies the active faults to reports; keeps the reports that this needs."""

    def __init__(self) -> None:
        self._kept: dict[Fault, Any] = {}  # value at the beginning of a fault
        self._delayed: deque[tuple[float, StateReport]] = deque()

    @property
    def idle(self) -> bool:
        """Whether no report is kept or delayed."""
        return not (self._kept or self._delayed)

    def reset(self) -> None:
        """Delete kept and delayed reports."""
        self._kept.clear()
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
        self._kept = {fault: value for fault, value in self._kept.items() if fault in active}
        delays = [fault.amount for fault in active if fault.kind == 'delay']
        silent = False
        for fault in active:
            if fault.kind in self._LASTING:
                report = self._LASTING[fault.kind](self, fault, report)
            elif fault.kind == 'silence':
                silent = True
            elif fault.kind in _CHANGES:
                report = _CHANGES[fault.kind](fault, report)
        if delays:
            self._delayed.append((time + max(delays), report))
        # the end of a delay releases all reports at once, so that their order is kept
        reports = []
        while self._delayed and (not delays or self._delayed[0][0] <= time + 1e-9):
            reports.append(self._delayed.popleft()[1])
        if not delays:
            reports.append(report)
        return [] if silent else reports

    def _freeze(self, fault: Fault, report: StateReport) -> StateReport:
        i = _index(report, fault.joints[0])
        if i is None:
            return report
        position, velocity = report.position.copy(), report.velocity.copy()
        position[i] = self._kept.setdefault(fault, position[i])
        velocity[i] = 0.0
        return replace(report, position=position, velocity=velocity)

    def _repeat(self, fault: Fault, report: StateReport) -> StateReport:
        return replace(self._kept.setdefault(fault, report), stamp=report.stamp)

    def _outliers(self, fault: Fault, report: StateReport) -> StateReport:
        count = self._kept[fault] = self._kept.get(fault, 0) + 1
        if count % _OUTLIERS:
            return report
        return _filled(fault.amount, 'velocity')(fault, report)

    def _second_arm(self, fault: Fault, report: StateReport) -> StateReport:
        count = self._kept[fault] = self._kept.get(fault, 0) + 1
        return report if count % 2 == 0 else replace(
            report, position=report.position + fault.amount, velocity=0.0 * report.velocity)

    _LASTING = {'freeze': _freeze, 'repeat': _repeat, 'velocity_outliers': _outliers,
                'second_arm': _second_arm}


def lost_torque(active: Sequence[Fault], torque: NDArray, joint_names: Sequence[str]) -> NDArray:
    """Return the torque (model order) with zeros for motors that have failed."""
    failed = [list(joint_names).index(fault.joints[0]) for fault in active
              if fault.kind == 'torque_loss' and fault.joints[0] in joint_names]
    if not failed:
        return torque
    remaining = torque.copy()
    remaining[failed] = 0.0
    return remaining


def emergency_stop(active: Sequence[Fault]) -> bool:
    """Return whether the emergency stop is pressed."""
    return any(fault.kind == 'estop' for fault in active)


def commands_dropped(active: Sequence[Fault]) -> bool:
    """Return whether commands are dropped."""
    return any(fault.kind == 'deaf' for fault in active)


def _index(report: StateReport, joint: str) -> int | None:
    return report.names.index(joint) if joint in report.names else None


def _filled(value: float, *fields: str):
    """Return a function that replaces fields of a report by a number."""
    def fill(fault: Fault, report: StateReport) -> StateReport:
        chosen = [not fault.joints or name in fault.joints for name in report.names]
        values: dict[str, Any] = {field: np.where(chosen, value, getattr(report, field))
                                  for field in fields}
        return replace(report, **values)
    return fill


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


def _scale(fault: Fault, report: StateReport) -> StateReport:
    chosen = [not fault.joints or name in fault.joints for name in report.names]
    return replace(report, velocity=np.where(chosen, fault.amount, 1.0) * report.velocity)


def _clock_jump(fault: Fault, report: StateReport) -> StateReport:
    # a message cannot carry a time before the epoch
    return replace(report, stamp=max(0, report.stamp + round(1e9 * fault.amount)))


_CHANGES = {'nan': _filled(np.nan, 'position', 'velocity'),
            'nan_velocity': _filled(np.nan, 'velocity'), 'nan_effort': _filled(np.nan, 'effort'),
            'infinite': _filled(np.inf, 'position'), 'extra': _extra, 'swap': _swap,
            'missing': _missing, 'duplicate': _duplicate, 'reorder': _reorder,
            'clock_jump': _clock_jump, 'velocity_zero': _filled(0.0, 'velocity'),
            'velocity_scale': _scale}
