"""Check of the recovery motion of joints beyond their position limits."""

from __future__ import annotations

import numpy as np

from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.trajectory.checks import apart, ROUNDING
from robodyn_ros.trajectory.result import ResultCode
from robodyn_ros.trajectory.spline import Trajectory

_OUTWARDS = 1e-4  # rad or m, largest outward motion of a spline between two points


def check_recovery(model, trajectory: Trajectory, side, tolerance: float, speed: float) -> None:
    """
    Raise unless joints in recovery move inwards only and slowly, until they are inside.

    Parameters
    ----------
    model : RobotModel
        Robot model; joint_names, lower and upper are used.
    trajectory : Trajectory
        Trajectory from the current reference.
    side : (nv,)
        1 for a joint beyond its upper limit, -1 below its lower limit, 0 for all others.
    tolerance : float
        Distance beyond a limit that counts as inside, in rad or m.
    speed : float
        Largest speed beyond a limit, in rad/s or m/s.

    Raises
    ------
    TrajectoryError
        The motion is outwards or too fast; with evidence joint, time, value, limit.

    """
    path = trajectory.dense()
    for j in np.flatnonzero(side):
        limit = float(model.upper[j] if side[j] > 0.0 else model.lower[j])
        # outwards is positive
        excess, rate = side[j] * (path.q[:, j] - limit), side[j] * path.qd[:, j]
        innermost = np.minimum.accumulate(excess)
        back = np.flatnonzero((excess > tolerance) & (excess > innermost + _OUTWARDS))
        which = (f"joint '{model.joint_names[j]}' is {excess[0]:.4f} rad or m beyond its "
                 f'{"upper" if side[j] > 0.0 else "lower"} limit {limit:g}, and in recovery: ')
        if back.size:
            i = back[0]
            value, nearest = apart(path.q[i, j], limit + side[j] * innermost[i])
            _refuse(f'{which}it may only move inwards, here it would go from {nearest} to {value} '
                    f'at {path.times[i]:.3f} s; let its points go inwards one by one, or move it '
                    'inside by hand', model.joint_names[j], path.times[i], path.q[i, j], limit)
        fast = np.flatnonzero((excess > tolerance) & (-rate > speed * (1.0 + 1e-3) + ROUNDING))
        if fast.size:
            i = fast[np.argmax(-rate[fast])]
            _refuse(f'{which}it may move at {speed:g} at most, here at {-rate[i]:.4g} at '
                    f'{path.times[i]:.3f} s; stretch the times by {-rate[i] / speed:.2f}',
                    model.joint_names[j], path.times[i], -rate[i], speed)


def _refuse(message, joint, time, value, limit):
    raise TrajectoryError(message, code=ResultCode.INVALID_GOAL, joint=joint, time=float(time),
                          value=float(value), limit=float(limit))
