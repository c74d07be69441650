"""The clock of the control cycle: steady, or in lockstep the stamp of the last state."""

from __future__ import annotations

import time

from sensor_msgs.msg import JointState

from robodyn_ros.nodes.conversions import seconds


class CycleClock:
    """
    Time for all that the torque depends on.

    In lockstep a simulation waits for the answer to each state. Time is then what the states say,
    however long the answer takes, and the torque a function of the states alone.

    Parameters
    ----------
    lockstep : bool
        Whether states tell the time.

    Attributes
    ----------
    lockstep : bool
    stamp : Time or None
        In lockstep, of the last state; None before.

    """

    def __init__(self, lockstep: bool):
        self.lockstep = lockstep
        self.stamp = None
        self._answered: tuple[int, int] | None = None

    def now(self, message: JointState | None = None) -> float:
        """Return the time in s; in lockstep that of the message, if there is one."""
        if not self.lockstep:
            return time.monotonic()
        if message is not None:
            self.stamp = message.header.stamp
        return 0.0 if self.stamp is None else seconds(self.stamp)

    def answer(self) -> None:
        """Take note that the last state was answered."""
        if self.stamp is not None:
            self._answered = (self.stamp.sec, self.stamp.nanosec)

    def was_answered(self) -> bool:
        """Return whether the last state repeats one that was answered."""
        return (self.lockstep and self.stamp is not None
                and self._answered == (self.stamp.sec, self.stamp.nanosec))
