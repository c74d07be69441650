"""Report of a Cartesian law."""

from __future__ import annotations

import numpy as np

SIZE = 20


class TaskReport:
    """
    Views of the numbers that a Cartesian law returns after its terms; of its last call.

    6-vectors are linear first, in the axes of the gains.

    Parameters
    ----------
    numbers : (20,) array
        Output of the laws.

    Attributes
    ----------
    pose_error : (6,) array
        p_ref - p, and twice the vector part of the quaternion of R_ref R^T: about the angle.
    twist_error : (6,) array
        Twist of the reference minus that of the link.
    wrench : (6,) array
        Wrench of the feedback on the link, in N and N m, before saturation and authority.

    """

    def __init__(self, numbers: np.ndarray):
        self.pose_error, self.twist_error, self.wrench = numbers[:6], numbers[6:12], numbers[12:18]
        self._rest = numbers[18:]

    @property
    def manipulability(self) -> float:
        """Return the manipulability: typically 0.05 to 1, 0 in a singularity."""
        return float(self._rest[0])

    @property
    def dissipated(self) -> float:
        """Return the power dissipated by the dampers of cartesian_impedance, in W."""
        return float(self._rest[1])
