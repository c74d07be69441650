"""Limits of the motion of a stream, from settings, model and torque."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.control.settings import StreamSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.settings import per_joint
from robodyn_ros.trajectory.streaming import MotionLimits

_EFFORT = 0.95     # part of the usable torque; the rest is for feedback
_SPARE = 0.1       # part of it that counts as available for accelerations in any pose
_RISE = 0.1        # s from rest to the velocity limit, at least
_BUILD_UP = 0.05   # s from 0 to the largest acceleration, at least
_FASTEST = 1e3     # rad/s or m/s, where there is no limit


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
    jerk = np.minimum(_given('jerk_limit', settings, names), acceleration / _BUILD_UP)
    return MotionLimits(model.lower, model.upper, speed, acceleration, jerk, _EFFORT * usable)


def check_limits(settings: StreamSettings, joint_names: Sequence[str]) -> None:
    """Raise `ParameterError` for limits of a wrong length."""
    for name in ('velocity_limit', 'acceleration_limit', 'jerk_limit'):
        _given(name, settings, joint_names)


def _given(name: str, settings: StreamSettings, joint_names: Sequence[str]) -> np.ndarray:
    """Return a limit per joint; infinite where none is given."""
    value = getattr(settings, name)
    return (per_joint(f'stream.{name}', value, joint_names) if value
            else np.full(len(joint_names), np.inf))
