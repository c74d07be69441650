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
        n = t.size + self._u.size
        noise = cutoff ** (2 * _ORDER) / (spacings * scale ** 5)
        kernel = np.block([[_kernel(t, t), _kernel_du(t, self._u)],
                           [_kernel_du(t, self._u).T, _kernel_dtdu(self._u, self._u)]])
        weights = np.concatenate([noise, (noise * (scale / spacings) ** 2)[known]]) + _LEAST
        powers = np.vstack([_powers(t, 0, self._order), _powers(self._u, 1, self._order)])
        system = np.zeros((n + self._order, n + self._order))
        system[:n, :n] = kernel
        system[np.arange(n), np.arange(n)] += weights
        system[:n, n:], system[n:, :n] = powers, powers.T
        values = np.zeros((n + self._order, q.shape[1]))
        values[:t.size] = q - _powers(t, 0) @ self._parabola
        values[t.size:n] = self._scale * qd[known] - _powers(self._u, 1) @ self._parabola
        self._found = np.linalg.solve(system, values)

    def states(self, times) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return positions, velocities and accelerations, (m, nv) each, at times in s, (m,)."""
        t = (np.asarray(times, dtype=float) - self._begin) / self._scale
        # the curve ends as a parabola, also before its first sample
        inside = np.maximum(t, 0.0)
        rows = [np.hstack([_kernel(inside, self._t), _kernel_du(inside, self._u),
                           _powers(t, 0, self._order)]),
                np.hstack([_kernel_du(self._t, inside).T, _kernel_dtdu(inside, self._u),
                           _powers(t, 1, self._order)]),
                np.hstack([_kernel_dtdt(inside, self._t), _kernel_dtdtdu(inside, self._u),
                           _powers(t, 2, self._order)])]
        q, qd, qdd = (each @ self._found + _powers(t, k) @ self._parabola
                      for k, each in enumerate(rows))
        return q, qd / self._scale, qdd / self._scale ** 2


def _powers(t, derivative: int, order: int = _ORDER):
    """Return the derivative of 1, t, t^2, (n, order)."""
    result = np.zeros((t.size, _ORDER))
    result[:, derivative] = max(derivative, 1)
    if derivative == 0:
        result[:, 1], result[:, 2] = t, t * t
    elif derivative == 1:
        result[:, 2] = 2.0 * t
    return result[:, :order]


def _pair(t, u):
    """Return the smaller of two times, and their distance, (n, m) each."""
    t, u = t[:, None], u[None]
    return np.minimum(t, u), np.abs(t - u)


def _kernel(t, u):
    """Return G(t, u): the integral of (t - x)^2 (u - x)^2 / 4 from 0 to the smaller one."""
    m, d = _pair(t, u)
    return m ** 3 * (m * m / 20.0 + d * m / 8.0 + d * d / 12.0)


def _kernel_du(t, u):
    """Return its derivative by u."""
    m, d = _pair(t, u)
    ahead = u[None] >= t[:, None]
    return np.where(ahead, m ** 3 * (m / 8.0 + d / 6.0),
                    m * m * (m * m / 8.0 + d * m / 3.0 + d * d / 4.0))


def _kernel_dtdu(t, u):
    """Return its derivative by t and u."""
    m, d = _pair(t, u)
    return m * m * (m / 3.0 + 0.5 * d)


def _kernel_dtdt(t, u):
    """Return its second derivative by t."""
    m, d = _pair(t, u)
    ahead = t[:, None] >= u[None]
    return np.where(ahead, m ** 3 / 6.0, m * (m * m / 6.0 + 0.5 * d * m + 0.5 * d * d))


def _kernel_dtdtdu(t, u):
    """Return its third derivative, by t, t and u."""
    m, d = _pair(t, u)
    ahead = t[:, None] >= u[None]
    return np.where(ahead, 0.5 * m * m, m * (0.5 * m + d))
