"""Numbers of settings: one for all joints, or one per joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.exceptions import ParameterError, shown


def per_joint(name: str, value, joint_names: Sequence[str]) -> np.ndarray:
    """
    Return a value as one number per joint, (nv,); one number is for all.

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


def numbers(name: str, value) -> np.ndarray:
    """Return what was given as an array, of any shape; raise `ParameterError` if it is none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f'{name} is {shown(value)}; give one number, or one per joint',
                             parameter=name) from error
