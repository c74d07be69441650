"""Steps at their time: absolute deadlines on the steady clock."""

from __future__ import annotations

import time

from robodyn_ros.nodes.statistics import Window

# seconds that a step may be late before time is given up instead of being caught up
_MOST_BEHIND = 0.05
# Seconds before a deadline at which sleeping ends; what is left is less than the kernel's error.
_EARLY = 20e-6


class Pacer:
    """
    Says when the next step is due, and keeps account of how well that is met.

    Deadlines follow each other by one period from the start, so errors do not add up. Late steps
    are made up for at once, one after the other; beyond 50 ms the clock of the simulation is let
    fall behind instead, and the steps that fall away are counted.

    Parameters
    ----------
    period : float
        Seconds between steps; 0: always due.

    Attributes
    ----------
    late : int
        Steps that began more than one period (at least 1 ms) after their deadline.
    half_late : int
        Steps that began more than half a period after their deadline.
    lost : int
        Periods given up.
    delay : Window
        How late the last steps began (s).
    period, tolerance, deadline : int
        Between steps; beyond which they are late; of the next one, on the steady clock (ns).

    """

    def __init__(self, period: float):
        self.late = self.half_late = self.lost = 0
        self.delay = Window()
        self.change(period)

    def change(self, period: float) -> None:
        """Go on with another period (s), from now."""
        self.period = round(1e9 * period)
        self.tolerance = max(self.period, 1_000_000)
        self.restart()

    def restart(self) -> None:
        """Let the next step be due now."""
        self.deadline = time.monotonic_ns()

    def remaining(self) -> float:
        """Return seconds until the next step is due; not positive when it is."""
        return 1e-9 * (self.deadline - time.monotonic_ns())

    def wait(self) -> bool:
        """Sleep until the next step is due, or for 50 ms; return whether it is due."""
        left = self.remaining()
        if left > _EARLY:
            time.sleep(min(left, 0.05))
        return left <= 0.05

    def begin(self) -> None:
        """Take note that a step begins now, and set the next deadline."""
        if not self.period:
            return
        behind = time.monotonic_ns() - self.deadline
        self.delay.add(1e-9 * max(behind, 0))
        self.late += behind > self.tolerance
        self.half_late += 2 * behind > self.period
        if behind > 1e9 * _MOST_BEHIND:
            given_up = behind // self.period
            self.lost += given_up
            self.deadline += given_up * self.period
        self.deadline += self.period
