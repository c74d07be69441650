"""
Whether an arm can have got from one reported position to the next.

Names of joints that are swapped, an encoder that slips, or somebody else who reports another arm
on the same topic: each makes a position jump, and a controller that believed it would throw the
arm. What jumps, and moves faster than its own velocity says, is not used. The way of the arm is
added up without the jumps, so that states count again as soon as they continue it.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

_SPEED = 2.0   # times the velocity limit that a joint may be fast


class Continuity:
    """
    Judges positions, one after the other.

    Parameters
    ----------
    joint_names : sequence of str
        For messages.
    velocity_limit : (nv,) array
        Joints without one, or with one of zero, are not judged.
    slack : float
        By how much a position may be off: noise, resolution, delay; in seconds at the velocity
        limit. Infinite: nothing is judged.
    patience : float
        Seconds after which states that do not continue the way are believed nevertheless: the
        arm is there. Whoever commands it must have given up its motion by then.

    Attributes
    ----------
    problem : str
        Why the last position was not believed; empty if it was.

    """

    def __init__(self, joint_names: Sequence[str], velocity_limit: np.ndarray, slack: float,
                 patience: float):
        limit = np.asarray(velocity_limit, dtype=float)
        self._names = tuple(joint_names)
        self._limit = np.where(limit > 0.0, limit, math.inf)
        self._slack, self._patience = slack, patience
        self._before, self._way, self._velocity = np.zeros((3, limit.size))
        self._time = self._believed = -math.inf
        self._known = False
        self.problem = ''

    def forget(self) -> None:
        """Believe the next position, wherever it is."""
        self._known, self.problem = False, ''

    def follows(self, time: float, q: np.ndarray, qd: np.ndarray) -> bool:
        """
        Return whether a position continues the way of the arm.

        Parameters
        ----------
        time : float
            When it was measured, s; where that goes back, nothing has passed.
        q, qd : (nv,) array
            Position and velocity.

        """
        if not self._known or time - self._believed > self._patience:
            return self._believe(time, q, qd)
        passed = max(time - self._time, 0.0)
        step = q - self._before
        slack = self._slack * self._limit
        # an arm that falls is faster than it should be, and says so
        jumps = ((np.abs(step) > slack + _SPEED * passed * self._limit)
                 & (np.abs(step - 0.5 * passed * (qd + self._velocity)) > slack))
        step[jumps] = 0.0
        self._way += step
        self._before[:], self._velocity[:], self._time = q, qd, time
        away = np.abs(q - self._way)
        if (away <= slack).all():
            return self._believe(time, q, qd)
        j = int(np.argmax(away / self._limit))
        if not self.problem:
            self.problem = (f"joint '{self._names[j]}' has jumped by {away[j]:.3g} in "
                            f'{passed:.3f} s; check encoder, names, and who else publishes')
        return False

    def _believe(self, time: float, q: np.ndarray, qd: np.ndarray) -> bool:
        self._before[:] = self._way[:] = q
        self._velocity[:] = qd
        self._time = self._believed = time
        self._known, self.problem = True, ''
        return True
