"""
Smooth curve through samples in time: the one with the least mean square jerk.

The smoothing spline of order three (Wahba 1990, ch. 1): it minimises the squared distances from
the samples plus a multiple of the integral of the squared third derivative. At its ends it goes on
as a parabola. Velocities count as samples of its derivative.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.trajectory.reference import Reference

_ORDER = 3       # derivative whose square is minimised
_LEAST = 1e-12   # regularisation, of the normalised kernel


class SmoothCurve:
    """
    Smooth curve of several joints.

    Parameters
    ----------
    times : (n,)
        Times of the samples in s, increasing.
    q : (n, nv)
        Positions.
    qd : (n, nv)
        Velocities, NaN where there are none.
    spacing : float or (n,)
        Usual time between two samples, in s: their weight.
    cutoff : float
        Time constant in s: components faster than exp(i t / cutoff) are smoothed away.
    start : Reference, optional
        State at time 0, before the samples, from which the curve begins exactly.

    """

    def __init__(self, times, q, qd, spacing: float | np.ndarray, cutoff: float,
                 start: Reference | None = None):
        spacings = np.broadcast_to(np.asarray(spacing, dtype=float), times.shape)
        self._begin = times[0] if start is None else 0.0
        self._scale = scale = max(times[-1] - self._begin, spacings[0], 1e-6)
        t = (times - self._begin) / self._scale
        known = np.isfinite(qd).all(axis=1)
        self._t, self._u = t, t[known]
        self._order = min(_ORDER, t.size + self._u.size) if start is None else 0
        self._parabola = np.zeros((_ORDER, q.shape[1])) if start is None else np.stack(
            [start.q, scale * start.qd, 0.5 * scale ** 2 * start.qdd])
        m, n = t.size, t.size + self._u.size
        noise = cutoff ** (2 * _ORDER) / (spacings * scale ** 5)
        system = np.zeros((n + self._order, n + self._order))
        values = np.zeros((n + self._order, q.shape[1]))
        self._of_samples = _kernel(t, t)
        system[:m, :m] = self._of_samples[0]
        system[range(m), range(m)] += noise + _LEAST
        powers = _powers(t)[0]
        system[:m, n:] = powers[:, :self._order]
        values[:m] = q - powers @ self._parabola
        if n > m:
            system[:m, m:n] = _velocity_kernel(t, self._u)[0]
            system[m:n, :m] = system[:m, m:n].T
            system[m:n, m:n] = _velocity_kernel(self._u, self._u)[1]
            system[range(m, n), range(m, n)] += (noise * (scale / spacings) ** 2)[known] + _LEAST
            powers = _powers(self._u)[1]
            system[m:n, n:] = powers[:, :self._order]
            values[m:n] = scale * qd[known] - powers @ self._parabola
        system[n:, :n] = system[:n, n:].T
        self._found = np.linalg.solve(system, values)

    def states(self, times=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return positions, velocities and accelerations, (m, nv) each.

        times: (m,) in s; default those of the samples.
        """
        t = self._t if times is None else (
            np.asarray(times, dtype=float) - self._begin) / self._scale
        # the curve ends as a parabola, also before its first sample
        inside, powers = np.maximum(t, 0.0), _powers(t)
        rows = [self._of_samples if times is None else _kernel(inside, self._t),
                powers[:, :, :self._order]]
        if self._u.size:
            rows.insert(1, _velocity_kernel(inside, self._u))
        q, qd, qdd = np.concatenate(rows, axis=2) @ self._found + powers @ self._parabola
        return q, qd / self._scale, qdd / self._scale ** 2


def _powers(t):
    """Return 1, t, t^2 and their first two derivatives, (3, n, 3)."""
    result = np.zeros((_ORDER, t.size, _ORDER))
    result[0, :, 0] = result[1, :, 1] = 1.0
    result[0, :, 1], result[0, :, 2], result[1, :, 2], result[2, :, 2] = t, t * t, 2.0 * t, 2.0
    return result


def _kernel(t, u):
    """
    Return G(t, u) and its first two derivatives by t, (3, n, m).

    G is the integral of (t - x)^2 (u - x)^2 / 4 from 0 to the smaller of t and u.
    """
    t, u = t[:, None], u[None]
    m, d, later = np.minimum(t, u), np.abs(t - u), t >= u
    square = m * m
    cube = square * m
    return np.array([
        cube * (square / 20.0 + d * m / 8.0 + d * d / 12.0),
        np.where(later, cube * (m / 8.0 + d / 6.0),
                 square * (square / 8.0 + d * m / 3.0 + d * d / 4.0)),
        np.where(later, cube / 6.0, m * (square / 6.0 + 0.5 * d * m + 0.5 * d * d))])


def _velocity_kernel(t, u):
    """Return the derivatives of `_kernel` by u, (3, n, m)."""
    t, u = t[:, None], u[None]
    m, d, later = np.minimum(t, u), np.abs(t - u), t >= u
    square = m * m
    return np.array([
        np.where(u >= t, square * m * (m / 8.0 + d / 6.0),
                 square * (square / 8.0 + d * m / 3.0 + d * d / 4.0)),
        square * (m / 3.0 + 0.5 * d),
        np.where(later, 0.5 * square, m * (0.5 * m + d))])
