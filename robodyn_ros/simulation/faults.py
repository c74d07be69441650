"""
Faults and their times.

A fault is written as

    START KIND [JOINT ...] DURATION [AMOUNT]

such as `2.0 silence 0.1` or `3.5 freeze joint2 0.5` or `now clock_jump 1.0 -0.2`. START is in
seconds of simulated time since the last reset, or `now`; DURATION is in seconds, or `inf`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ArgumentError, near_matches


Numbers = Mapping[str, ArrayLike]
_OUTLIERS = 50      # one state of this many has a wrong velocity


class Kind(NamedTuple):
    """
    A kind of fault.

    Attributes
    ----------
    text : str
        Effect of the fault.
    numbers : callable
        `numbers(flags, amount)` returns the effect by the names of `fault_numbers.FIELDS`, for
        1 or 0 for each joint, whether it has the fault. What changes the form of a message is
        `unreadable`; `reports` edits it.
    joints : tuple of int
        Least and largest number of joints that it names.
    amount : str
        Meaning of AMOUNT; empty if there is none.

    """

    text: str
    numbers: Callable[[NDArray, float], Numbers]
    joints: tuple[int, int] = (0, 0)
    amount: str = ''


def _where(flags: NDArray, value: float) -> NDArray:
    return np.where(flags > 0.0, value, 0.0)


_ANY = 10**6
KINDS = {
    'silence': Kind('no joint states', lambda j, x: {'silent': 1.0}),
    'nan': Kind('position and velocity are NaN, of the named joints or of all', lambda j, x: {
        'position': _where(j, math.nan), 'velocity': _where(j, math.nan)}, (0, _ANY)),
    'nan_velocity': Kind('velocity is NaN, of the named joints or of all',
                         lambda j, x: {'velocity': _where(j, math.nan)}, (0, _ANY)),
    'nan_effort': Kind('effort is NaN, of the named joints or of all, as of arms without effort '
                       'measurement', lambda j, x: {'effort': _where(j, math.nan)}, (0, _ANY)),
    'infinite': Kind('position is infinite, of the named joints or of all',
                     lambda j, x: {'position': _where(j, math.inf)}, (0, _ANY)),
    'freeze': Kind('the measured position of a joint is frozen', lambda j, x: {'frozen': j},
                   (1, 1)),
    'reorder': Kind('joints are in reverse order, with their names',
                    lambda j, x: {'unreadable': 1.0}),
    'swap': Kind('the names of two joints are swapped', lambda j, x: {'unreadable': 1.0}, (2, 2)),
    'missing': Kind('a joint is left out', lambda j, x: {'unreadable': 1.0}, (1, 1)),
    'duplicate': Kind('a joint is reported twice', lambda j, x: {'unreadable': 1.0}, (1, 1)),
    'extra': Kind('a joint that the arm does not have is reported as well; harmless',
                  lambda j, x: {}),
    'delay': Kind('states are delayed, with unchanged stamps', lambda j, x: {'delay': x}, (0, 0),
                  'seconds'),
    'clock_jump': Kind('stamps are off', lambda j, x: {'clock': x}, (0, 0),
                       'seconds, ahead if positive'),
    'repeat': Kind('the last state is repeated with new stamps, as by a driver with a dead '
                   'fieldbus', lambda j, x: {'repeats': 1.0}),
    'velocity_zero': Kind('velocity is zero, of the named joints or of all',
                          lambda j, x: {'velocity_gain': 1.0 - j}, (0, _ANY)),
    'velocity_scale': Kind('velocity is a multiple of the true one, of the named joints or of all',
                           lambda j, x: {'velocity_gain': 1.0 + (x - 1.0) * j}, (0, _ANY),
                           'factor: -1 another sign, 57.3 degrees'),
    'velocity_outliers': Kind('velocity of a joint is wrong in one state of fifty', lambda j, x: {
        'every': _OUTLIERS, 'phase': 0.0, 'velocity_gain': 1.0 - j, 'velocity': x * j}, (1, 1),
        'rad/s or m/s'),
    'second_arm': Kind('a second arm, at rest elsewhere, reports in turn with this one',
                       lambda j, x: {'every': 2.0, 'phase': 1.0, 'velocity_gain': 0.0,
                                     'position': x},
                       (0, 0), 'rad or m, distance of both'),
    'estop': Kind('motors off and brakes on, until the first command after it',
                  lambda j, x: {'brakes': 1.0}),
    'torque_loss': Kind('the motor of a joint gives no torque', lambda j, x: {'motor': 1.0 - j},
                        (1, 1)),
    'deaf': Kind('commands do not arrive: the last torque stays, unless command_timeout ends it',
                 lambda j, x: {'deaf': 1.0}),
}


@dataclass(frozen=True)
class Fault:
    """
    A fault with its time, joints and amount.

    Attributes
    ----------
    start, duration : float
        Start and duration in seconds.
    kind : str
        A key of `KINDS`.
    joints : tuple of str
        Names of the joints.
    amount : float
        Amount; its meaning depends on the kind.

    """

    start: float
    kind: str
    joints: tuple[str, ...] = ()
    duration: float = math.inf
    amount: float = 0.0

    @property
    def end(self) -> float:
        """End of the fault, in seconds."""
        return self.start + self.duration

    def numbers(self, joint_names: Sequence[str]) -> Numbers:
        """Return its effect on these joints, see `Kind`."""
        flags = np.array([not self.joints or name in self.joints for name in joint_names], float)
        return KINDS[self.kind].numbers(flags, self.amount)

    def __str__(self) -> str:
        amount = f' {self.amount:g}' if KINDS[self.kind].amount else ''
        return ' '.join([f'{self.start:.3f}', self.kind, *self.joints, f'{self.duration:.3g}'
                         ]) + amount


def parse_fault(entry: str, joint_names: Sequence[str], now: float = 0.0) -> Fault:
    """
    Return the fault described by a text.

    Parameters
    ----------
    entry : str
        `START KIND [JOINT ...] DURATION [AMOUNT]`.
    joint_names : sequence of str
        Names of the arm's joints.
    now : float
        Start time for `now`, in seconds.

    Raises
    ------
    ArgumentError
        The text is invalid; the message quotes it and describes the form.

    """
    words = entry.split()
    if len(words) < 2:
        raise _refused(entry, 'write it as START KIND [JOINT ...] DURATION [AMOUNT], such as '
                       "'2.0 silence 0.1'")
    if words[1] not in KINDS:
        raise _refused(entry, f'there is no fault {words[1]!r}: ' + near_matches(words[1], KINDS))
    kind = KINDS[words[1]]
    numbers = 2 if kind.amount else 1
    joints = tuple(words[2:-numbers])
    if len(words) < 2 + numbers or not kind.joints[0] <= len(joints) <= kind.joints[1]:
        raise _refused(entry, f'write it as {_form(words[1])!r}: {kind.text}')
    for joint in joints:
        if joint not in joint_names:
            raise _refused(entry, f'there is no joint {joint!r}: '
                           + near_matches(joint, joint_names))
    start = now if words[0] == 'now' else _number(entry, 'START', words[0])
    duration = _number(entry, 'DURATION', words[-numbers], infinite=True)
    amount = _number(entry, 'AMOUNT', words[-1], signed=True) if kind.amount else 0.0
    if words[1] == 'delay' and amount < 0.0:
        raise _refused(entry, f'AMOUNT is {amount:g}: a delay is not negative')
    return Fault(start, words[1], joints, duration, amount)


def _form(kind: str) -> str:
    """Return the form of the text for a kind of fault."""
    least, most = KINDS[kind].joints
    joints = [f'JOINT{i}' if most > 1 else 'JOINT' for i in range(1, least + 1)]
    if most > 2:
        joints = ['[JOINT ...]']
    amount = ['AMOUNT'] if KINDS[kind].amount else []
    return ' '.join(['START', kind, *joints, 'DURATION', *amount])


def _number(entry: str, name: str, text: str, signed: bool = False,
            infinite: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    good = (signed or value >= 0.0) and (math.isfinite(value) or (infinite and value == math.inf))
    if not good:
        kind = 'a finite number' if signed else 'a number of seconds, not negative'
        also = ", or 'now'" if name == 'START' else ", or 'inf'" if infinite else ''
        raise _refused(entry, f'{name} is {text!r}: it must be {kind}{also}')
    return value


def _refused(entry: str, why: str) -> ArgumentError:
    return ArgumentError(f'the fault {entry!r} is not understood: {why}', entry=entry)


class FaultSchedule:
    """
    Schedule of faults.

    Parameters
    ----------
    faults : iterable of Fault
        The faults.

    Attributes
    ----------
    active : tuple of Fault
        Active faults at the time of the last `update`.
    counts : Counter
        Number of faults so far, by kind.
    event : float
        Time of the next change, in s.

    """

    def __init__(self, faults: Iterable[Fault] = ()):
        self._waiting = deque(sorted(faults, key=lambda fault: fault.start))
        self.counts: Counter[str] = Counter()
        self.active: tuple[Fault, ...] = ()
        self.event = -math.inf

    def follow(self, other: FaultSchedule) -> None:
        """Take over the counts of another schedule, and the active faults that both list."""
        self.counts.update(other.counts)
        self.active = tuple(fault for fault in other.active if fault in self._waiting)

    def update(self, time: float) -> bool:
        """Set the time (s), which does not decrease; return whether the active faults change."""
        if time < self.event:
            return False
        before, waiting = self.active, self._waiting
        active = [fault for fault in before if fault.end > time]
        while waiting and waiting[0].start <= time:
            fault = waiting.popleft()
            # a fault that ended before this update is skipped
            if fault.end > time and fault not in active:
                active.append(fault)
                self.counts[fault.kind] += 1
        self.active = tuple(active)
        self.event = min([math.inf, *(fault.end for fault in active),
                          *(fault.start for fault in [*waiting][:1])])
        return self.active != before
