"""Knots of a trajectory: checks, start and interpolation."""

from __future__ import annotations

import numpy as np

from robodyn_ros.exceptions import ArgumentError, TrajectoryError
from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.result import ResultCode
from robodyn_ros.trajectory.segments import (
    cubic_segments, quintic_segments, spline_segments, with_derivatives)


def check_knots(times: np.ndarray, knots: list) -> None:
    """
    Raise unless (n,) times increase and all rows are finite (n, nv) or None.

    The rows are positions, velocities, accelerations, efforts.
    """
    shape = knots[0].shape
    if times.ndim != 1 or times.size == 0 or len(shape) != 2 or shape[0] != times.size:
        raise ArgumentError(
            f'a trajectory needs (n,) times and (n, joints) positions, n > 0; '
            f'got {times.shape} and {shape}')
    for name, row in zip(('velocities', 'accelerations', 'efforts'), knots[1:]):
        if row is not None and row.shape != shape:
            raise ArgumentError(f'{name} have shape {row.shape}, positions have {shape}')
    if not all(np.isfinite(row).all() for row in (times, *knots) if row is not None):
        raise TrajectoryError('the trajectory holds a number that is not finite',
                              code=ResultCode.INVALID_GOAL)
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if late.size:
        point = int(late[0]) + 1
        raise TrajectoryError(
            f'point {point}: time {times[point]:g} s does not come after '
            f'{times[point - 1]:g} s of the point before it',
            point=point, value=float(times[point]), code=ResultCode.INVALID_GOAL)


def begin_at(times: np.ndarray, knots: list, start: Reference) -> tuple[np.ndarray, list]:
    """Return times and rows in which the start, at time 0, replaces all earlier knots."""
    later = times > 0.0
    if not later.any():
        raise TrajectoryError(
            f'the trajectory ends at {times[-1]:g} s, not after its start; the arm needs time '
            f'to get there: give the last point a later time',
            value=float(times[-1]), code=ResultCode.OLD_HEADER_TIMESTAMP)
    if start.q.shape != knots[0].shape[1:]:
        raise ArgumentError(f'the start has {start.q.size} joints, '
                            f'the points have {knots[0].shape[1]}')
    if knots[3] is None:
        knots[3] = np.zeros_like(knots[0])
    pairs = zip(start.arrays, knots)
    knots = [None if row is None else np.vstack((head, row[later])) for head, row in pairs]
    return np.concatenate(((0.0,), times[later])), knots


def interpolate(times, q, qd, qdd, effort, start_state) -> np.ndarray:
    """Return the segments' blocks; the rows that are given decide the degree, see `segments`."""
    with np.errstate(over='ignore', invalid='ignore', divide='ignore'):
        try:
            if times.size == 1:
                coefficients = np.zeros((0, 6, q.shape[1]))
            elif qd is None:
                coefficients = spline_segments(times, q, start_state)
            elif qdd is None:
                coefficients = cubic_segments(times, q, qd)
            else:
                coefficients = quintic_segments(times, q, qd, qdd)
            blocks = with_derivatives(coefficients, times, effort)
        except (ValueError, np.linalg.LinAlgError):
            blocks = np.full(1, np.nan)
    if not np.isfinite(blocks).all():
        raise TrajectoryError(
            f'points only {np.diff(times).min():g} s apart cannot be interpolated; '
            f'give them more time', value=float(np.diff(times).min()),
            code=ResultCode.INVALID_GOAL)
    return blocks
