"""
Check of the torque that a trajectory needs against the effort limits.

The model is passed as a function, so that this module needs only arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.trajectory.result import ResultCode
from robodyn_ros.trajectory.spline import Trajectory

# Replaces a limit of zero in the ratio of torque and limit, N m.
MIN_LIMIT = 1e-9


def check_feasibility(
        trajectory: Trajectory,
        inverse_dynamics: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
        effort_limit, joint_names: Sequence[str], step: float = 0.01,
        max_samples: int = 5000, units: Sequence[str] = (), margin: float = 1.0) -> None:
    """
    Raise if the trajectory needs more torque than a joint's effort limit.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory; its feedforward efforts are added.
    inverse_dynamics : callable
        Function of (N, nv) positions, velocities, accelerations to (N, nv) torques.
    effort_limit : (nv,)
        Available torque in N m or N; infinite where unlimited.
    joint_names : sequence of str
        Joint names in model order.
    step, max_samples
        Sampling of the path, see `Trajectory.dense`.
    units : sequence of str
        Units of the efforts, for messages.
    margin : float
        Ratio of `effort_limit` to the motors' torque, for messages.

    Raises
    ------
    TrajectoryError
        Names the joint that exceeds its limit the most, with evidence joint,
        time, value (needed) and limit (available).

    """
    path = trajectory.dense(step, max_samples)
    q, qd, qdd = (np.ascontiguousarray(part) for part in (path.q, path.qd, path.qdd))
    needed = inverse_dynamics(q, qd, qdd) + path.effort
    limit = np.maximum(np.asarray(effort_limit, dtype=float), MIN_LIMIT)
    share = np.abs(needed) / limit
    # a torque that is not finite is never available
    share[~np.isfinite(needed)] = np.inf
    i, j = map(int, np.unravel_index(np.argmax(share), share.shape))
    if share[i, j] <= 1.0:
        return
    name, time = joint_names[j], float(path.times[i])
    torque, available = float(needed[i, j]), float(effort_limit[j])
    unit = f' {units[j]}' if units else ''
    used = f' (effort_margin {margin:g})' if margin < 1.0 else ''
    raise TrajectoryError(
        f"joint '{name}' would need {torque:.4g}{unit} at {time:.3f} s, its motor has "
        f'{available:g}{unit}{used}; {_remedy(path, i, j)}',
        code=ResultCode.INVALID_GOAL, joint=name, time=time, value=torque, limit=available)


def _remedy(path, i: int, j: int) -> str:
    others = np.flatnonzero(np.abs(path.effort[i]) > 0.0)
    if j in others:
        return f'{path.effort[i, j]:.4g} of it are the effort given in the points'
    return 'move more slowly, or through poses that need less torque'
