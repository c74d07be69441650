"""
Motion of the arm through the targets of a stream, within its limits, and to rest.

Quintic segments lead from the present reference to the targets in the buffer, and a quartic one
from the last of them to rest: an arm whose stream ends stops by itself. A motion beyond a limit is
replaced by one that takes longer to join the targets; one that leads to rest within all limits is
always left, that from before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.segments import quintic_segments, with_derivatives
from robodyn_ros.trajectory.spline import Trajectory
from robodyn_ros.trajectory.streaming.smooth_curve import SmoothCurve
from robodyn_ros.trajectory.streaming.targets import CUTOFF, Targets
from robodyn_ros.trajectory.streaming.timing import StreamTiming

_LONGER = 1.25, 4.0          # factors from one time of joining to the next, least and largest,
_LONGEST = 3.0               # and s at most
_NEARLY = 3.0                # times a limit, from which a longer stop makes no difference
_STEP, _SAMPLES = 0.01, 400  # s between checks of a motion, and how many at most
_SHORTEST_STOP = 0.08        # s
_STOP = 0.7                  # part of the limits of acceleration and jerk that a stop uses
_SLACK = 1e-6
_SMOOTHER = 1.0, 1.6         # times constants of the smooth curve, in the usual one
_SETTLING = 6.0              # time constants after the last target, for which the curve goes on
_BEHIND = np.array([0.15, 0.35, 0.6, 1.0])  # parts of that time
_LEAST = 4e-3                # s, between two knots


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """
    Limits of a stream's motion, (nv,) each.

    Attributes
    ----------
    lower, upper : (nv,)
        Positions.
    velocity, acceleration, jerk : (nv,)
        Their magnitudes.
    effort : (nv,)
        Torques that `needed` must not exceed.
    needed : callable or None
        Function of (N, nv) positions, velocities, accelerations to (N, nv) torques.

    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    effort: np.ndarray
    needed: Callable | None = None

    def excess(self, times, coefficients, efforts_too: bool = True) -> float:
        """Return the largest part of a limit that a motion of segments needs; up to 1: it fits."""
        if not (np.isfinite(times).all() and np.isfinite(coefficients).all()):
            return np.inf
        q, qd, qdd, jerk = _sampled(times, coefficients)
        start = coefficients[0, 0]
        middle, half = 0.5 * (self.upper + self.lower), 0.5 * (self.upper - self.lower)
        # a start beyond a limit does not forbid the way back
        room = np.maximum(half, np.abs(start - middle)) + _SLACK
        bounded = np.isfinite(half)
        worst = 0.0
        if bounded.any():
            away = np.abs(q - middle)[:, bounded] / room[bounded]
            worst = 1.0 + 10.0 * (float(away.max()) - 1.0) if away.max() > 1.0 else 0.0
        begin = np.abs(coefficients[0, 1]), 2.0 * np.abs(coefficients[0, 2])
        for values, limit, now in ((qd, self.velocity, begin[0]),
                                   (qdd, self.acceleration, begin[1]), (jerk, self.jerk, 0.0)):
            worst = _largest(worst, np.abs(values) / (np.maximum(limit, now) + _SLACK))
        if worst <= 1.0 and self.needed is not None and efforts_too:
            effort = np.abs(self.needed(*map(np.ascontiguousarray, (q, qd, qdd))))
            worst = _largest(worst, effort / np.maximum(self.effort, _SLACK))
        return worst if np.isfinite(worst) else np.inf


class StreamMotion:
    """
    Plans the motion of a stream.

    Parameters
    ----------
    limits : MotionLimits
        Limits; replaced by the caller when they change.

    Attributes
    ----------
    slowed : bool
        Whether a limit made the last motion join the targets later than they are due.

    """

    def __init__(self, limits: MotionLimits):
        self.limits, self.slowed = limits, False
        self._arrival = -np.inf  # time at which the last motion joins the targets
        self._excess = 0.0  # of the last one checked

    def plan(self, start: Reference, moment: float, targets: Targets, timing: StreamTiming,
             extrapolated: float = 0.0) -> Trajectory | None:
        """
        Return a motion from a reference through the targets to rest.

        Parameters
        ----------
        start : Reference
            Reference at the moment.
        moment : float
            Time in s at which the motion begins; time 0 of the result.
        targets : Targets
            Targets by time.
        timing : StreamTiming
            Spacing, smoothing, and delay of the arm behind the targets.
        extrapolated : float
            Time in s for which the motion is continued behind the last target.

        Returns
        -------
        Trajectory or None
            None if all motions exceed a limit; that from before is then to be kept.

        """
        for factor in _SMOOTHER:
            planned = self._checked(*self._tracking(start, moment, targets, timing, factor,
                                                    extrapolated))
            if planned is not None:
                self.slowed, self._arrival = False, -np.inf
                return planned
        first, remaining = max(timing.spacing, timing.smoothing, _LEAST), self._arrival - moment
        for rests in (False, True):
            length = first
            while length < _LONGEST:
                planned = self._checked(*self._joining(start, moment, targets, timing, length,
                                                       extrapolated, rests))
                if planned is not None:
                    self.slowed, self._arrival = True, moment + length
                    return planned
                # jerk is proportional to 1 / length^3
                longer = length * min(max(self._excess ** (1.0 / 3.0), _LONGER[0]), _LONGER[1])
                length = remaining if length < remaining < longer else longer
        return None

    def _checked(self, times, *states) -> Trajectory | None:
        """Return the motion through states at times, then to rest; None beyond a limit."""
        coefficients, last = quintic_segments(times, *states), [x[-1] for x in states]
        whole = with_stop(times, coefficients, last, self.limits)
        self._excess = self.limits.excess(*whole)
        if 1.0 < self._excess < _NEARLY:  # maybe because of the stop
            whole = with_stop(times, coefficients, last, self.limits, 2.0)
            self._excess = self.limits.excess(*whole)
        return trajectory(*whole) if self._excess <= 1.0 else None

    def _tracking(self, start, moment, targets, timing, factor, extrapolated):
        """Return times from the moment on, and states there, of the curve from the start."""
        offset = timing.delay - moment
        ahead = targets.after(_LEAST - offset)
        spacing = max(timing.spacing, _LEAST)
        cutoff = CUTOFF * factor * max(spacing, timing.smoothing)
        last = max(targets.last + offset, 0.0)
        behind = last + max(_SETTLING * cutoff, extrapolated) * _BEHIND
        q, qd, _ = targets.states(behind - offset, spacing, timing.smoothing, extrapolated)
        times = np.concatenate([targets.times[ahead] + offset, behind])
        q = self._inside(np.vstack([targets.q[ahead], q]))
        qd = np.vstack([targets.qd[ahead], np.full_like(qd, np.nan)])
        spacings = np.full(times.size, spacing)
        spacings[-behind.size:] = np.diff(behind, prepend=last)
        curve = SmoothCurve(times, q, qd, spacings, cutoff, start)
        states = curve.states(times)
        return (np.append(0.0, times), *(np.vstack([now, each]) for now, each in zip(
            start.arrays, states)))

    def _inside(self, q):
        """Return positions within the limits."""
        return np.clip(q, self.limits.lower, self.limits.upper)

    def stop(self, start: Reference) -> Trajectory | None:
        """Return the shortest motion to rest within the limits, None if there is none."""
        state = start.q, start.qd, start.qdd
        for factor in (1.0, 1.5, 2.5, 4.0):
            whole = with_stop(np.zeros(1), np.zeros((0, 6, start.q.size)), state, self.limits,
                              factor)
            if self.limits.excess(*whole) <= 1.0:
                return trajectory(*whole)
        return None

    def _joining(self, start, moment, targets, timing, length, extrapolated, rests):
        """Return times from the moment on, and positions, velocities, accelerations there."""
        offset = timing.delay - moment
        if rests:
            times = np.array([length - offset])
            states = targets.q[-1:], np.zeros_like(targets.q[-1:]), np.zeros_like(targets.q[-1:])
        else:
            times = np.array(list(self._times(targets, length - offset, extrapolated)))
            states = targets.states(times, timing.spacing or length, timing.smoothing,
                                    extrapolated)
        q, qd, qdd = states
        at_limit = (q < self.limits.lower) | (q > self.limits.upper)
        qd = np.where(at_limit, 0.0, np.clip(qd, -self.limits.velocity, self.limits.velocity))
        qdd = np.where(at_limit, 0.0, qdd)
        q = self._inside(q)
        return (np.append(0.0, times + offset), np.vstack([start.q, q]),
                np.vstack([start.qd, qd]), np.vstack([start.qdd, qdd]))

    @staticmethod
    def _times(targets, joins, extrapolated) -> Iterator[float]:
        """Yield the times of the stream at the knots: where it is joined, and of later targets."""
        yield joins
        before = joins
        for time in (*targets.times[targets.after(joins + _LEAST)], targets.last + extrapolated):
            if time - before >= _LEAST:
                yield float(time)
                before = time


def with_stop(times, coefficients, state, limits: MotionLimits, factor: float = 1.0):
    """Return times and coefficients, (n, 6, nv), with a quartic segment from a state to rest."""
    q, v, a = state
    speed = np.abs(v)
    T = factor * max(_SHORTEST_STOP, float((1.5 * speed / (_STOP * limits.acceleration)).max()),
                     float(np.sqrt(6.0 * speed / (_STOP * limits.jerk)).max()),
                     float((2.0 * np.abs(a) / (_STOP * limits.jerk)).max()))
    stop = np.zeros((1, 6, q.size))
    fourth = (v + 0.5 * T * a) / (2.0 * T ** 3)
    stop[0, :5] = q, v, 0.5 * a, -a / (6.0 * T) - 2.0 * T * fourth, fourth
    return np.append(times, times[-1] + T), np.concatenate([coefficients, stop])


def trajectory(times, coefficients) -> Trajectory:
    """Return a trajectory of segments that ends at rest; times: of all knots."""
    n, _, nv = coefficients.shape
    blocks = with_derivatives(coefficients, times, np.zeros((n + 1, nv)))
    T = times[-1] - times[-2]
    end = np.polynomial.polynomial.polyval(T, coefficients[-1])
    return Trajectory(times, blocks, Reference.at_rest(coefficients[0, 0]), Reference.at_rest(end))


def _largest(worst: float, values: np.ndarray) -> float:
    """Return the largest of a number and an array; NaN if there is one."""
    return float(np.maximum(worst, values.max()))


def _sampled(times, coefficients):
    """Return positions, velocities, accelerations and jerks, (N, nv) each, of segments."""
    lengths = np.diff(times)
    step = max(_STEP, lengths.sum() / _SAMPLES)
    counts = np.maximum(np.ceil(lengths / step).astype(int) + 1, 4)
    segment = np.repeat(np.arange(lengths.size), counts)
    number = np.arange(segment.size) - np.repeat(np.cumsum(counts) - counts, counts)
    s = ((number / (counts[segment] - 1.0)) * lengths[segment])[:, None]
    c = coefficients[segment]
    q = c[:, 0] + s * (c[:, 1] + s * (c[:, 2] + s * (c[:, 3] + s * (c[:, 4] + s * c[:, 5]))))
    qd = c[:, 1] + s * (2.0 * c[:, 2] + s * (3.0 * c[:, 3] + s * (
        4.0 * c[:, 4] + s * 5.0 * c[:, 5])))
    qdd = 2.0 * c[:, 2] + s * (6.0 * c[:, 3] + s * (12.0 * c[:, 4] + s * 20.0 * c[:, 5]))
    jerk = 6.0 * c[:, 3] + s * (24.0 * c[:, 4] + s * 60.0 * c[:, 5])
    return q, qd, qdd, jerk
