"""Continuous joints: one angle, turned the short way round."""

from __future__ import annotations

import math

import numpy as np

TURN = 2.0 * math.pi


def shortest_turn(angle: float) -> float:
    """Return the angle in [-pi, pi] that ends at the same place; NaN and inf stay."""
    return math.remainder(angle, TURN) if math.isfinite(angle) else angle


def unwrap_continuous(positions, start, continuous) -> np.ndarray:
    """
    Return positions whose continuous joints turn the short way.

    A continuous joint is one angle: from the start to the first point and
    from point to point it turns at most half a revolution. A longer turn
    needs points in between.

    Parameters
    ----------
    positions : (n, nv)
        Of the points, in order.
    start : (nv,)
        Where the joints are.
    continuous : (nv,) bool
        Which joints are one angle.

    """
    unwrapped = np.array(positions, dtype=float)
    columns = np.flatnonzero(continuous)
    if columns.size:
        path = np.vstack((np.asarray(start, dtype=float)[columns], unwrapped[:, columns]))
        unwrapped[:, columns] = np.unwrap(path, axis=0)[1:]
    return unwrapped
