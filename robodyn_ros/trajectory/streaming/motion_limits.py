"""Limits of the motion of a stream, and the part of them that polynomial segments need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from robodyn_ros.trajectory.reference import Reference

_STEP = 0.01                       # s between checks of a segment, at most
_COUNTS = 4, 8, 16, 32, 64, 128, 300  # samples of a segment
_SLACK = 1e-6
_POWERS = np.arange(6.0)


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

    def excess(self, start: Reference, lengths, coefficients, samples: int = 0) -> np.ndarray:
        """
        Return the largest part of a limit that each segment needs, (n,); up to 1: it fits.

        Parameters
        ----------
        start : Reference
            Begin of the motion; one beyond a limit does not forbid the way back.
        lengths : (n,)
            Durations in s.
        coefficients : (n, 6, nv)
            Coefficients of rising powers of the time since the begin of a segment.
        samples : int
            Samples of each segment; default as many as its length requires.

        """
        found, counts = np.full(len(lengths), np.inf), np.full(len(lengths), samples)
        if not np.isfinite(lengths).all():
            return found
        if not samples:
            steps = np.ceil(np.minimum(lengths / _STEP, _COUNTS[-1] - 1)) + 1
            counts = np.array(_COUNTS)[np.searchsorted(_COUNTS, steps)]
        bounds = self._bounds(start)
        for count in set(counts.tolist()):
            chosen = counts == count
            found[chosen] = self._largest(bounds, sampled(
                lengths[chosen], coefficients[chosen], count))
        return found

    def _bounds(self, start: Reference):
        """Return middle and size, (4, 1, nv), of the ranges of position and its derivatives."""
        middle, half = 0.5 * (self.upper + self.lower), 0.5 * (self.upper - self.lower)
        middle = np.where(np.isfinite(half), middle, 0.0)
        zero = np.zeros_like(middle)
        begin = np.abs([start.q - middle, start.qd, start.qdd, zero])
        size = np.maximum([half, self.velocity, self.acceleration, self.jerk], begin) + _SLACK
        return np.array([middle, zero, zero, zero])[:, None], size[:, None]

    def _largest(self, bounds, values) -> np.ndarray:
        """Return the largest parts, (n,), of samples, (n, 4, samples, nv)."""
        middle, size = bounds
        parts = (np.abs(values - middle) / size).max(axis=(2, 3))
        # between its limits a position needs no part of them
        parts[:, 0] = np.where(parts[:, 0] > 1.0, 10.0 * parts[:, 0] - 9.0, 0.0)
        worst = parts.max(axis=1)
        fits = worst <= 1.0
        if self.needed is not None and fits.any():
            nv = values.shape[-1]
            effort = self.needed(*(np.ascontiguousarray(values[fits, k].reshape(-1, nv))
                                   for k in range(3)))
            effort = (np.abs(effort) / np.maximum(self.effort, _SLACK)).reshape(fits.sum(), -1)
            worst[fits] = np.maximum(worst[fits], effort.max(axis=1))
        return np.where(np.isnan(worst), np.inf, worst)


def sampled(lengths, coefficients, count: int) -> np.ndarray:
    """Return positions, velocities, accelerations and jerks of segments, (n, 4, count, nv)."""
    n, _, nv = coefficients.shape
    scaled = coefficients * (lengths[:, None] ** _POWERS)[..., None]
    values = (_basis(count) @ scaled).reshape(n, 4, count, nv)
    return values / (lengths[:, None] ** _POWERS[:4])[..., None, None]


@cache
def _basis(count: int) -> np.ndarray:
    """Return powers from 0 to 1 and their derivatives, (4 count, 6)."""
    s = np.linspace(0.0, 1.0, count)[:, None]
    rows, factor = [s ** _POWERS], np.ones(6)
    for k in range(3):
        factor = factor * (_POWERS - k)
        rows.append(factor * s ** np.maximum(_POWERS - k - 1.0, 0.0))
    return np.concatenate(rows)
