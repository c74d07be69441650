"""Figures of a recorded run, and the criteria that they must meet. Does not use ROS."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from robodyn_ros.text import Criterion, number

STILL = 0.02      # rad/s or m/s below which a joint rests
_QUIET = 0.1      # s that it must stay below
_WATCH = 1.0      # s at the end of a recording in which the arm must keep its position
_LONGEST = 0.05   # s between torques that count for their rate, at most; as in the nodes
_LATE = 1.5       # ratio of a torque step to its rate limit that late messages may cause
_MOVING = 0.2     # part of its velocity limit of the fastest joint when the fault begins
_ROUNDING = 1e-6
FAST_AT_FAULT = 'fast motion when the fault begins'


@dataclass(frozen=True)
class Requirements:
    """
    What must hold after a fault, besides the torque and torque rate limits.

    Attributes
    ----------
    rest : float
        Longest time from the end of the fault until the arm rests, s.
    drift : float
        Largest motion of a joint in the last second, rad or m.
    sag : float
        Largest motion of a joint between its rest and the end of the fault, rad or m.
    speed : float
        Largest ratio of speed to velocity limit.
    beyond : float
        Largest distance of a joint beyond its position limits, rad or m.
    tolerated : float
        Length of faults that must not end the motion, s.
    away : float
        Largest distance from the goal at the end of such a motion, rad or m.
    reset_allowed : bool
        Whether a reset may be needed before the next trajectory is accepted.

    """

    rest: float = 3.0
    drift: float = 5e-3
    sag: float = math.inf
    speed: float = 1.5
    beyond: float = math.inf
    tolerated: float = 0.0
    away: float = 0.01
    reset_allowed: bool = True

    def words(self) -> str:
        """Return the requirements as one sentence."""
        parts = [f'at rest within {self.rest:g} s', f'then below {1e3 * self.drift:g} mrad/s']
        if math.isfinite(self.speed):
            parts.append(f'speed below {100 * self.speed:g} %')
        if self.tolerated:
            length = '' if self.tolerated == math.inf else f' if shorter than {self.tolerated:g} s'
            parts.append(f'motion continues{length} and ends within {1e3 * self.away:g} mrad')
        if math.isfinite(self.beyond):
            parts.append(f'at most {1e3 * self.beyond:g} mrad beyond its limits')
        if math.isfinite(self.sag):
            parts.append(f'sags below {1e3 * self.sag:g} mrad')
        if not self.reset_allowed:
            parts.append('no reset')
        return ', '.join(parts)


class Limits(NamedTuple):
    """Limits of the arm, each (nv,): torque, its rate, speed, position; and the motion's goal."""

    effort: np.ndarray
    rate: np.ndarray
    velocity: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    goal: np.ndarray


@dataclass(frozen=True)
class Recording:
    """
    Recording of one run; times in s since the begin of the fault, joints in model order.

    Attributes
    ----------
    lasted : float
        Length of the fault.
    sent : (N,) array
        Times of the commanded torques, from half a second before the fault on.
    torque : (N, nv) array
        Commanded torques.
    moved : (M,) array
        Times of the true joint states.
    q, qd : (M, nv) array
        True positions and velocities.
    missing : tuple of str
        Log messages that are missing, and other events that did not happen.
    recovery : str
        What the next motion needed: 'itself', 'reset' or 'restart'; or the reason of a failure.
    recovered : bool
        Whether the arm reached its start afterwards.
    first_warning : str
        First warning or error that was logged.

    """

    lasted: float
    sent: np.ndarray
    torque: np.ndarray
    moved: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    missing: tuple[str, ...] = ()
    recovery: str = 'itself'
    recovered: bool = True
    first_warning: str = ''


@dataclass(frozen=True)
class Figures:
    """
    Figures of a recording.

    Attributes
    ----------
    torque, step, speed : float
        Largest ratio to the effort limit, to the torque rate limit and to the velocity limit.
    finite : bool
        Whether every torque was finite.
    speed_at_fault : float
        Ratio to its velocity limit of the fastest joint when the fault began.
    gap : float
        Longest time without a torque, s.
    rest : float
        Time after which the arm stayed at rest, s since the begin of the fault; inf if never.
    sag : float
        Largest motion of a joint from then to the end of the fault, rad or m.
    drift : float
        Largest motion of a joint in the last second, rad or m.
    away : float
        Largest distance from the goal at the end, rad or m.
    beyond : float
        Largest distance beyond position limits, rad or m.

    """

    torque: float
    step: float
    speed: float
    finite: bool
    speed_at_fault: float
    gap: float
    rest: float
    sag: float
    drift: float
    away: float
    beyond: float


def measure(recording: Recording, limits: Limits) -> Figures:
    """Return the figures of a recording."""
    torque, sent = recording.torque, recording.sent
    moved, q, qd = recording.moved, recording.q, recording.qd
    after = moved >= 0.0
    speed = np.abs(qd) / limits.velocity
    rest = rest_after(moved, qd)
    resting = (moved >= rest) & (moved <= recording.lasted)
    watched = moved >= max(moved[-1] - _WATCH, min(rest, moved[-1] - 2 * _QUIET))
    begin = max(int(np.searchsorted(moved, 0.0)) - 1, 0)
    return Figures(
        torque=float(np.nanmax(np.abs(torque) / limits.effort, initial=0.0)),
        step=largest_step(sent, torque, limits.rate),
        speed=float(speed[after].max(initial=0.0)), finite=bool(np.isfinite(torque).all()),
        speed_at_fault=float(speed[begin].max()),
        gap=float(np.diff(sent).max(initial=0.0)), rest=rest,
        sag=_extent(q[resting]), drift=_extent(q[watched]),
        away=float(np.abs(q[-1] - limits.goal).max()),
        beyond=float(np.maximum(q - limits.upper, limits.lower - q)[after].max(initial=0.0)))


def rest_after(moved: np.ndarray, qd: np.ndarray) -> float:
    """Return the time from which the arm rested until the end; infinite if it did not."""
    moving = np.flatnonzero((np.abs(qd) >= STILL).any(axis=1))
    last = moved[moving[-1]] if moving.size else -math.inf
    return max(float(last), 0.0) if moved[-1] - last >= _QUIET else math.inf


def largest_step(sent: np.ndarray, torque: np.ndarray, rate: np.ndarray) -> float:
    """
    Return the largest ratio of a torque step to the one that the rate limit permits.

    A torque may be sent late and the next one on time; each step is therefore compared with the
    time since the torque before the last.
    """
    if len(sent) < 3:
        return 0.0
    between = np.minimum(sent[2:] - sent[:-2], _LONGEST)[:, None]
    with np.errstate(divide='ignore', invalid='ignore'):
        ratio = np.abs(np.diff(torque[1:], axis=0)) / (rate * between)
    return float(np.nanmax(ratio, initial=0.0))


def _extent(q: np.ndarray) -> float:
    return float(np.ptp(q, axis=0).max()) if len(q) else 0.0


def judge(recording: Recording, figures: Figures, required: Requirements) -> list[Criterion]:
    """Return the criteria of a run, with their results."""
    lasted = recording.lasted
    criteria = [
        Criterion(FAST_AT_FAULT, f'{100 * figures.speed_at_fault:.0f} %',
                  figures.speed_at_fault > _MOVING),
        Criterion('every torque is finite', 'yes' if figures.finite else 'no', figures.finite),
        _ratio('torque within its limit', figures.torque, 1.0),
        _ratio('steps of torque within the rate limit', figures.step, _LATE),
        _ratio(f'speed below {100 * required.speed:g} % of the limit', figures.speed,
               required.speed),
        Criterion(f'at rest {required.rest:g} s after the fault',
                  f'{number(figures.rest - lasted)} s', figures.rest <= lasted + required.rest),
        _distance('drift in the last second', figures.drift, required.drift),
        Criterion('expected reports', 'yes' if not recording.missing else
                  f'missing: {", ".join(map(repr, recording.missing))}',
                  not recording.missing),
        Criterion('next motion works', recording.recovery, recording.recovered and (
            required.reset_allowed or recording.recovery != 'reset'))]
    if math.isfinite(required.beyond):
        criteria.append(_distance('distance beyond limits', figures.beyond, required.beyond))
    if math.isfinite(required.sag):
        criteria.append(_distance('sag during the fault', figures.sag, required.sag))
    if lasted < required.tolerated:
        criteria.append(_distance('distance from the goal', figures.away, required.away))
    return criteria


def _ratio(text: str, value: float, bound: float) -> Criterion:
    return Criterion(text, f'{number(100.0 * value)} %', value <= bound + _ROUNDING)


def _distance(text: str, value: float, bound: float) -> Criterion:
    return Criterion(f'{text}: below {1e3 * bound:g} mrad', f'{number(1e3 * value)} mrad',
                     value <= bound)
