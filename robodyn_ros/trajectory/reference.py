"""
Reference of the joints at one instant.

The module does not depend on splines, so that other packages can use it alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(slots=True, eq=False)
class Reference:
    """
    Desired position, velocity, acceleration and feedforward effort of every joint.

    Attributes
    ----------
    q, qd, qdd : numpy.ndarray
        (nv,) in rad, rad/s, rad/s^2, or m, m/s, m/s^2, in model order.
    effort : numpy.ndarray
        (nv,) feedforward effort in N m or N, added to the model's torque.

    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    effort: np.ndarray

    @classmethod
    def zeros(cls, nv: int) -> Reference:
        """Return a reference of `nv` joints, all zero; a buffer for `out`."""
        return cls(np.zeros(nv), np.zeros(nv), np.zeros(nv), np.zeros(nv))

    @classmethod
    def at_rest(cls, q) -> Reference:
        """Return a reference at rest at `q`."""
        q = np.array(q, dtype=float)
        return cls(q, np.zeros_like(q), np.zeros_like(q), np.zeros_like(q))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity, acceleration and effort, without copying."""
        return self.q, self.qd, self.qdd, self.effort

    def assign(self, other: Reference) -> Reference:
        """Copy the values of `other` into this reference's arrays and return self."""
        self.q[:] = other.q
        self.qd[:] = other.qd
        self.qdd[:] = other.qdd
        self.effort[:] = other.effort
        return self

    def copy(self) -> Reference:
        """Return a copy with its own arrays."""
        return Reference(self.q.copy(), self.qd.copy(), self.qdd.copy(), self.effort.copy())
