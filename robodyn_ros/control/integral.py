"""The integral of the error, which does not wind up where the motors have no more to give."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.gains import Gains


class Integral:
    """
    Integrates the error of each joint into an acceleration.

    What the limits take from the torque is fed back through the inertia of the arm:

        i' = Ki e + M^-1 (sent - wanted) / Tt,    Tt = sqrt(Kd / Ki),

    so that the integral runs to where the limit is just met, and leaves it at once when the error
    turns (back-calculation; Astrom and Hagglund, PID Controllers, 3.5, with Tt = sqrt(Ti Td)).

    Parameters
    ----------
    nv : int
        Number of joints.

    Attributes
    ----------
    value : (nv,) array
        The acceleration, in rad/s^2 or m/s^2.

    """

    def __init__(self, nv: int):
        self.value = np.zeros(nv)

    def reset(self) -> None:
        """Forget the past."""
        self.value.fill(0.0)

    def keep(self, ki: np.ndarray) -> None:
        """Set the integral of joints without `ki`, (nv,), to zero; that of others stays."""
        self.value[ki == 0.0] = 0.0

    def advance(self, dt: float, error: np.ndarray, cut: np.ndarray, gains: Gains) -> None:
        """
        Go on by a cycle.

        Parameters
        ----------
        dt : float
            Seconds.
        error : (nv,)
            Reference minus position.
        cut : (nv,)
            The acceleration that the torque lacks: M^-1 (sent - wanted).
        gains : Gains
            Joints without `ki` integrate nothing, and keep nothing.

        """
        used = gains.ki > 0.0
        self.value[~used] = 0.0
        # 1 / Tt, at most once per cycle
        rate = np.minimum(np.sqrt(gains.ki / np.maximum(gains.kd, 1e-12)), 1.0 / max(dt, 1e-9))
        self.value += dt * (gains.ki * error + rate * cut) * used
