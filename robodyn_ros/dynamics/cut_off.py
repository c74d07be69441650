"""Joints that a tip cuts off although the arm feels where they are."""

from __future__ import annotations

from collections.abc import Mapping
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robodyn_ros.dynamics.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import sampled_poses
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import RobotModel

_POSES, _NEGLIGIBLE = 32, 0.01  # poses that are tried; part of the effort limits


def cut_off(model: RobotModel, source: str | bytes | os.PathLike, gravity: ArrayLike,
            selection: Mapping[str, Any]) -> str:
    """
    Return which joint gets no torque, although its position changes the gravity torque.

    Joints whose locked position is stated are left out, and those that change the gravity torque
    by less than a hundredth of the effort limits, as a finger does.

    Parameters
    ----------
    model : RobotModel
        The arm up to its tip.
    source, gravity, selection
        Arguments of `RobotModel.from_urdf` it was made with; `selection`: base, tip, locked.

    Returns
    -------
    str
        A sentence with the joint that matters most, the change, and the remedy; '' if there is
        none.

    """
    if not selection.get('tip'):
        return ''
    try:
        whole = RobotModel.from_urdf(source, gravity, **{**selection, 'tip': None})
    except ModelError:  # such as a floating joint beside the chain
        return ''
    names = list(whole.joint_names)
    if not set(model.joint_names) <= set(names):
        return ''
    kept = [names.index(name) for name in model.joint_names]
    limit = np.where(np.isfinite(model.effort_limit), model.effort_limit, np.inf)
    dynamics, poses = Dynamics(whole, backend='python'), sampled_poses(whole, _POSES)
    rest = poses.copy()
    beside = [j for j in range(whole.nv) if j not in kept]
    rest[:, beside] = np.clip(0.0, whole.lower, whole.upper)[beside]
    still = dynamics.gravity(rest)
    most, text = _NEGLIGIBLE, ''
    for j in beside:
        turned = rest.copy()
        turned[:, j] = poses[:, j]
        change = np.abs(dynamics.gravity(turned) - still)[:, kept].max(axis=0)
        k = int(np.argmax(change / limit))
        if change[k] > most * limit[k]:
            most = change[k] / limit[k]
            text = (f"joint '{names[j]}' is cut off by the tip and gets no torque, but changes "
                    f"the gravity torque of '{model.joint_names[k]}' by up to {change[k]:.3g} "
                    f'{model.effort_units[k]}: take a tip behind it, or state where it is '
                    f'locked, such as {names[j]}:{rest[0, j]:g}')
    return text
