"""Lockstep: the simulation steps only after a command that answers the last state."""

from __future__ import annotations

from collections.abc import Callable
import time

from sensor_msgs.msg import JointState

from robodyn_ros.nodes.polling import PolledSubscription

_STEPS = 100   # most steps in one call without a published state
_REPEAT = 0.1  # s after which a state without an answer is published again


class Lockstep:
    """
    Steps the simulation to the next published state for each command that answers the last one.

    Parameters
    ----------
    answers : PolledSubscription
        Subscription of named efforts with the stamp of the state that they answer.
    take : callable
        Takes a command.
    step : callable
        Makes one step; returns whether a state was published.
    repeat : callable
        Publishes the last state again.

    Attributes
    ----------
    waiting : bool
        Whether a published state has no answer yet.
    answered : float
        Time of the last answer, steady clock, in s.
    unmatched : int
        Commands that answer another state, mostly one that was published twice.

    """

    def __init__(self, answers: PolledSubscription, take: Callable[[JointState], None],
                 step: Callable[[], bool], repeat: Callable[[], None]):
        self._answers, self._take = answers, take
        self._step, self._repeat = step, repeat
        self.answered, self._repeated = time.monotonic(), 0.0
        self.unmatched = 0
        self.waiting = True

    def exchange(self, stamp: int, timeout: float) -> bool:
        """
        Wait for the answer to a state, then step to the next published state.

        One call makes at most a hundred steps; the next one continues.

        Parameters
        ----------
        stamp : int
            Stamp of the state, in ns.
        timeout : float
            Longest wait, in s.

        Returns
        -------
        bool
            Whether steps were made.

        """
        if self.waiting and not self._receive(stamp, timeout):
            return False
        # where a fault or a lost measurement suppresses a state, the simulation continues without
        # an answer; the number of steps is bounded for the other tasks of the node
        self.waiting = any(self._step() for _ in range(_STEPS))
        return True

    def _receive(self, stamp: int, timeout: float) -> bool:
        message = self._answers.wait(timeout)
        if message is None:
            self.repeat()
            return False
        if 10**9 * message.header.stamp.sec + message.header.stamp.nanosec != stamp:
            self.unmatched += 1
            return False
        self._take(message)  # a refused command is an answer as well: the last torque stays
        self.answered = time.monotonic()
        return True

    def repeat(self) -> None:
        """Publish the state again from time to time, for a controller that started later."""
        now = time.monotonic()
        if self.waiting and now - max(self.answered, self._repeated) >= _REPEAT:
            self._repeated = now
            self._repeat()
