"""Limits of the motion of a stream, and the part of them that polynomial segments need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from robodyn_ros.trajectory.reference import Reference

_STEP = 0.01                       # s between checks of a segment, at most
_COUNTS = np.array([4, 8, 16, 32, 64, 128, 300])  # samples of a segment
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
        if not lengths.size or not np.isfinite(lengths).all():
            return np.full(len(lengths), np.inf)
        if samples:
            return self._largest(start, sampled(lengths, coefficients, samples),
                                 np.full(len(lengths), samples))
        steps = np.ceil(np.minimum(lengths / _STEP, _COUNTS[-1] - 1)) + 1
        kinds = np.searchsorted(_COUNTS, steps)
        groups = [np.flatnonzero(kinds == kind) for kind in sorted(set(kinds.tolist()))]
        order = np.concatenate(groups)
        found = np.empty(len(lengths))
        found[order] = self._largest(start, np.concatenate([
            sampled(lengths[each], coefficients[each], int(_COUNTS[kinds[each[0]]]))
            for each in groups], axis=1), _COUNTS[kinds[order]])
        return found

    @cached_property
    def _ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return middle, (nv,), and half size, (4, nv), of the ranges of position, ..., jerk."""
        half = 0.5 * (self.upper - self.lower)
        middle = np.where(np.isfinite(half), 0.5 * (self.upper + self.lower), 0.0)
        return middle, np.array([half, self.velocity, self.acceleration, self.jerk])

    def _largest(self, start: Reference, values, counts) -> np.ndarray:
        """Return the largest parts, (n,), of samples, (4, sum of counts, nv); counts: (n,)."""
        middle, half = self._ranges
        begin = np.abs([start.q - middle, start.qd, start.qdd, np.zeros_like(middle)])
        parts = np.abs(values)
        parts[0] = np.abs(values[0] - middle)
        parts /= (np.maximum(half, begin) + _SLACK)[:, None]
        begins = np.cumsum(counts) - counts
        parts = np.maximum.reduceat(parts.max(axis=2), begins, axis=1)
        # between its limits a position needs no part of them
        parts[0] = np.where(parts[0] > 1.0, 10.0 * parts[0] - 9.0, 0.0)
        worst = parts.max(axis=0)
        fits = worst <= 1.0
        if self.needed is not None and fits.any():
            if not fits.all():
                values = values[:, np.repeat(fits, counts)]
                begins = np.cumsum(counts[fits]) - counts[fits]
            effort = np.abs(self.needed(*values[:3])) / np.maximum(self.effort, _SLACK)
            worst[fits] = np.maximum(worst[fits], np.maximum.reduceat(effort.max(axis=1), begins))
        return np.where(np.isnan(worst), np.inf, worst)


def sampled(lengths, coefficients, count: int) -> np.ndarray:
    """Return positions, velocities, accelerations and jerks of segments, (4, n count, nv)."""
    n, _, nv = coefficients.shape
    powers = lengths[:, None] ** _POWERS
    values = (_basis(count) @ (coefficients * powers[..., None])).reshape(n, 4, count, nv)
    values /= powers[:, :4, None, None]
    return values.transpose(1, 0, 2, 3).reshape(4, n * count, nv)


@cache
def _basis(count: int) -> np.ndarray:
    """Return powers from 0 to 1 and their derivatives, (4 count, 6)."""
    s = np.linspace(0.0, 1.0, count)[:, None]
    rows, factor = [s ** _POWERS], np.ones(6)
    for k in range(3):
        factor = factor * (_POWERS - k)
        rows.append(factor * s ** np.maximum(_POWERS - k - 1.0, 0.0))
    return np.concatenate(rows)
