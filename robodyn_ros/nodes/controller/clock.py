"""The times of the controller: of its cycle, of its law, and of stamps."""

from __future__ import annotations

import time

import numpy as np
from rclpy.clock import Clock

from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.nodes.conversions import in_seconds


class ControllerClock:
    """
    The clock of the cycle, and how the other times follow from it.

    It is steady. In lockstep a simulation waits for the answer to each state: time is then what
    the states say, however long the answer takes, and the torque a function of the states alone.

    Silence is judged by the time of the cycle, `now`. The law counts in `moment`s: those in which
    states were measured, so that a state that comes late is compared with the reference of its
    own time. With simulated time they are the stamps, so that motions are as fast there as they
    were asked to be; otherwise the local clock, less the lateness of the last state.

    Parameters
    ----------
    ros : Clock
        Of the node; simulated if the node uses simulated time.
    offset : () array
        Time of the cycle less that of the law, of the last state that was used.
    lockstep : bool
        Whether states tell the time.
    simulated : bool
        Whether stamps are those of a simulation, with or without lockstep.

    Attributes
    ----------
    lockstep, simulated : bool
    stamp : int or None
        In lockstep, of the last state, in ns; None before.

    """

    def __init__(self, ros: Clock, offset: np.ndarray, lockstep: bool, simulated: bool):
        self.lockstep = lockstep
        self.stamp: int | None = None
        self._answered: int | None = None
        self.simulated = lockstep or simulated
        self._ros, self._offset = ros, offset

    def now(self, sample: JointStateSample | None = None) -> float:
        """Return the time in s; in lockstep that of the sample, if there is one."""
        if not self.lockstep:
            return time.monotonic()
        if sample is not None:
            self.stamp = sample.stamp
        return 0.0 if self.stamp is None else in_seconds(self.stamp)

    def answer(self) -> None:
        """Take note that the last state was answered."""
        self._answered = self.stamp

    def was_answered(self) -> bool:
        """Return whether the last state repeats one that was answered."""
        return self.lockstep and self.stamp is not None and self._answered == self.stamp

    def moment(self, now: float | None = None) -> float:
        """Return the time of the law at a time of the cycle, by default at this one."""
        return (self.now() if now is None else now) - float(self._offset)

    def latency(self, measured: float, wall: float) -> float:
        """Return the time from a stamp, 0 if there was none, to one of the wall clock, in s."""
        # the clock of a simulation stands while it waits
        return wall - measured if measured and not self.simulated else 0.0

    def wall(self) -> float:
        """Return the time of stamps."""
        if self.lockstep:
            return self.now()
        return 1e-9 * self._ros.now().nanoseconds if self.simulated else time.time()

    def ros_stamp(self) -> int:
        """Return the stamp of what answers no state, in ns."""
        return self._ros.now().nanoseconds
