"""
Transition from the current reference to a planned motion.

A planner begins at the measured position. The reference may differ from it, by the deflection due
to friction or load, and may be moving; to points a few milliseconds apart it would jump. The
difference is therefore faded out along the first points.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.segments import quintic_segments

_FADE = 0.5      # s, duration of the fade
_LARGEST = 0.1   # rad or m, largest difference that is faded out


def join(times: np.ndarray, rows, start: Reference) -> tuple[Any, Any, Any, Any]:
    """
    Return positions, velocities, accelerations and efforts that start from the reference.

    The rows are returned unchanged if the points do not cover the present, or are far from the
    reference or from each other.

    Parameters
    ----------
    times : (n,)
        Times of the points, from now, in s.
    rows : sequence of (n, nv) or None
        Positions, velocities, accelerations, efforts.
    start : Reference
        Current reference.

    """
    rows = list(rows)
    k = int(np.searchsorted(times, 0.0, side='right'))
    fade = min(_FADE, float(times[-1]))
    near = (times > 0.0) & (times < fade)
    if k == 0 or not near.any():
        return rows
    share = -times[k - 1] / (times[k] - times[k - 1])
    now = [None if row is None else row[k - 1] + share * (row[k] - row[k - 1])
           for row in rows[:3]]
    away = [np.zeros_like(start.q) if planned is None else current - planned
            for current, planned in zip(start.arrays, now)]
    if np.abs(away[0]).max() > _LARGEST:
        return rows
    ends = (np.stack((begin, np.zeros_like(begin))) for begin in away)
    coefficients = quintic_segments(np.array([0.0, fade]), *ends)[0]
    for order in range(3):
        if rows[order] is not None:
            powers = np.stack([_derivative(power, order, times[near]) for power in range(6)], 1)
            rows[order] = rows[order].copy()
            rows[order][near] += powers @ coefficients
    return rows


def _derivative(power: int, order: int, t: np.ndarray) -> np.ndarray:
    """Return the derivative of this order of t**power."""
    factor = np.prod(np.arange(power - order + 1, power + 1)) if order else 1.0
    return factor * t**max(power - order, 0)
