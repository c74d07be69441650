"""Checks of what a script gives to the client."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ArgumentError, shown


def require(name: str, value: object, least: float, most: float, what: str) -> None:
    """Raise `ArgumentError` unless a number is between two bounds."""
    if not isinstance(value, Real) or not least <= float(value) <= most:
        raise ArgumentError(f'{name} is {shown(value)}: it must be {what}')


def joint_rows(name: str, values: ArrayLike, joint_names: Sequence[str]) -> NDArray:
    """Return (T, nv) numbers; raise `ArgumentError` if they are not."""
    nv, joints = len(joint_names), ', '.join(joint_names)
    try:
        rows = np.atleast_2d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        raise ArgumentError(f'{name} is {shown(values)}: it must be {nv} numbers, for the joints '
                            f'{joints}') from None
    if rows.ndim != 2 or rows.shape[1] != nv or not len(rows):
        raise ArgumentError(f'{name} must have shape ({nv},) or (T, {nv}), for the joints '
                            f'{joints}; got {np.shape(values)}')
    broken = np.argwhere(~np.isfinite(rows))
    if len(broken):
        k, j = broken[0]
        raise ArgumentError(f"{name}, row {k}, joint '{joint_names[j]}' is {rows[k, j]}: it must "
                            'be a finite number', joint=joint_names[j])
    return rows
