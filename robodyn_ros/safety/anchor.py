"""
Where an arm that is only damped would come to rest, and what keeps it there.

A joint whose speed v decays as `v' = -d v` has `v / d` left to go: so `r = q + v/d - anchor` is 0
all the way to rest, if the anchor was put there at the beginning, and nobody pushes. The pull back
`-d p r` only answers what was not foreseen, with the poles d and p, both real. At rest it is a
spring of stiffness d p with damping d + p.
"""

from __future__ import annotations

import numpy as np


class Anchor:
    """
    Holds an arm where its damping leaves it, and gives way to whoever is stronger.

    Parameters
    ----------
    lower, upper : (nv,)
        Limits of position; it stays within them.

    Attributes
    ----------
    q : (nv,) array
        Where it is.

    """

    def __init__(self, lower: np.ndarray, upper: np.ndarray):
        self._lower, self._upper = lower, upper
        self.q = np.zeros(lower.size)
        self._off, self._pull = np.zeros((2, lower.size))

    def drop(self, q: np.ndarray, qd: np.ndarray, damping: float) -> None:
        """Put it where an arm in this state will come to rest."""
        np.divide(qd, damping, out=self.q)
        self.q += q
        self._stay_inside()

    def pull(self, q: np.ndarray, qd: np.ndarray, damping: float, rate: float) -> np.ndarray:
        """
        Return the acceleration that leads back to it; overwritten by the next call.

        Parameters
        ----------
        q, qd : (nv,)
            State of the arm.
        damping, rate : float
            The two poles, 1/s.

        """
        np.divide(qd, damping, out=self._off)
        self._off += q
        self._off -= self.q
        return np.multiply(self._off, -damping * rate, out=self._pull)

    def give_way(self, part: np.ndarray) -> None:
        """Let it be dragged so far that only a part of the last pull remains, (nv,)."""
        self.q += (1.0 - part) * self._off
        self._stay_inside()

    def _stay_inside(self) -> None:
        np.maximum(self.q, self._lower, out=self.q)
        np.minimum(self.q, self._upper, out=self.q)
