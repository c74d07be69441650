"""Smoothing of positions that were recorded while the arm was guided by hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from robodyn_ros.exceptions import TrajectoryError

_WIDTH = 4.0    # standard deviations of the filter at which it is cut
MOVED = 0.01    # rad or m from the ends within which the arm counts as waiting
_WAITS = 0.2    # s of waiting that are kept
_FINE = 10      # samples per standard deviation, at least
_CLOSEST = 1e-3  # s between samples, at least


def smoothed(times: NDArray, positions: NDArray, width: float) -> tuple[NDArray, ...]:
    """
    Return a smooth motion from rest to rest, without the waiting time at both ends.

    A Gaussian filter removes tremor; it begins and ends at the recorded positions.

    Parameters
    ----------
    times : (n,) array
        Times in s.
    positions : (n, nv) array
        Positions in rad or m.
    width : float
        Standard deviation of the filter, in s.

    Returns
    -------
    recorded : (m,) array
        Times of the recording, uniform; beyond its ends by the width of the filter.
    q, qd, qdd : (m, nv) array
        Positions and their derivatives.

    Raises
    ------
    TrajectoryError
        The arm does not move.

    """
    begin, end = _moving(positions)
    first = max(times[begin] - _WAITS, times[0])
    last = min(times[end] + _WAITS, times[-1])
    margin = _WIDTH * width
    step = min(width / _FINE, max(float(np.median(np.diff(times))), _CLOSEST))
    count = int(np.ceil((last - first + 2.0 * margin) / step)) + 1
    grid = np.linspace(first - margin, last + margin, count)
    step = grid[1] - grid[0]
    rows = np.column_stack([np.interp(np.clip(grid, first, last), times, each)
                            for each in positions.T])
    q, qd, qdd = (gaussian_filter1d(rows, width / step, axis=0, order=order, mode='nearest',
                                    truncate=_WIDTH + 1.0) / step ** order for order in range(3))
    for derivative in (qd, qdd):
        derivative[[0, -1]] = 0.0
    return grid, q, qd, qdd


def _moving(positions: NDArray) -> tuple[int, int]:
    """Return the last row at the start and the first row at the end of the motion."""
    away = np.flatnonzero((np.abs(positions - positions[0]) > MOVED).any(axis=1))
    back = np.flatnonzero((np.abs(positions - positions[-1]) > MOVED).any(axis=1))
    if not len(away):
        raise TrajectoryError(f'nothing to replay: no joint has moved by more than {MOVED} rad '
                              'or m; teach a motion')
    begin, end = int(away[0]) - 1, int(back[-1]) + 1
    return (begin, end) if begin < end else (0, len(positions) - 1)
