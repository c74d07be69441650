"""Messages of a stream of targets: their points in the order of the model, and their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.trajectory import arrange_points, TrajectoryPoint

MOST_POINTS = 200    # of a message,
_MOST_USED = 50      # and those of them that are used: planning takes time with their square
FURTHEST = 60.0      # s from the arrival to a target, at most
CLOSEST = 1e-6       # s from one target to the next, at least


def arranged(joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
             model_names: Sequence[str], held: np.ndarray | None
             ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """
    Return times, positions or None, and velocities or None, in the model's order.

    Parameters
    ----------
    joint_names, points
        As received; of many points some are left out.
    model_names : sequence of str
        Names of the joints of the model.
    held : (nv,) array, optional
        Positions of joints that are not named; default: all must be.

    Raises
    ------
    TrajectoryError
        The message is no motion of this arm: joints, sizes, numbers that are not finite.

    """
    if len(points) > MOST_POINTS:
        raise TrajectoryError(f'a message of a stream has {len(points)} points, more than '
                              f'{MOST_POINTS}; send it in parts', value=len(points),
                              limit=MOST_POINTS)
    step = -(-len(points) // _MOST_USED)
    if step > 1:  # to the last one
        points = points[(len(points) - 1) % step::step]
    without = all(not len(point.positions) and len(point.velocities) for point in points)
    if without:
        points = [replace(point, positions=point.velocities) for point in points]
    arrays = arrange_points(joint_names, points, model_names, held)
    return arrays.times, None if without else arrays.positions, arrays.velocities


def check_times(arrival: float, stamp: float | None, times: np.ndarray) -> None:
    """Raise `TrajectoryError` for times not finite, too close, or too far in the future."""
    gaps = np.diff(times)
    if gaps.size and gaps.min() < CLOSEST:
        i = int(np.argmin(gaps))
        raise TrajectoryError(f'points {i} and {i + 1} are {gaps[i]:.3g} s apart: leave one '
                              f'out, or send times {CLOSEST:g} s apart or more',
                              value=float(gaps[i]), limit=CLOSEST)
    zero = arrival if stamp is None else stamp
    ahead = zero + float(times[-1]) - arrival
    if not abs(ahead) <= FURTHEST:  # NaN as well
        raise TrajectoryError(f'the last target is due {ahead:.4g} s after it arrived, by a stamp '
                              f'of {zero:.4g} s and time_from_start {times[-1]:.4g} s; send '
                              f'targets of the next {FURTHEST:g} s, with stamps of the same '
                              'clock', value=ahead, limit=FURTHEST)
