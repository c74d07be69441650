"""Numbers of joints: given by name, once for all joints, or once per joint."""

from __future__ import annotations

import numpy as np

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model.robot_model import RobotModel
from robodyn_ros.settings import per_joint, unusable

# numbers per joint of the command of a drive, which makes the torque
# effort + kp (position - q) + kd (velocity - qd)
COMMAND = 'effort', 'position', 'velocity', 'kp', 'kd'
_USUAL_SPEED = 2.0  # rad/s or m/s, for a joint without velocity limit


def joint_values(parameter: str, entries: tuple[str, ...],
                 form: str = 'joint:position, such as finger_joint:0.02') -> dict[str, float]:
    """
    Parse joint names and numbers from texts such as `finger_joint:0.02`.

    Parameters
    ----------
    parameter : str
        Name of the parameter, for messages.
    entries : tuple of str
        Value of the parameter.
    form : str
        Expected form of an entry, for messages.

    Raises
    ------
    ParameterError
        An entry does not have this form, its number is not finite or too small to compute with,
        or a joint is named twice.

    """
    numbers: dict[str, float] = {}
    for entry in entries:
        joint, colon, text = entry.rpartition(':')
        joint = joint.strip()
        try:
            value = float(text)
        except ValueError:
            colon = ''
        if not colon or not joint:
            raise ParameterError(f'parameter {parameter!r} has the entry {entry!r}: write it as '
                                 + form, entry=entry)
        if why := unusable(value):
            raise ParameterError(f'parameter {parameter!r} gives {joint!r} {text.strip()}: {why}',
                                 joint=joint, value=value)
        if joint in numbers:
            raise ParameterError(f'parameter {parameter!r} names {joint!r} twice: leave one out',
                                 joint=joint)
        numbers[joint] = value
    return numbers


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


def usable_range(model: RobotModel, free=np.pi) -> tuple[np.ndarray, np.ndarray]:
    """
    Return finite bounds of the positions, (nv,) each, in rad or m.

    Parameters
    ----------
    model : RobotModel
        The robot.
    free : float or (nv,)
        Half of the range of a joint without limits, about 0; with one limit, it begins there.

    """
    lower = np.where(np.isfinite(model.lower), model.lower,
                     np.where(np.isfinite(model.upper), model.upper - 2.0 * free, -free))
    return lower, np.where(np.isfinite(model.upper), model.upper, lower + 2.0 * free)


def speeds(model: RobotModel) -> np.ndarray:
    """Return the velocity limits, (nv,), or a usual speed where there is none, rad/s or m/s."""
    limit = model.velocity_limit
    return np.where(np.isfinite(limit) & (limit > 0.0), limit, _USUAL_SPEED)
