"""Poses of frames: rotation matrix and translation, with exact zeros and ones."""
from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

SNAP = 1e-15  # rotation entries this close to 0, 1 or -1 are set to exactly that value


def read_only(value: ArrayLike, dtype: type = float) -> NDArray:
    """Return a C-contiguous copy that cannot be written to."""
    array: NDArray = np.array(value, dtype=dtype, order='C')
    array.setflags(write=False)
    return array


def snap(matrix: ArrayLike) -> NDArray:
    """Round entries within 1e-15 of 0, 1 and -1, so that the tracer folds them as constants."""
    array = np.array(matrix, dtype=float)
    for exact in (0.0, 1.0, -1.0):
        array[np.abs(array - exact) <= SNAP] = exact
    return array


def rotation_from_rpy(rpy: ArrayLike) -> NDArray:
    """Return Rz(yaw) Ry(pitch) Rx(roll), the rotation of a URDF ``rpy`` attribute (rad)."""
    (sr, cr), (sp, cp), (sy, cy) = (
        snap([math.sin(angle), math.cos(angle)]) for angle in np.asarray(rpy, dtype=float))
    return snap([
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ])


def rotation_about(axis: ArrayLike, angle: float) -> NDArray:
    """Return the rotation by an angle (rad) about a unit axis (Rodrigues' formula)."""
    x, y, z = (float(component) for component in np.asarray(axis, dtype=float))
    sine, cosine = snap([math.sin(angle), math.cos(angle)])
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return snap(np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross))


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """
    Pose of a frame in the frame of a body: x_body = rotation @ x + translation.

    Parameters
    ----------
    body : int
        Index of the body, -1 for the fixed base.
    rotation : (3, 3) array
        Axes of the frame, as columns, in the axes of the body.
    translation : (3,) array
        Origin of the frame in the body (m).

    """

    body: int
    rotation: NDArray
    translation: NDArray

    def __post_init__(self) -> None:
        object.__setattr__(self, 'rotation', read_only(self.rotation))
        object.__setattr__(self, 'translation', read_only(self.translation))

    def __reduce__(self):
        return Frame, (self.body, self.rotation, self.translation)

    def compose(self, rotation: NDArray, translation: NDArray) -> Frame:
        """Return the pose, in the same body, of a frame given relative to this one."""
        return Frame(self.body, snap(self.rotation @ rotation),
                     self.rotation @ translation + self.translation)


def frame_at_origin(body: int) -> Frame:
    """Return the body's own frame."""
    return Frame(body, np.eye(3), np.zeros(3))
