"""The torque that an arm was given on average from one state to the next."""

from __future__ import annotations

import numpy as np


class MeanTorque:
    """Averages over the torques that were sent while no state came."""

    def __init__(self, nv: int):
        self._impulse, self._mean = np.zeros((2, nv))
        self._elapsed = 0.0

    def add(self, dt: float, torque: np.ndarray) -> None:
        """Take note of a torque that acted for `dt` seconds."""
        self._impulse += dt * torque
        self._elapsed += dt

    def finish(self, dt: float, torque: np.ndarray) -> tuple[float, np.ndarray]:
        """Return seconds and mean torque, the last one included; what comes is another mean."""
        if self._elapsed <= 0.0:
            return dt, torque
        self.add(max(dt, 0.0), torque)
        elapsed = self._elapsed
        np.divide(self._impulse, elapsed, out=self._mean)
        self._impulse.fill(0.0)
        self._elapsed = 0.0
        return elapsed, self._mean
