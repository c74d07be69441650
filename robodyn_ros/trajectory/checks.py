"""
Checks of a received trajectory: limits at the points and between them.

Every geometric reason to reject a goal is raised here, with the joint, the
point, the value and the limit in words and as evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.trajectory.angles import shortest_turn, unwrap_continuous
from robodyn_ros.trajectory.joining import join
from robodyn_ros.trajectory.points import arrange_points, TrajectoryPoint
from robodyn_ros.trajectory.reference import Reference
from robodyn_ros.trajectory.result import ResultCode
from robodyn_ros.trajectory.spline import Trajectory

# tolerance for rounding, of points computed to lie on a limit
ROUNDING = 1e-6
_NO_LIMIT = 1e9     # rad/s
_FUTURE = 3600.0    # s, furthest begin of a trajectory


def check_trajectory(model, joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
                     start: Reference, *, start_delay: float = 0.0,
                     allow_partial_joints: bool = False, position_bounds=None) -> Trajectory:
    """
    Return the trajectory through received points, starting from `start` now, or raise.

    Parameters
    ----------
    model : RobotModel
        Robot model; joint_names, lower, upper, velocity_limit and continuous are used.
    joint_names, points
        Names and points as received.
    start : Reference
        Current reference of the joints, in model order.
    start_delay : float
        Seconds from now to the message's stamp, negative for a stamp in the past, 0 for
        a zero stamp. Points at or before now are dropped.
    allow_partial_joints : bool
        Whether joints may be missing; they stay at the start.
    position_bounds : (2, nv), optional
        Lower and upper bounds of the current positions, some of which may be beyond the limits:
        the points may go as far; default the start.

    Returns
    -------
    Trajectory
        Time 0 is now.

    Raises
    ------
    TrajectoryError
        With evidence: code (ResultCode) and, where they apply, joint, point,
        time, value, limit.

    """
    arrays = arrange_points(joint_names, points, model.joint_names,
                            start.q if allow_partial_joints else None)
    times = arrays.times + start_delay
    _check_end(arrays, times, start_delay, model)
    positions = _turned(model, times, arrays.positions, start.q)
    outermost = outermost_positions(model, start, position_bounds)
    _check_points(model, outermost, positions, arrays.velocities)
    rows = (positions, *arrays[2:])
    trajectory = Trajectory.from_points(times, *join(times, rows, start), start=start)
    check_path(model, trajectory, start, position_bounds=position_bounds)
    return trajectory


def _turned(model, times: np.ndarray, positions: np.ndarray, start: np.ndarray) -> np.ndarray:
    """
    Return positions whose continuous joints turn as given, or the shorter way.

    As given up to half a turn. A longer way is the shorter one where there is no time for it: the
    driver, or a planner, gives angles within one turn. Where there is, it is refused.
    """
    path = np.vstack((start, positions))
    longer = np.abs(np.diff(path, axis=0)) - np.diff(times, prepend=0.0).clip(0.0)[:, None] * (
        np.minimum(model.velocity_limit, _NO_LIMIT))
    for i, j in np.argwhere((np.abs(np.diff(path, axis=0)) > math.pi + ROUNDING)
                            & (longer <= 0.0) & np.asarray(model.continuous)):
        way = path[i + 1, j] - path[i, j]
        other = path[i, j] + shortest_turn(float(way))
        _reject(f"joint '{model.joint_names[j]}' may turn by {way:.4g} rad to point {i}, or "
                f'the shorter way to the same angle: give {other:.4g} for that, or points at most '
                'half a turn apart for this', joint=model.joint_names[j], point=int(i),
                time=float(times[i]), value=path[i + 1, j])
    return unwrap_continuous(positions, start, model.continuous)


def outermost_positions(model, start: Reference, position_bounds=None
                        ) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the lower and upper bounds, (nv,), of a path: the limits, or the start if beyond them.

    `position_bounds` is explained in `check_trajectory`.
    """
    low, high = (start.q, start.q) if position_bounds is None else position_bounds
    return (np.minimum(np.minimum(model.lower, start.q), low),
            np.maximum(np.maximum(model.upper, start.q), high))


def check_path(model, trajectory: Trajectory, start: Reference, velocity_slack: float = 0.1,
               position_slack: float = 1e-3, position_bounds=None) -> None:
    """
    Raise if the interpolated path leaves the position or velocity limits.

    A path from a start beyond a limit may go as far as the start. Between points it may exceed its
    velocity limit by a part, and its position limit by rad or m. `position_bounds` is explained in
    `check_trajectory`.
    """
    path = trajectory.dense()
    lower, upper = outermost_positions(model, start, position_bounds)
    lower, upper = lower - position_slack, upper + position_slack
    excess = np.maximum(path.q - upper, lower - path.q)
    worst = _worst(excess)
    if worst is not None:
        i, j = worst
        limit = model.upper[j] if path.q[i, j] > upper[j] else model.lower[j]
        name, unit = model.joint_names[j], model.position_units[j]
        _reject(f"joint '{name}' would pass its limit {limit:g} {unit} between "
                f'points: position {apart(path.q[i, j], limit)[0]} {unit} at {path.times[i]:.3f} '
                's; add points or velocities there', joint=name, time=path.times[i],
                value=path.q[i, j], limit=limit)
    bound = np.maximum(model.velocity_limit, np.abs(start.qd)) * (1.0 + velocity_slack)
    worst = _worst(np.abs(path.qd) - bound - ROUNDING)
    if worst is not None:
        i, j = worst
        speed, limit = abs(path.qd[i, j]), model.velocity_limit[j]
        unit = f'{model.position_units[j]}/s'
        _reject(f"joint '{model.joint_names[j]}' would move at {speed:.4g} {unit} at "
                f'{path.times[i]:.3f} s, above its velocity limit {limit:g} {unit}; '
                f'{_slower(speed, limit)}', joint=model.joint_names[j], time=path.times[i],
                value=speed, limit=limit)


def _slower(speed, limit) -> str:
    if limit == 0.0:
        return 'the model gives this joint a velocity limit of 0: correct the URDF'
    return f'stretch the times by {speed / limit:.2f}'


def _worst(excess):
    i, j = np.unravel_index(np.argmax(excess), excess.shape)
    return (i, j) if excess[i, j] > 0.0 else None


def _check_end(arrays, times, start_delay, model) -> None:
    if start_delay > _FUTURE:
        _reject(f'the trajectory would begin in {start_delay:.4g} s: its stamp is that far ahead '
                'of the clock of this node; set both clocks, or send stamp 0 to start now',
                value=start_delay, limit=_FUTURE)
    if times[-1] <= 0.0:
        text = (f'the trajectory ended {-times[-1]:.3f} s ago: its stamp lies '
                f'{-start_delay:.3f} s in the past; send stamp 0 to start now'
                if start_delay else 'the trajectory ends at time 0; the arm needs time to get '
                'there: give the last point a time_from_start above 0')
        _reject(text, value=times[-1], limit=0.0, code=ResultCode.OLD_HEADER_TIMESTAMP)
    if arrays.velocities is None:
        return
    moving = np.flatnonzero(np.abs(arrays.velocities[-1]) > ROUNDING)
    if moving.size:
        j, last = moving[0], len(times) - 1
        name, value = model.joint_names[j], arrays.velocities[-1, j]
        _reject(f"point {last}, joint '{name}': the last velocity is {value:g} "
                f'{model.position_units[j]}/s; it must be 0, or the arm would have to stop at '
                'once', joint=name, point=last, value=value, limit=0.0)


def _check_points(model, outermost, positions, velocities) -> None:
    lower, upper = outermost
    _check_bound(model, positions - upper, positions, model.upper,
                 'position {} is above the upper limit {} {}')
    _check_bound(model, lower - positions, positions, model.lower,
                 'position {} is below the lower limit {} {}')
    if velocities is not None:
        speed = np.abs(velocities)
        _check_bound(model, speed - model.velocity_limit, velocities, model.velocity_limit,
                     'velocity {} is above the limit {} {}/s')


def _check_bound(model, excess, values, limit, text) -> None:
    exceeded = np.argwhere(excess > ROUNDING)
    if exceeded.size:
        i, j = exceeded[0]
        name, numbers = model.joint_names[j], apart(values[i, j], limit[j])
        _reject(f"point {i}, joint '{name}': " + text.format(*numbers, model.position_units[j]),
                joint=name, point=int(i), value=values[i, j], limit=limit[j])


def apart(value: float, limit: float) -> tuple[str, str]:
    """Return two numbers with enough digits to differ."""
    for digits in (6, 9, 17):
        texts = f'{value:.{digits}g}', f'{limit:.{digits}g}'
        if texts[0] != texts[1]:
            break
    return texts


def _reject(message, code=ResultCode.INVALID_GOAL, **evidence):
    plain = {key: float(value) if isinstance(value, np.floating) else value
             for key, value in evidence.items()}
    raise TrajectoryError(message, code=code, **plain)
