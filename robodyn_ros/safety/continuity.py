"""
Whether an arm can have got from one reported position to the next.

Names of joints that are swapped, an encoder that slips, or somebody else who reports another arm
on the same topic: each makes a position jump, and a controller that believed it would throw the
arm. What jumps, and moves faster than its own velocity says, is not used. The way of the arm is
added up without the jumps, so that states count again as soon as they continue it.

States that go on after a jump are believed in the end: an encoder has slipped, and feedback only
has another zero. Where joints have changed places they are not, however long that lasts: feedback
of one joint would drive another.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

_SPEED = 2.0   # times the velocity limit that a joint may be fast
_NEAR = 0.1    # of the slack that a joint may move from one state to the next and be in place
_ANY = 1e9     # rad/s or m/s, of a joint without limit: infinite times no time is no number


def judged_speeds(velocity_limit) -> np.ndarray:
    """Return the velocity limits, (nv,), huge for joints without one or with one of zero."""
    limit = np.asarray(velocity_limit, dtype=float)
    return np.where(limit > 0.0, np.minimum(limit, _ANY), _ANY)


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
        arm is there. Whoever commands it must have given up its motion by then. Not while joints
        have changed places.

    """

    def __init__(self, joint_names: Sequence[str], velocity_limit: np.ndarray, slack: float,
                 patience: float):
        self._names, self._limit = tuple(joint_names), judged_speeds(velocity_limit)
        self._slack, self._patience = slack, patience
        self._before, self._way, self._velocity = np.zeros((3, self._limit.size))
        self._time = self._believed = -math.inf
        self._known = self._exchanged = False
        self._jump = ''

    @property
    def problem(self) -> str:
        """Return why the last position was not believed; empty if it was."""
        hint = '; joints seem to be exchanged' if self._exchanged else ''
        return self._jump and self._jump + hint

    def forget(self) -> None:
        """Believe the next position, wherever it is."""
        self._known, self._exchanged, self._jump = False, False, ''

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
        if not self._known or time - self._time > self._patience:
            return self._accept(time, q, qd)
        passed = max(time - self._time, 0.0)
        step = q - self._before
        slack = self._slack * self._limit
        # an arm that falls is faster than it should be, and says so
        jumps = ((np.abs(step) > slack + _SPEED * passed * self._limit)
                 & (np.abs(step - 0.5 * passed * (qd + self._velocity)) > slack))
        if jumps.any() and self._change_places(q, slack):
            self._exchanged = not self._exchanged
        step[jumps] = 0.0
        # where two arms report by turns the step back may just be none that jumps
        away = np.abs(q - self._way)
        self._way += step
        self._before[:], self._velocity[:], self._time = q, qd, time
        np.minimum(away, np.abs(q - self._way), out=away)
        if (away <= slack).all() or (time - self._believed > self._patience
                                     and not self._exchanged):
            return self._accept(time, q, qd)
        j = int(np.argmax(away / self._limit))
        if not self._jump:
            self._jump = (f"joint '{self._names[j]}' has jumped by {away[j]:.3g} in "
                          f'{passed:.3f} s; check encoder, joint names, and other publishers of '
                          'joint states')
        return False

    def _change_places(self, q: np.ndarray, slack: np.ndarray) -> bool:
        """Return whether the positions are those before, of other joints."""
        moved = np.abs(q - self._before) > _NEAR * slack
        return np.count_nonzero(moved) > 1 and bool(np.all(
            np.abs(np.sort(q[moved]) - np.sort(self._before[moved])) <= slack[moved].min()))

    def _accept(self, time: float, q: np.ndarray, qd: np.ndarray) -> bool:
        self._before[:] = self._way[:] = q
        self._velocity[:] = qd
        self._time = self._believed = time
        self._known, self._exchanged, self._jump = True, False, ''
        return True
