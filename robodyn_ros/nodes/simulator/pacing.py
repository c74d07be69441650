"""Pacing of steps: absolute deadlines on the steady clock."""

from __future__ import annotations

import time

from robodyn_ros.nodes.statistics import Window

_MAX_BEHIND = 0.05  # s, largest delay that is made up for
_EARLY = 20e-6      # s before a deadline at which it counts as reached; below the kernel's error


class Pacer:
    """
    Deadlines of steps, with statistics of the delays.

    Deadlines are a period apart, so errors do not add up. Late steps are made up for at once, one
    after the other; beyond 50 ms the simulation falls behind instead, and lost steps are counted.

    Parameters
    ----------
    period : float
        Time between steps, in s; 0: always due.
    paused : bool
        Whether to begin paused.

    Attributes
    ----------
    paused : bool
        Whether the simulation is paused.
    late : int
        Steps that began more than one period (at least 1 ms) after their deadline.
    half_late : int
        Steps that began more than half a period after their deadline.
    lost : int
        Periods given up.
    delay : Window
        Delays of the last steps, in s.
    period, tolerance, deadline : int
        Time between steps, delay beyond which a step is late, and time of the next step on the
        steady clock, in ns.

    """

    def __init__(self, period: float, paused: bool = False):
        self.paused = paused
        self.late = self.half_late = self.lost = 0
        self.delay = Window()
        self.change(period)

    def change(self, period: float) -> None:
        """Set another period (s), from now on."""
        self.period = round(1e9 * period)
        self.tolerance = max(self.period, 1_000_000)
        self.restart()

    def restart(self) -> None:
        """Set the next deadline to now."""
        self.deadline = time.monotonic_ns()

    def remaining(self) -> float:
        """Return the time until the next step is due, in s; not positive if it is due."""
        return 1e-9 * (self.deadline - time.monotonic_ns())

    @property
    def behind(self) -> int:
        """Return the time since the last step was due, in ns; 0 if steps are always due."""
        return max(time.monotonic_ns() - self.deadline + self.period, 0) if self.period else 0

    def wait(self) -> bool:
        """Sleep until the next step is due, or for 50 ms; return whether it is due."""
        left = self.remaining()
        if left > _EARLY:
            time.sleep(min(left, 0.05))
        return left <= 0.05

    def begin(self) -> None:
        """Record that a step begins now, and set the next deadline."""
        if not self.period:
            return
        behind = time.monotonic_ns() - self.deadline
        self.delay.add(1e-9 * max(behind, 0))
        self.late += behind > self.tolerance
        self.half_late += 2 * behind > self.period
        if behind > 1e9 * _MAX_BEHIND:
            given_up = behind // self.period
            self.lost += given_up
            self.deadline += given_up * self.period
        self.deadline += self.period
