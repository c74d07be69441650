"""
Velocity estimation from positions, for joints whose reported velocity is implausible.

A driver may report zeros, or another sign or unit. Velocity is estimated from positions by a
fading-memory filter of first degree, critically damped (Morrison, Introduction to Sequential
Smoothing and Prediction, 1969, chapter 9). The estimate replaces a reported velocity of zero, and
every reported velocity of a joint that was once far from the estimate, until the next gap in the
states.
"""

from __future__ import annotations

import numpy as np

_SMOOTHING = 0.005  # s, time constant; the estimate lags by twice as much
_GAP = 0.1          # s between two states after which the estimate restarts
FAR = 0.15          # largest difference from the estimate, as a part of the velocity limit, plus
_NOISE = 1e-3       # rad or m per time constant: resolution and noise of positions


def fading_memory(time, dt):
    """Return the gains of position (no unit) and velocity (1/s) on the prediction error."""
    kept = time / (time + dt)
    return 1.0 - kept * kept, (1.0 - kept) * (1.0 - kept) / dt


class PlausibleVelocity:
    """
    Joint velocities, reported or estimated.

    Parameters
    ----------
    velocity_limit : (nv,) array
        Velocity limits, in rad/s or m/s. For joints without one, or with one of zero, only
        reported zeros are replaced.

    """

    def __init__(self, velocity_limit: np.ndarray):
        limit = np.asarray(velocity_limit, dtype=float)
        self._far = FAR * np.where(limit > 0.0, limit, np.inf)
        self._time = -np.inf
        self._position = self._velocity = np.zeros(limit.size)
        self._rejected = np.zeros(limit.size, dtype=bool)

    def update(self, time: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the velocity, (nv,), of a state: `time` in s, position and reported velocity."""
        dt, self._time = time - self._time, time
        if not 0.0 < dt <= _GAP:
            self._position, self._velocity = q.copy(), qd.copy()
            self._rejected[:] = False
            return qd
        smoothing = max(_SMOOTHING, dt)
        gain, slope = fading_memory(smoothing, dt)
        predicted = self._position + self._velocity * dt
        error = q - predicted
        self._position, self._velocity = predicted + gain * error, self._velocity + slope * error
        self._rejected |= np.abs(qd - self._velocity) > self._far + _NOISE / smoothing
        return np.where(self._rejected | (qd == 0.0), self._velocity, qd)
