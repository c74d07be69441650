"""
Polynomial segments between knots: the given rows decide the degree.

Each function returns (segments, 6, nv) coefficients of rising powers of the
time since the segment's first knot; unused high powers are zero.
"""

from __future__ import annotations

import numpy as np


def spline_segments(times, q, start_velocity) -> np.ndarray:
    """
    Return the cubic spline through `q` with continuous acceleration (C2).

    It starts at `start_velocity` (nv,) and ends at rest. SciPy has such splines as well, and its
    import takes a third of the start of a node.
    """
    h = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / h
    qd = np.zeros_like(q)
    qd[0] = start_velocity
    if len(times) > 2:
        # de Boor, A Practical Guide to Splines, chapter IV: equal accelerations on both sides
        right = 3.0 * (h[1:] * slope[:-1] + h[:-1] * slope[1:])
        right[0] -= h[1] * qd[0]
        lower, upper = h[1:].copy(), h[:-1].copy()
        lower[0] = upper[-1] = 0.0
        qd[1:-1] = _solve_tridiagonal(lower, 2.0 * (h[:-1] + h[1:]), upper, right)
    return cubic_segments(times, q, qd)


def _solve_tridiagonal(lower, diagonal, upper, right) -> np.ndarray:
    """
    Return x of lower_i x_(i-1) + diagonal_i x_i + upper_i x_(i+1) = right_i.

    Cyclic reduction (Hockney, J. ACM 12, 1965): every other unknown is eliminated at a time, which
    is stable where the diagonal dominates. lower, diagonal, upper: (n, 1), of which the first and
    the last neighbour are 0; right: (n, nv).
    """
    n = len(right)
    if n == 1:
        return right / diagonal
    if n % 2 == 0:
        lower, diagonal, upper, right = (
            np.concatenate((rows, np.full((1, rows.shape[1]), last)))
            for rows, last in ((lower, 0.0), (diagonal, 1.0), (upper, 0.0), (right, 0.0)))
    below, above = lower[1::2] / diagonal[:-1:2], upper[1::2] / diagonal[2::2]
    x = np.zeros((len(right) + 2, right.shape[1]))  # with a neighbour at each end
    x[2:-1:2] = _solve_tridiagonal(
        -below * lower[:-1:2], diagonal[1::2] - below * upper[:-1:2] - above * lower[2::2],
        -above * upper[2::2], right[1::2] - below * right[:-1:2] - above * right[2::2])
    x[1::2] = (right[::2] - lower[::2] * x[:-2:2] - upper[::2] * x[2::2]) / diagonal[::2]
    return x[1:n + 1]


def cubic_segments(times, q, qd) -> np.ndarray:
    """Return cubic Hermite segments through positions and velocities (C1)."""
    h = np.diff(times)[:, None]
    slope = np.diff(q, axis=0) / h
    coefficients = np.zeros((len(times) - 1, 6, q.shape[1]))
    coefficients[:, 0] = q[:-1]
    coefficients[:, 1] = qd[:-1]
    coefficients[:, 2] = (3.0 * slope - 2.0 * qd[:-1] - qd[1:]) / h
    coefficients[:, 3] = (qd[:-1] + qd[1:] - 2.0 * slope) / h**2
    return coefficients


def quintic_segments(times, q, qd, qdd) -> np.ndarray:
    """Return quintic segments through positions, velocities and accelerations (C2)."""
    return quintics(np.diff(times)[:, None], (q[:-1], qd[:-1], qdd[:-1]), (q[1:], qd[1:], qdd[1:]))


def quintics(h, begin, end) -> np.ndarray:
    """
    Return quintic segments, of which each has its own begin and end.

    h: durations, (n, 1); begin, end: position, velocity and acceleration, (n, nv) or (nv,) each.
    """
    q, qd, qdd = begin
    # Difference at the end of the segment that the start's position, velocity and acceleration
    # leave, in position units.
    miss_q = end[0] - (q + h * (qd + 0.5 * h * qdd))
    miss_qd = h * (end[1] - (qd + h * qdd))
    miss_qdd = h**2 * (end[2] - qdd)
    coefficients = np.empty((len(h), 6, miss_q.shape[1]))
    coefficients[:, 0] = q
    coefficients[:, 1] = qd
    coefficients[:, 2] = 0.5 * qdd
    coefficients[:, 3] = (10.0 * miss_q - 4.0 * miss_qd + 0.5 * miss_qdd) / h**3
    coefficients[:, 4] = (-15.0 * miss_q + 7.0 * miss_qd - miss_qdd) / h**4
    coefficients[:, 5] = (6.0 * miss_q - 3.0 * miss_qd + 0.5 * miss_qdd) / h**5
    return coefficients


def with_derivatives(coefficients, times, efforts) -> np.ndarray:
    """
    Return (segments, 6, 4 nv): position, velocity, acceleration, effort.

    One product of a row of powers and a segment's block yields the whole
    reference; efforts (knots, nv) are interpolated linearly.
    """
    segments, _, nv = coefficients.shape
    power = np.arange(6.0)[:, None]
    blocks = np.zeros((segments, 6, 4, nv))
    blocks[:, :, 0] = coefficients
    blocks[:, :5, 1] = power[1:] * coefficients[:, 1:]
    blocks[:, :4, 2] = (power * (power - 1.0))[2:] * coefficients[:, 2:]
    blocks[:, 0, 3] = efforts[:-1]
    blocks[:, 1, 3] = np.diff(efforts, axis=0) / np.diff(times)[:, None]
    return blocks.reshape(segments, 6, 4 * nv)
