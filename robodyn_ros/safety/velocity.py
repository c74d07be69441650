"""
Velocities that positions do not contradict.

A driver may report zeros, or another sign or unit. Velocity is estimated from positions by a
fading-memory filter of first degree, critically damped (Morrison, Introduction to Sequential
Smoothing and Prediction, 1969, chapter 9). A reported velocity that is zero gives way to it, and
that of a joint which was once far from the estimate, until states pause.
"""

from __future__ import annotations

import numpy as np

_SMOOTHING = 0.005  # s, time constant; the estimate is late by twice as much
_GAP = 0.1          # s between two states after which the estimate begins anew
FAR = 0.15          # of the velocity limit, by which a velocity may differ from the estimate,
_NOISE = 1e-3       # rad or m, and over the time constant: resolution and noise of positions


def fading_memory(time, dt):
    """Return the gains of position (no unit) and velocity (1/s) on the error of a prediction."""
    kept = time / (time + dt)
    return 1.0 - kept * kept, (1.0 - kept) * (1.0 - kept) / dt


class PlausibleVelocity:
    """
    Velocities of joints, from the states that they report.

    Parameters
    ----------
    velocity_limit : (nv,) array
        In rad/s or m/s. Of joints without one, or with one of zero, only zeros are doubted.

    """

    def __init__(self, velocity_limit: np.ndarray):
        limit = np.asarray(velocity_limit, dtype=float)
        self._far = FAR * np.where(limit > 0.0, limit, np.inf)
        self._time = -np.inf
        self._place = self._rate = np.zeros(limit.size)
        self._doubted = np.zeros(limit.size, dtype=bool)

    def of(self, time: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the velocity, (nv,), of a state: `time` in s, position and reported velocity."""
        dt, self._time = time - self._time, time
        if not 0.0 < dt <= _GAP:
            self._place, self._rate = q.copy(), qd.copy()
            self._doubted[:] = False
            return qd
        smoothing = max(_SMOOTHING, dt)
        gain, slope = fading_memory(smoothing, dt)
        ahead = self._place + self._rate * dt
        error = q - ahead
        self._place, self._rate = ahead + gain * error, self._rate + slope * error
        self._doubted |= np.abs(qd - self._rate) > self._far + _NOISE / smoothing
        return np.where(self._doubted | (qd == 0.0), self._rate, qd)
