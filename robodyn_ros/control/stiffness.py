"""Stiffness that changes while the arm is held, and pays for the energy that this takes."""

from __future__ import annotations

import numpy as np


class VaryingStiffness:
    """
    Goes over to another stiffness, as far as there is energy for it.

    A spring that is made stiffer while it is deflected gains `1/2 dK e^2`. That is taken from a
    tank, into which goes what dampers dissipate and softer springs release; where it is empty,
    the stiffness waits. So stiffness, however it is changed, never feeds more than the first
    content of the tank into arm and environment (Ferraguti, Secchi, Fantuzzi 2013).

    Parameters
    ----------
    stiffness : (n,)
        To begin with.
    tank : float
        What the tank holds, in J; it begins full.

    Attributes
    ----------
    value : (n,) array
        The stiffness that counts.
    energy : float
        Content of the tank in J.

    """

    def __init__(self, stiffness: np.ndarray, tank: float):
        self.value = np.array(stiffness, dtype=float)
        self._capacity = self.energy = tank
        self._target = self.value.copy()
        self._rate = np.zeros_like(self.value)
        self._settled = True

    def change(self, stiffness: np.ndarray, duration: float) -> None:
        """Go over to another stiffness in `duration` seconds, or longer."""
        self._target[:] = stiffness
        self._rate[:] = np.abs(self._target - self.value) / max(duration, 1e-9)
        self._settled = False

    def jump(self) -> None:
        """Take the stiffness that is wanted; for an arm that is not held by it."""
        self.value[:] = self._target
        self._settled = True

    def refill(self) -> None:
        """Begin with a full tank."""
        self.energy = self._capacity

    def advance(self, dt: float, error: np.ndarray, dissipated: float) -> None:
        """
        Go on by a cycle.

        Parameters
        ----------
        dt : float
            Seconds.
        error : (n,)
            Deflection of the springs.
        dissipated : float
            Power of the dampers, in W.

        """
        self.energy = min(self.energy + max(dissipated, 0.0) * dt, self._capacity)
        if self._settled:
            return
        step = np.clip(self._target - self.value, -self._rate * dt, self._rate * dt)
        cost = 0.5 * step * error * error
        paid = cost[cost > 0.0].sum()
        released = -cost[cost < 0.0].sum()
        budget = self.energy + released
        if paid > budget:
            step[step > 0.0] *= budget / paid
            paid = budget
        self.energy = min(budget - paid, self._capacity)
        self.value += step
        # rounding must not keep it on the way
        if np.allclose(self.value, self._target, rtol=1e-12, atol=0.0):
            self.jump()
