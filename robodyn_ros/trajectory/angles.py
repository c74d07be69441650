"""Angles of continuous joints."""

from __future__ import annotations

import math

import numpy as np

TURN = 2.0 * math.pi


def shortest_turn(angle: float) -> float:
    """Return the equivalent angle in [-pi, pi]; NaN and inf are returned as they are."""
    return math.remainder(angle, TURN) if math.isfinite(angle) else angle


def unwrap_continuous(positions, start, continuous) -> np.ndarray:
    """
    Return positions whose continuous joints take the shorter way.

    A continuous joint turns at most half a revolution from the start to the first point, and from
    each point to the next. A longer turn needs points in between.

    Parameters
    ----------
    positions : (n, nv)
        Positions of the points, in order.
    start : (nv,)
        Start position.
    continuous : (nv,) bool
        Whether the joint is continuous.

    """
    unwrapped = np.array(positions, dtype=float)
    columns = np.flatnonzero(continuous)
    if columns.size:
        path = np.vstack((np.asarray(start, dtype=float)[columns], unwrapped[:, columns]))
        unwrapped[:, columns] = np.unwrap(path, axis=0)[1:]
    return unwrapped
