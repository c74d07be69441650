"""Judgement of states written down once more, with arrays: oracle of `safety.acceptance`."""

import math

import numpy as np

_SPEED = 2.0  # largest plausible speed, in velocity limits
_ANY = 1e9    # rad/s or m/s, for a joint without limit: infinity times 0 s would be NaN


class JumpDetector:
    """Rejects positions that an arm cannot have reached since the last accepted one."""

    def __init__(self, joint_names, velocity_limit, slack, recovery):
        limit = np.asarray(velocity_limit, dtype=float)
        self._names = tuple(joint_names)
        self._limit = np.where(limit > 0.0, np.minimum(limit, _ANY), _ANY)
        self._slack, self._recovery = slack, recovery
        # origin: path without the jumps that were accepted after the recovery time
        self._last, self._path, self._origin, self._velocity = np.zeros((4, self._limit.size))
        self._time = self._accepted = -math.inf
        self._known, self.problem = False, ''

    def accept(self, time, q, qd):
        """Return whether a position continues the path of the arm."""
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
        if not self.problem:
            self.problem = (f"joint '{self._names[j]}' has jumped by {away[j]:.3g} in "
                            f'{passed:.3f} s; check encoder, joint names, and other publishers '
                            'of joint states')
        return False

    def _restart(self, time, q, qd):
        self._origin[:] = q
        return self._continue(time, q, qd)

    def _continue(self, time, q, qd):
        self._last[:] = self._path[:] = q
        self._velocity[:] = qd
        self._time = self._accepted = time
        self._known, self.problem = True, ''
        return True


class StaleMonitor:
    """Monitors the age of data, by arrival and stamp."""

    def __init__(self, hold_after, max_skew):
        self.hold_after, self.max_skew = hold_after, max_skew
        self._measured, self._stamp = -math.inf, 0.0

    def received(self, now, stamp, clock):
        """Return whether a message is accepted."""
        if stamp == 0.0:
            self._measured = now
            return True
        before, self._stamp = self._stamp, stamp
        delay = clock - stamp
        if not abs(delay) <= self.max_skew or stamp <= before:
            return False
        self._measured = now - (max(delay, 0.0) if math.isfinite(self.max_skew) else 0.0)
        return True

    def age(self, now):
        """Return the age of the newest good data."""
        self._measured = min(self._measured, now)
        return now - self._measured
