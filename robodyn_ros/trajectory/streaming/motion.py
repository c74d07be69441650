"""
Motion of the arm through the targets of a stream, within its limits, and to rest.

Quintic segments lead from the present reference to the targets in the buffer, and a quartic one
from the last of them to rest: an arm whose stream ends stops by itself. A motion beyond a limit is
replaced by one that takes longer to join the targets; one that leads to rest within all limits is
always left, that from before.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.segments import quintic_segments, quintics, with_derivatives
from robodyn_ros.trajectory.spline import Trajectory
from robodyn_ros.trajectory.streaming.motion_limits import MotionLimits
from robodyn_ros.trajectory.streaming.smooth_curve import SmoothCurve
from robodyn_ros.trajectory.streaming.targets import CUTOFF, Targets
from robodyn_ros.trajectory.streaming.timing import StreamTiming

_LONGER, _LONGEST = 1.2, 3.0  # factor from one time of joining to the next, and s at most
_COARSE = 16                 # samples of a segment in the choice of these times
_TRIED = 1, 2, 4, 8, 16      # of the times that seem to fit those are checked
_SHORTEST_STOP = 0.08        # s
_STOP = 0.7                  # part of the limits of acceleration and jerk that a stop uses
_RETURN = 1.25               # periods from a time without targets to the next ones
_STOPS = np.array([1.0, 1.5, 2.5, 4.0])  # factors of the time of a stop
_SMOOTHER = 1.0, 1.6         # time constants of the smooth curve, in the usual one
_NEARLY = 4.0                # times a limit, from which a smoother curve is of no use: 1.6^3
_SETTLING = 6.0              # time constants after the last target, for which the curve goes on
_BEHIND = np.array([0.15, 0.35, 0.6, 1.0])  # parts of that time
_LEAST = 4e-3                # s, between two knots


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
        self._excess = 0.0       # of the last motion checked; at its knots if that is above 1
        self._end = np.inf       # time of the last target, followed with the delay,
        self._joins = -np.inf    # and, after a time without targets, at which they are met again

    def plan(self, start: Reference, moment: float, targets: Targets, timing: StreamTiming,
             extrapolated: float = 0.0, rest: float = 0.0) -> Trajectory | None:
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
        rest : float
            Time in s that it then takes to rest, where the limits permit it.

        Returns
        -------
        Trajectory or None
            None if all motions exceed a limit; that from before is then to be kept.

        """
        if moment > self._end:  # the arm has left the targets, and does not jump at the new ones
            self._joins = moment + _RETURN * timing.period
        self._end = targets.last + timing.delay
        for factor in _SMOOTHER:
            planned = self._checked(start, rest, *self._tracking(
                start, moment, targets, timing, factor, extrapolated))
            if planned is not None:
                self.slowed, self._arrival = False, -np.inf
                return planned
            if self._excess > _NEARLY:
                break
        return self._joined(start, moment, targets, timing, extrapolated, rest)

    def stop(self, start: Reference) -> Trajectory | None:
        """Return the shortest motion to rest within the limits, None if there is none."""
        return self._checked(start, 0.0, np.zeros(1), *(x[None] for x in start.arrays[:3]))

    def _checked(self, start, rest, times, *states) -> Trajectory | None:
        """Return the motion through states at times, then to rest; None beyond a limit."""
        coefficients, lengths = quintic_segments(times, *states), np.diff(times)
        ends, stops = stop_segments([x[-1] for x in states], self.limits, rest)
        # with the first stop, which is within the limits in general
        *needed, stop = self.limits.excess(start, np.append(lengths, ends[0]),
                                           np.concatenate([coefficients, stops[:1]]))
        self._excess = max(needed, default=0.0)
        if self._excess > 1.0:
            at_knots = self.limits.excess(start, lengths, coefficients, 2).max()
            self._excess = at_knots if at_knots > 1.0 else self._excess
            return None
        k = 0
        while stop > 1.0:
            k += 1
            if k == ends.size:
                return None
            stop, = self.limits.excess(start, ends[k:k + 1], stops[k:k + 1])
        return trajectory(np.append(times, times[-1] + ends[k]),
                          np.concatenate([coefficients, stops[k:k + 1]]))

    def _tracking(self, start, moment, targets, timing, factor, extrapolated):
        """Return times from the moment on, and states there, of the curve from the start."""
        offset = timing.delay - moment
        # the last one always counts
        joins = min(self._joins - moment, targets.last + offset - _LEAST)
        ahead = targets.after(max(joins, _LEAST) - offset)
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
        states = SmoothCurve(times, q, qd, spacings, cutoff, start).states()
        return (np.append(0.0, times), *(np.vstack([now, each]) for now, each in zip(
            start.arrays, states)))

    def _inside(self, q):
        """Return positions within the limits."""
        return np.clip(q, self.limits.lower, self.limits.upper)

    def _joined(self, start, moment, targets, timing, extrapolated, rest) -> Trajectory | None:
        """Return the motion that joins the targets earliest, or else rests at the last of them."""
        offset, remaining = timing.delay - moment, self._arrival - moment
        first = max(timing.spacing, timing.smoothing, _LEAST)
        count = max(int(np.ceil(np.log(_LONGEST / first) / np.log(_LONGER))), 1)
        lengths = first * _LONGER ** np.arange(count)
        if first < remaining < _LONGEST:
            lengths = np.sort(np.append(lengths, remaining))
        later = _knots(targets, first - offset, extrapolated) + offset
        q, qd, qdd = self._states(targets, timing, np.append(lengths, later) - offset,
                                  extrapolated)
        joins, knots = zip(*((x[:lengths.size], x[lengths.size:]) for x in (q, qd, qdd)))
        # parts of the limits that are needed from each knot on
        curve = self.limits.excess(start, np.diff(later), quintic_segments(later, *knots), 4)
        behind = np.append(np.maximum.accumulate(curve[::-1])[::-1], (0.0, 0.0))
        goal = np.broadcast_to(self._inside(targets.q[-1]), joins[0].shape)
        for ends, after in ((joins, later), ((goal, 0.0 * goal, 0.0 * goal), later[:0])):
            needed = self.limits.excess(
                start, lengths, quintics(lengths[:, None], start.arrays[:3], ends), _COARSE)
            index = np.searchsorted(after, lengths + _LEAST)
            fits = np.flatnonzero(np.maximum(needed, behind[index] if after.size else 0.0) <= 1.0)
            for k in fits[[i - 1 for i in _TRIED if i <= fits.size]]:
                times = np.concatenate([[0.0, lengths[k]], after[index[k]:]])
                planned = self._checked(start, rest, times, *(
                    np.vstack([now, end[k], knot[index[k]:after.size]])
                    for now, end, knot in zip(start.arrays, ends, knots)))
                if planned is not None:
                    self.slowed, self._arrival = True, moment + lengths[k]
                    return planned
        return None

    def _states(self, targets, timing, times, extrapolated):
        """Return positions, velocities, accelerations of the targets at times, within limits."""
        rows, behind = np.empty((3, times.size, targets.q.shape[1])), times > targets.last
        # behind the last target the last few count alone: after a step the curve still swings
        for part, since in ((~behind, times[0]), (behind, np.inf)):
            if part.any():
                rows[:, part] = targets.states(times[part], max(timing.spacing, _LEAST),
                                               timing.smoothing, extrapolated, since)
        q, qd, qdd = rows
        at_limit = (q < self.limits.lower) | (q > self.limits.upper)
        qd = np.where(at_limit, 0.0, np.clip(qd, -self.limits.velocity, self.limits.velocity))
        return self._inside(q), qd, np.where(at_limit, 0.0, qdd)


def _knots(targets: Targets, begin: float, extrapolated: float) -> np.ndarray:
    """Return the times of the targets after a time, and of the end of the motion."""
    times = [begin]
    for time in (*targets.times[targets.after(begin)], targets.last + extrapolated):
        if time - times[-1] >= _LEAST:
            times.append(time)
    return np.array(times)


def stop_segments(state, limits: MotionLimits, rest: float = 0.0):
    """
    Return lengths and coefficients, (k,) and (k, 6, nv), of quartic segments from a state to rest.

    The first takes `rest` seconds, if that is longer than the limits require, the next as long as
    they require, others longer.
    """
    q, v, a = state
    speed = np.abs(v)
    least = max(_SHORTEST_STOP, float((1.5 * speed / (_STOP * limits.acceleration)).max()),
                float(np.sqrt(6.0 * speed / (_STOP * limits.jerk)).max()),
                float((2.0 * np.abs(a) / (_STOP * limits.jerk)).max()))
    lengths = least * _STOPS
    if rest > least:
        lengths = np.append(rest, lengths)
    T = lengths[:, None]
    stops = np.zeros((lengths.size, 6, q.size))
    fourth = (v + 0.5 * T * a) / (2.0 * T ** 3)
    stops[:, 0], stops[:, 1], stops[:, 2] = q, v, 0.5 * a
    stops[:, 3], stops[:, 4] = -a / (6.0 * T) - 2.0 * T * fourth, fourth
    return lengths, stops


def trajectory(times, coefficients) -> Trajectory:
    """Return a trajectory of segments that ends at rest; times: of all knots."""
    n, _, nv = coefficients.shape
    blocks = with_derivatives(coefficients, times, np.zeros((n + 1, nv)))
    T = times[-1] - times[-2]
    end = np.polynomial.polynomial.polyval(T, coefficients[-1])
    return Trajectory(times, blocks, Reference.at_rest(coefficients[0, 0]), Reference.at_rest(end))
