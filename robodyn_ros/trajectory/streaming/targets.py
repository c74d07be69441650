"""
Targets of a stream: a buffer by time, and position, velocity and acceleration at any time.

These are those of the smooth curve through the targets; behind the last one its velocity decays.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.trajectory.streaming.smooth_curve import SmoothCurve

_KEPT = 64       # targets in the past that are kept
_DECAY = 0.15    # s, of the velocity behind the last target
_SAME = 1e-6     # s, between two targets that count as one
_CLOSEST = 1e-3  # s, least spacing
CUTOFF = 0.5    # of the spacing, or of the smoothing: time constant of the smooth curve
_BEFORE = 4.0    # of them, for which targets before a time count for the curve there,
_FEWEST = 6      # and their least number


class Targets:
    """
    Targets of all joints, by time.

    Parameters
    ----------
    nv : int
        Number of joints.

    Attributes
    ----------
    times : (n,) array
        Times in s, increasing.
    q : (n, nv) array
        Positions.
    qd : (n, nv) array
        Velocities; NaN where they are not given.

    """

    def __init__(self, nv: int):
        self.times = np.zeros(0)
        self.q, self.qd = np.zeros((0, nv)), np.zeros((0, nv))

    @property
    def last(self) -> float:
        """Return the time of the last target in s; -inf if there is none."""
        return float(self.times[-1]) if self.times.size else -np.inf

    def add(self, times, q, qd=None, now: float = -np.inf, blend: float = 0.0) -> None:
        """
        Add targets; they replace all from the first of them on.

        Parameters
        ----------
        times : (n,)
            Times in s, increasing.
        q : (n, nv)
            Positions.
        qd : (n, nv), optional
            Velocities.
        now : float
            Time from which on new targets gain weight against those that they replace,
        blend : float
            in s within which these lose it.

        """
        times, q = np.asarray(times, dtype=float), np.array(q, dtype=float)
        qd = np.full_like(q, np.nan) if qd is None else np.array(qd, dtype=float)
        if blend > 0.0 and self.times.size > 1 and times[0] <= self.last:
            overlap = times <= self.last
            x = np.clip((times[overlap] - now) / blend, 0.0, 1.0)
            weight = (x * x * (3.0 - 2.0 * x))[:, None]
            before = np.column_stack([np.interp(times[overlap], self.times, each)
                                      for each in self.q.T])
            q[overlap] = weight * q[overlap] + (1.0 - weight) * before
            qd[overlap] = np.where(weight < 1.0, np.nan, qd[overlap])
        kept = slice(None, int(np.searchsorted(self.times, times[0] - _SAME)))
        begin = max(len(self.times[kept]) - _KEPT, 0)
        self.times = np.concatenate([self.times[kept][begin:], times])
        self.q = np.concatenate([self.q[kept][begin:], q])
        self.qd = np.concatenate([self.qd[kept][begin:], qd])

    def after(self, time: float) -> slice:
        """Return the targets after a time."""
        return slice(int(np.searchsorted(self.times, time, side='right')), None)

    def states(self, times, spacing: float, smoothing: float, extrapolated: float = 0.0,
               since: float | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return positions, velocities and accelerations, (m, nv) each, at times.

        Parameters
        ----------
        times : (m,)
            Times in s, increasing.
        spacing : float
            Usual time between two targets, in s.
        smoothing : float
            Time in s over which they are smoothed, at least a part of their spacing.
        extrapolated : float
            Time behind the last target for which its acceleration is continued; then the velocity
            decays.
        since : float, optional
            Time from which on the curve is needed, default the first one: targets well before it
            do not count, except for the last few.

        """
        times = np.asarray(times, dtype=float)
        spacing = max(spacing, _CLOSEST)
        cutoff = CUTOFF * max(spacing, smoothing)
        since = (times[0] if since is None else since) - _BEFORE * max(spacing, smoothing)
        begin = int(np.searchsorted(self.times, since))
        begin = max(min(begin, self.times.size - _FEWEST), 0)
        curve = SmoothCurve(self.times[begin:], self.q[begin:], self.qd[begin:], spacing, cutoff)
        last = self.last + extrapolated
        q, qd, qdd = curve.states(np.minimum(times, last))
        rest = np.maximum(times - last, 0.0)[:, None]
        left = np.exp(-rest / _DECAY)
        return (q + _DECAY * (1.0 - left) * qd, left * qd,
                np.where(rest > 0.0, -left / _DECAY * qd, qdd))
