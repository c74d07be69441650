"""
Position hold of an arm that is otherwise only damped.

A joint whose velocity decays as `v' = -d v` comes to rest at `q + v/d`. The anchor is set there,
so that `r = q + v/d - anchor` stays 0 along the undisturbed motion; the feedback `-d p r` acts on
disturbances only, with the real poles d and p. At rest it is a spring of stiffness d p with
damping d + p.
"""

from __future__ import annotations

import numpy as np


class Anchor:
    """
    Position at which an arm is held; it slips when the hold is saturated.

    Parameters
    ----------
    lower, upper : (nv,)
        Position limits; the anchor is kept within them.

    Attributes
    ----------
    q : (nv,) array
        Position of the anchor, in rad or m.
    error : (nv,) array
        Where the arm would come to rest by damping alone, less that.

    """

    def __init__(self, lower: np.ndarray, upper: np.ndarray):
        self._lower, self._upper = lower, upper
        self.q = np.zeros(lower.size)
        self.error, self._pull = np.zeros((2, lower.size))

    def reset(self, q: np.ndarray, qd: np.ndarray, damping: float) -> None:
        """Set the anchor where an arm in this state comes to rest by damping alone."""
        np.divide(qd, damping, out=self.q)
        self.q += q
        self._clip()

    def pull(self, q: np.ndarray, qd: np.ndarray, damping: float, rate: float) -> np.ndarray:
        """
        Return the acceleration towards the anchor, (nv,); overwritten by the next call.

        Parameters
        ----------
        q, qd : (nv,)
            State of the arm.
        damping, rate : float
            The two poles, 1/s.

        """
        np.divide(qd, damping, out=self.error)
        self.error += q
        self.error -= self.q
        return np.multiply(self.error, -damping * rate, out=self._pull)

    def slip(self, part: np.ndarray) -> None:
        """Move the anchor so that only this part, (nv,) in 0..1, of the last pull remains."""
        self.q += (1.0 - part) * self.error
        self._clip()

    def _clip(self) -> None:
        np.maximum(self.q, self._lower, out=self.q)
        np.minimum(self.q, self._upper, out=self.q)
