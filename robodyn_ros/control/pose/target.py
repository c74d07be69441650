"""Target poses of a link."""

from __future__ import annotations

import numpy as np

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE

_UNIT = 1e-2  # tolerance of the norm of a quaternion


def checked_target(position, quaternion) -> np.ndarray:
    """
    Return a pose as twelve numbers: rotation matrix by rows, and position, in the base frame.

    Parameters
    ----------
    position : (3,)
        Position in m.
    quaternion : (4,)
        Orientation x, y, z, w.

    Raises
    ------
    ArgumentError
        A number is not finite, or the quaternion has not norm 1.

    """
    values = np.array([*position, *quaternion], dtype=float)
    if values.shape != (7,) or not (np.abs(values) < MAX_PLAUSIBLE_VALUE).all():
        raise ArgumentError(f'the target pose is {values.tolist()}; position (x, y, z) and '
                            'quaternion (x, y, z, w) must be finite numbers below '
                            f'{MAX_PLAUSIBLE_VALUE:g}')
    norm = float(np.linalg.norm(values[3:]))
    if not abs(norm - 1.0) <= _UNIT:
        raise ArgumentError(f'the quaternion of the target pose has norm {norm:.4g}; '
                            'normalise it, (0, 0, 0, 1) is no rotation', value=norm)
    return np.concatenate([rotation_matrix(values[3:] / norm).ravel(), values[:3]])


def rotation_matrix(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])
