"""Checks that the motors of an arm can hold it, and can bear a wrench."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.torque_bounds import Bounds
from robodyn_ros.exceptions import ModelError


def overload(arm: ControlledArm, gravity: np.ndarray, bounds: Bounds) -> str:
    """Return the motor that could not hold the arm with such a gravity torque, (nv,), or ''."""
    torque = gravity * arm.design.gains.safe_gravity_scale
    with np.errstate(divide='ignore', invalid='ignore'):
        share = np.abs(torque) / bounds.usable
    j = int(np.argmax(np.nan_to_num(share)))
    if not share[j] > 1.0:
        return ''
    return (f"joint '{arm.model.joint_names[j]}' would need {arm.text_of(j, torque[j])} to "
            f'hold the arm here, its motor may give {arm.text_of(j, bounds.usable[j])}')


def check_wrench(arm: ControlledArm, torque: np.ndarray, link: str, what: str, role: str,
                 remedy: str = '') -> None:
    """
    Raise `ModelError` for a wrench beyond the torque of the motors here.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    torque : (nv,) array
        Torque of the joints that compensates the wrench.
    link : str
        Link of the wrench.
    what, role, remedy : str
        Name of the wrench, what the torque is needed for, and the remedy, for the message.

    """
    torque, usable = np.abs(torque), arm.bounds.usable
    share = torque / usable
    j = int(np.argmax(share))
    if share[j] > 1.0:
        raise ModelError(
            f"{what} on link {link!r}: joint '{arm.model.joint_names[j]}' would need "
            f'{arm.text_of(j, torque[j])} {role}, its motor may give '
            f'{arm.text_of(j, usable[j])}{remedy}', link=link)
