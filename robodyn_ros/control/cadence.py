"""
How much feedback the cadence of the torques allows.

A torque acts until the next one comes. With torques that are T apart, the error of a joint with
e'' = -c (kd e' + kp e) between them dies out if and only if

    c kd T < 2    and    kp T < 2 kd

(the criterion of Jury, for a double integrator behind a zero-order hold). So gains that are calm
at 1 kHz throw an arm about as soon as its computer is too busy to answer in time. After torques
that were far apart feedback is therefore weaker for a moment, down to none: what is known of the
arm and its motion goes on.
"""

from __future__ import annotations

import numpy as np

_DAMPED = 0.8    # of kd T, below which an error dies out without swinging
_MEMORY = 0.1    # s in which a gap is forgotten
_USUAL = 2.0     # s in which it counts as usual how far torques are apart
_IRREGULAR = 3   # times the usual: gains are made for less than that,
_LATE = 0.02     # s, and for no more than this


class Cadence:
    """How far the torques were apart of late."""

    def __init__(self):
        self._gap = self._usual = 0.0

    def reset(self) -> None:
        """Forget the past of an arm that was not under control."""
        self._gap = self._usual = 0.0

    def note(self, dt: float) -> None:
        """Take note of a torque, `dt` seconds after the one before."""
        self._usual += (dt - self._usual) * min(dt / _USUAL, 1.0) if self._usual else dt
        self._gap = max(dt, self._gap * max(1.0 - dt / _MEMORY, 0.0))

    def part(self, damping: float, stiffness: float) -> float:
        """
        Return the part of the feedback that may be used, in [0, 1].

        Parameters
        ----------
        damping, stiffness : float
            The largest kd, and kp / kd, of the law (1/s), see `swiftness`.

        """
        gap = self._gap
        if gap <= min(_IRREGULAR * self._usual, _LATE):
            return 1.0
        return (min(_DAMPED / max(gap * damping, _DAMPED), 1.0)
                * min(max(2.0 - gap * stiffness, 0.0), 1.0))


def swiftness(kp: np.ndarray, kd: np.ndarray) -> tuple[float, float]:
    """Return the largest kd and kp / kd (1/s); joints without damping have no say."""
    damped = kd > 0.0
    ratio = np.divide(kp, kd, out=np.zeros_like(kd), where=damped)
    return float(kd.max()), float(ratio.max())
