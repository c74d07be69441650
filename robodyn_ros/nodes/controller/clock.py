"""Clocks of the controller: cycle time, law time and stamps."""

from __future__ import annotations

import time

import numpy as np
from rclpy.clock import Clock

from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.nodes.conversions import in_seconds


class ControllerClock:
    """
    The cycle time, and the other times derived from it.

    The cycle time `now` is the steady clock; in lockstep it is the stamp of the states, so that
    the torque is a function of the states alone, however long its computation takes. Silence is
    judged by the cycle time.

    The law time `law_time` is the time at which a state was measured, so that a late state is
    compared with the reference of its own time. With simulated time it is the stamp, so that
    motions have their nominal speed in simulated time; otherwise it is the local clock less the
    lateness of the last state.

    Parameters
    ----------
    ros : Clock
        Clock of the node; simulated if the node uses simulated time.
    offset : () array
        Cycle time less law time of the last state that was used, in s.
    lockstep : bool
        Whether the cycle time is the stamp of the states.
    simulated : bool
        Whether stamps are simulated time, with or without lockstep.

    Attributes
    ----------
    lockstep, simulated : bool
    stamp : int or None
        Stamp of the last state in lockstep, in ns; None before.

    """

    def __init__(self, ros: Clock, offset: np.ndarray, lockstep: bool, simulated: bool):
        self.lockstep = lockstep
        self.stamp: int | None = None
        self._answered: int | None = None
        self.simulated = lockstep or simulated
        self._ros, self._offset = ros, offset

    def now(self, sample: JointStateSample | None = None) -> float:
        """Return the cycle time in s; in lockstep that of the sample, if there is one."""
        if not self.lockstep:
            return time.monotonic()
        if sample is not None:
            self.stamp = sample.stamp
        return 0.0 if self.stamp is None else in_seconds(self.stamp)

    def answer(self) -> None:
        """Mark the last state as answered."""
        self._answered = self.stamp

    def was_answered(self) -> bool:
        """Return whether the last state repeats an answered one."""
        return self.lockstep and self.stamp is not None and self._answered == self.stamp

    def law_time(self, now: float | None = None) -> float:
        """Return the law time at a cycle time, by default at the present one, in s."""
        return (self.now() if now is None else now) - float(self._offset)

    def latency(self, measured: float, wall: float) -> float:
        """Return the time from a stamp (0: none) to a time of the wall clock, in s."""
        # in lockstep the simulated clock stands still meanwhile
        return wall - measured if measured and not self.simulated else 0.0

    def wall(self) -> float:
        """Return the time of the clock of stamps, in s."""
        if self.lockstep:
            return self.now()
        return 1e-9 * self._ros.now().nanoseconds if self.simulated else time.time()

    def ros_stamp(self) -> int:
        """Return the stamp of a torque that answers no state, in ns."""
        return self._ros.now().nanoseconds
