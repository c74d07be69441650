"""Messages of a stream of targets, and the limits of its motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodyn_ros.control.settings import StreamSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.settings import per_joint
from robodyn_ros.trajectory import arrange_points, TrajectoryPoint
from robodyn_ros.trajectory.streaming import MotionLimits

MOST_POINTS = 200    # of a message,
_MOST_USED = 50      # and those of them that are used: planning takes time with their square
FURTHEST = 60.0      # s from the arrival to a target, at most
CLOSEST = 1e-6       # s from one target to the next, at least
_EFFORT = 0.95     # part of the usable torque; the rest is for feedback
_SPARE = 0.1       # part of it that counts as available for accelerations in any pose
_RISE = 0.1        # s from rest to the velocity limit, at least
_BUILD_UP = 0.05   # s from 0 to the largest acceleration, at least
_FASTEST = 1e3     # rad/s or m/s, where there is no limit


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
    time_origin = arrival if stamp is None else stamp
    ahead = time_origin + float(times[-1]) - arrival
    if not abs(ahead) <= FURTHEST:  # NaN as well
        raise TrajectoryError(f'the last target is due {ahead:.4g} s after it arrived, by a stamp '
                              f'of {time_origin:.4g} s and time_from_start {times[-1]:.4g} s; '
                              f'send targets of the next {FURTHEST:g} s, with stamps of the same '
                              'clock', value=ahead, limit=FURTHEST)


# --- limits of the motion ------------------------------------------------------------------------

def stream_limits(dynamics: Dynamics, settings: StreamSettings, usable, armature, q
                  ) -> MotionLimits:
    """
    Return the limits of a stream that begins at a position, without `needed`.

    usable: torque, (nv,) in N m or N; armature: inertia of the rotors, (nv,); q: position, (nv,).
    """
    model = dynamics.model
    names = model.joint_names
    speed = np.minimum(_given('velocity_limit', settings, names), model.velocity_limit)
    speed = np.where(np.isfinite(speed), speed, _FASTEST)
    inertia = np.diag(dynamics.mass_matrix(q)) + armature
    room = np.maximum(_EFFORT * usable - np.abs(dynamics.gravity(q)), _SPARE * usable)
    own = np.minimum(room / np.maximum(inertia, 1e-9), speed / _RISE)
    acceleration = np.minimum(_given('acceleration_limit', settings, names), own)
    return MotionLimits(model.lower, model.upper, speed, acceleration, acceleration / _BUILD_UP,
                        _EFFORT * usable)


def check_limits(settings: StreamSettings, joint_names: Sequence[str]) -> None:
    """Raise `ParameterError` for limits of a wrong length."""
    for name in ('velocity_limit', 'acceleration_limit'):
        _given(name, settings, joint_names)


def _given(name: str, settings: StreamSettings, joint_names: Sequence[str]) -> np.ndarray:
    """Return a limit per joint; infinite where none is given."""
    value = getattr(settings, name)
    return (per_joint(f'stream.{name}', value, joint_names) if value
            else np.full(len(joint_names), np.inf))
