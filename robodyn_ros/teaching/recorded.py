"""Replay with the timing of the recording, slower where the limits require it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.teaching.joint_limits import JointLimits
from robodyn_ros.teaching.smoothing import smoothed
from robodyn_ros.teaching.timed_path import TimedPath

_STEP = 0.5          # of the width of the filter, between points of the result
_SLOWEST = 100.0     # slowest timing that is tried
_EXACT = 1e-4        # of the slow-down


def recorded_timing(times: NDArray, positions: NDArray, dynamics: Dynamics, limits: JointLimits,
                    speed: float = 1.0, smoothing: float = 0.08) -> TimedPath:
    """
    Return the recorded motion, smoothed, in its own timing or the next slower possible one.

    Parameters
    ----------
    times, positions : (n,), (n, nv) array
        Recording.
    dynamics : Dynamics
        Dynamics of the arm.
    limits : JointLimits
        Kept at and between the points of the result.
    speed : float
        Desired factor of the speed of the recording.
    smoothing : float
        Standard deviation of the filter of the positions, in s of the recording.

    Returns
    -------
    TimedPath
        Its speed is `duration of the recording / duration`.

    Raises
    ------
    TrajectoryError
        The limits do not permit the motion at any speed; with the joint.

    """
    grid, *rows = smoothed(times, positions, smoothing)
    limits.check_rest(dynamics, rows[0])
    every = max(int(_STEP * smoothing / (grid[1] - grid[0])), 1)
    chosen = np.unique(np.append(np.arange(0, len(grid), every), len(grid) - 1))

    def at(slower: float) -> TimedPath:
        q, qd, qdd = (row[chosen] / slower ** k for k, row in enumerate(rows))
        return TimedPath(slower * (grid[chosen] - grid[0]), q, qd, qdd, grid[chosen])

    def fits(slower: float) -> bool:
        return at(slower).use(dynamics, limits).largest <= 1.0

    low = high = 1.0 / speed
    while not fits(high):
        low, high = high, 1.5 * high
        if high > _SLOWEST:
            use = at(low).use(dynamics, limits)
            worst = int(np.argmax(np.max(use, axis=0)))
            raise TrajectoryError(
                f"joint '{dynamics.model.joint_names[worst]}' would exceed its limits at any "
                'speed: use a larger part of the torque, or teach another path',
                joint=dynamics.model.joint_names[worst])
    while high - low > _EXACT * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return at(high)
