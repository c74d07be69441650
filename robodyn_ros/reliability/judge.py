"""What a recording of a fault says: figures, and whether they are good enough. Pure."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.report import Criterion, number

STILL = 0.02      # rad/s or m/s below which a joint rests
_QUIET = 0.1      # s for which it has to
_WATCH = 1.0      # s at the end of a recording in which the arm must stay where it is
_LONGEST = 0.05   # s that count at most for the rate of the torque, as in the nodes
_LATE = 1.5       # by how much a bus that is not on time may crowd two torques together
_MOVING = 0.2     # of the velocity limit, of the fastest joint when the fault begins
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Bounds:
    """
    What must hold after a fault, besides torque within its limits of size and rate.

    Attributes
    ----------
    rest : float
        Most seconds from the end of the fault until the arm rests.
    drift : float
        How far a joint may get in the last second, rad or m.
    sag : float
        How far it may get between its rest and the end of the fault.
    speed : float
        Largest part of the velocity limits.
    beyond : float
        How far a joint may get beyond its position limits, rad or m.
    goes_on : float
        Faults up to this long (s) must not end the motion.
    away : float
        How far from its goal such a motion may end, rad or m.
    resets : bool
        Whether a reset may be needed afterwards; else the arm has to take the next trajectory
        as if nothing had happened.

    """

    rest: float = 3.0
    drift: float = 5e-3
    sag: float = math.inf
    speed: float = 1.5
    beyond: float = math.inf
    goes_on: float = 0.0
    away: float = 0.01
    resets: bool = True

    def words(self) -> str:
        """Return them as one sentence."""
        parts = [f'at rest within {self.rest:g} s', f'then below {1e3 * self.drift:g} mrad/s',
                 f'speed below {100 * self.speed:g} %']
        if self.goes_on:
            length = '' if self.goes_on == math.inf else f' if shorter than {self.goes_on:g} s'
            parts.append(f'goes on{length} and ends within {1e3 * self.away:g} mrad')
        if math.isfinite(self.beyond):
            parts.append(f'at most {1e3 * self.beyond:g} mrad beyond its limits')
        if math.isfinite(self.sag):
            parts.append(f'sags below {1e3 * self.sag:g} mrad')
        if not self.resets:
            parts.append('no reset')
        return ', '.join(parts)


class Limits(NamedTuple):
    """Of the arm, per joint: torque, its rate, speed, position; where the motion was to end."""

    effort: np.ndarray
    rate: np.ndarray
    velocity: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    goal: np.ndarray


@dataclass(frozen=True)
class Recording:
    """
    What was recorded of one run; times in s since the fault began, arrays in model order.

    Attributes
    ----------
    lasted : float
        How long the fault lasted.
    sent : (N,) array
        When torques were commanded, from half a second before the fault on.
    torque : (N, nv) array
    moved : (M,) array
        When the arm was seen, by who knows.
    q, qd : (M, nv) array
        Where it was.
    missing : tuple of str
        Words that nobody said.
    recovery : str
        What it took to move again: 'itself', 'reset', 'restart'; or why it did not.
    recovered : bool
        Whether it moved to where it was asked to, in the end.
    told : str
        One line of what was said.

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
    told: str = ''


@dataclass(frozen=True)
class Figures:
    """
    What was measured.

    Attributes
    ----------
    torque, step, speed : float
        Largest, as parts of what is allowed; that of the steps in torque for the time between.
    finite : bool
        Whether every torque was a number.
    speed_at_fault : float
        Part of the velocity limit of the fastest joint when the fault began.
    gap : float
        Longest time without a torque, s.
    rest : float
        When the arm rested for good, s after the fault began; inf if never.
    sag : float
        From there to the end of the fault; rad or m.
    drift : float
        In the last second; rad or m.
    away : float
        From the goal in the end; rad or m.
    beyond : float
        Beyond position limits; rad or m.

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
    """Return from when on the arm rested until the recording ended; infinite if it did not."""
    moving = np.flatnonzero((np.abs(qd) >= STILL).any(axis=1))
    last = moved[moving[-1]] if moving.size else -math.inf
    return max(float(last), 0.0) if moved[-1] - last >= _QUIET else math.inf


def largest_step(sent: np.ndarray, torque: np.ndarray, rate: np.ndarray) -> float:
    """
    Return the largest step of torque, as part of what its rate limit allows in the time between.

    A torque may leave late, and the next one on time: that time is counted from the torque
    before the last.
    """
    if len(sent) < 3:
        return 0.0
    between = np.minimum(sent[2:] - sent[:-2], _LONGEST)[:, None]
    with np.errstate(divide='ignore', invalid='ignore'):
        share = np.abs(np.diff(torque[1:], axis=0)) / (rate * between)
    return float(np.nanmax(share, initial=0.0))


def _extent(q: np.ndarray) -> float:
    return float(np.ptp(q, axis=0).max()) if len(q) else 0.0


def judge(recording: Recording, figures: Figures, bounds: Bounds) -> list[Criterion]:
    """Return what must hold, and whether it does."""
    lasted = recording.lasted
    criteria = [
        Criterion('moves fast when the fault begins', f'{100 * figures.speed_at_fault:.0f} %',
                  figures.speed_at_fault > _MOVING),
        Criterion('every torque is a number', 'yes' if figures.finite else 'no', figures.finite),
        _share('torque within its limit', figures.torque, 1.0),
        _share('steps of torque within the rate limit', figures.step, _LATE),
        _share(f'speed below {100 * bounds.speed:g} % of the limit', figures.speed, bounds.speed),
        Criterion(f'at rest {bounds.rest:g} s after the fault',
                  f'{number(figures.rest - lasted)} s', figures.rest <= lasted + bounds.rest),
        _small('stays where it is', figures.drift, bounds.drift),
        Criterion('says what is wrong', 'yes' if not recording.missing else
                  f'nobody said {", ".join(map(repr, recording.missing))}',
                  not recording.missing),
        Criterion('moves again', recording.recovery, recording.recovered and (
            bounds.resets or recording.recovery != 'reset'))]
    if math.isfinite(bounds.beyond):
        criteria.append(_small('stays within its limits', figures.beyond, bounds.beyond))
    if math.isfinite(bounds.sag):
        criteria.append(_small('sags while the fault lasts', figures.sag, bounds.sag))
    if lasted < bounds.goes_on:
        criteria.append(_small('motion goes on to its goal', figures.away, bounds.away))
    return criteria


def _share(text: str, value: float, bound: float) -> Criterion:
    return Criterion(text, f'{number(100.0 * value)} %', value <= bound + _ROUNDING)


def _small(text: str, value: float, bound: float) -> Criterion:
    return Criterion(f'{text}: below {1e3 * bound:g} mrad', f'{number(1e3 * value)} mrad',
                     value <= bound)
