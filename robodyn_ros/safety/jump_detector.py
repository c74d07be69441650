"""
Detection of jumps in reported joint positions.

A slipping encoder, or a second arm publishing on the same topic make the reported position jump,
and feedback on such a position would throw the arm. A step that is too large for the velocity
limits and also for the reported velocity is a jump; positions after it are rejected. The path is
integrated without the jumps, so that positions which continue it are accepted again.

Positions that stay away for longer than the recovery time are accepted: an encoder has slipped
and has another zero. If it slips back, positions are accepted at once.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

_SPEED = 2.0   # largest plausible speed, in velocity limits
_ANY = 1e9     # rad/s or m/s, for a joint without limit: infinity times 0 s would be NaN


def finite_velocity_limits(velocity_limit) -> np.ndarray:
    """Return the velocity limits, (nv,), with 1e9 for joints without one or with one of zero."""
    limit = np.asarray(velocity_limit, dtype=float)
    return np.where(limit > 0.0, np.minimum(limit, _ANY), _ANY)


class JumpDetector:
    """
    Rejects positions that the arm cannot have reached since the last accepted one.

    Parameters
    ----------
    joint_names : sequence of str
        Names for messages.
    velocity_limit : (nv,) array
        Velocity limits, in rad/s or m/s; joints without one, or with one of zero, are not checked.
    slack : float
        Tolerance of a position for noise, resolution and delay, in seconds at the velocity
        limit. Infinite: nothing is checked.
    recovery : float
        Seconds after which positions off the path are accepted nevertheless. The controller must
        have given up its motion by then.

    """

    def __init__(self, joint_names: Sequence[str], velocity_limit: np.ndarray, slack: float,
                 recovery: float):
        self._names, self._limit = tuple(joint_names), finite_velocity_limits(velocity_limit)
        self._slack, self._recovery = slack, recovery
        # origin: path without the jumps that were accepted after the recovery time
        self._last, self._path, self._origin, self._velocity = np.zeros((4, self._limit.size))
        self._time = self._accepted = -math.inf
        self._known, self._jump = False, ''

    @property
    def problem(self) -> str:
        """Return why the last position was rejected; empty if it was accepted."""
        return self._jump

    def reset(self) -> None:
        """Accept the next position, wherever it is."""
        self._known, self._jump = False, ''

    def accept(self, time: float, q: np.ndarray, qd: np.ndarray) -> bool:
        """
        Return whether a position continues the path of the arm.

        Parameters
        ----------
        time : float
            Time of measurement, s; a step back in time counts as no time.
        q, qd : (nv,) array
            Position and velocity.

        """
        if not self._known or time - self._time > self._recovery:
            return self._restart(time, q, qd)
        passed = max(time - self._time, 0.0)
        step = q - self._last
        slack = self._slack * self._limit
        # a falling arm may exceed its velocity limit, but its velocity agrees with the step
        jumps = ((np.abs(step) > slack + _SPEED * passed * self._limit)
                 & (np.abs(step - 0.5 * passed * (qd + self._velocity)) > slack))
        step[jumps] = 0.0
        # if two arms publish in turn, the step back may be just too small for a jump
        away = np.abs(q - self._path)
        self._path += step
        self._origin += step
        self._last[:], self._velocity[:], self._time = q, qd, time
        np.minimum(away, np.abs(q - self._path), out=away)
        if (np.abs(q - self._origin) <= slack).all():
            return self._restart(time, q, qd)
        if (away <= slack).all() or time - self._accepted > self._recovery:
            return self._continue(time, q, qd)
        j = int(np.argmax(away / self._limit))
        if not self._jump:
            self._jump = (f"joint '{self._names[j]}' has jumped by {away[j]:.3g} in "
                          f'{passed:.3f} s; check encoder, joint names, and other publishers of '
                          'joint states')
        return False

    def _restart(self, time: float, q: np.ndarray, qd: np.ndarray) -> bool:
        self._origin[:] = q
        return self._continue(time, q, qd)

    def _continue(self, time: float, q: np.ndarray, qd: np.ndarray) -> bool:
        self._last[:] = self._path[:] = q
        self._velocity[:] = qd
        self._time = self._accepted = time
        self._known, self._jump = True, ''
        return True
