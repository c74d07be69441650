"""Going over from one law to another without a step of torque."""

from __future__ import annotations

import numpy as np

from robodyn_ros.safety import smooth_step

_NOTHING = 0.01  # of the effort limit


class Transition:
    """
    Starts where the torque was, and lets the difference to the new law die out.

    Parameters
    ----------
    effort_limit : (nv,)
        Differences below a hundredth of it are nothing: any torque changes from cycle to cycle,
        and what is kept of that disturbs.
    duration : float
        Seconds; 0 goes over at once.

    """

    def __init__(self, effort_limit: np.ndarray, duration: float):
        nv = effort_limit.size
        self.change(effort_limit, duration)
        self._offset = np.zeros(nv)
        self._part = np.zeros(nv)
        self._elapsed = self._duration = 0.0
        self._begins = self._under_way = False

    def change(self, effort_limit: np.ndarray, duration: float) -> None:
        """Use other numbers from now on."""
        self._least, self._next_duration = _NOTHING * effort_limit, duration

    def begin(self) -> None:
        """Let the next torque be the last one sent, whatever the law says."""
        self._begins = self._next_duration > 0.0

    @property
    def under_way(self) -> bool:
        """Whether the torque is not yet the law's."""
        return self._begins or self._under_way

    def cancel(self) -> None:
        """Take the law's torque from now on."""
        self._begins = self._under_way = False

    def apply(self, torque: np.ndarray, last: np.ndarray, dt: float) -> None:
        """
        Add what is left of the difference.

        Parameters
        ----------
        torque : (nv,)
            What the law says; changed in place.
        last : (nv,)
            What was sent last.
        dt : float
            Seconds since the last call.

        """
        if self._begins:
            self._begins, self._elapsed, self._duration = False, 0.0, self._next_duration
            np.subtract(last, torque, out=self._offset)
            size = np.abs(self._offset)
            self._under_way = bool(np.isfinite(size).all() and (size > self._least).any())
        elif self._under_way:
            self._elapsed += dt
        if not self._under_way:
            return
        left = 1.0 - smooth_step(self._elapsed / self._duration)
        if left == 0.0:
            self._under_way = False
            return
        torque += np.multiply(self._offset, left, out=self._part)
