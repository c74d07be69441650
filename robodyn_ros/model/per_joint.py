"""Numbers given once for all joints, or once per joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.model.robot_model import RobotModel

_USUAL_SPEED = 2.0  # rad/s or m/s, for a joint without velocity limit


def per_joint(name: str, value, joint_names: Sequence[str]) -> np.ndarray:
    """
    Return a value as one number per joint, (nv,); a single number applies to all.

    Raises
    ------
    ParameterError
        Neither one number nor one per joint.

    """
    values = numbers(name, value)
    if values.size == 1:
        return np.full(len(joint_names), values.item())
    if values.shape != (len(joint_names),):
        raise ParameterError(
            f'{name} has {values.size} values; give one, or one for each of the '
            f'{len(joint_names)} joints: {", ".join(joint_names)}', parameter=name)
    return values.copy()


def not_negative(name: str, value, model: RobotModel) -> np.ndarray:
    """
    Return a value as one number per joint, each finite and 0 or more.

    Raises
    ------
    ParameterError
        A value is negative or not finite; the message names the joint.

    """
    values = per_joint(name, value, model.joint_names)
    for joint, each in zip(model.joint_names, values):
        if not 0.0 <= each < np.inf:
            raise ParameterError(f"{name} of joint '{joint}' is {each:g}; it must be finite, and "
                                 '0 or more', parameter=name, joint=joint, value=float(each))
    return values


def speeds(model: RobotModel) -> np.ndarray:
    """Return the velocity limits, (nv,), or a usual speed where there is none, rad/s or m/s."""
    limit = model.velocity_limit
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, _USUAL_SPEED)


def numbers(name: str, value) -> np.ndarray:
    """Return a value as an array of any shape; raise `ParameterError` if it is not numeric."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f'{name} is {shown(value)}; give one number, or one per joint',
                             parameter=name) from error
