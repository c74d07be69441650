"""Lockstep: one answer in, one state out, and nothing happens in between."""

from __future__ import annotations

from collections.abc import Callable
import time

from sensor_msgs.msg import JointState

from robodyn_ros.nodes.polling import PolledSubscription

_PART = 100    # steps at a time that nobody needs to answer
_REPEAT = 0.1  # s after which a state that nobody answers is published again


class Lockstep:
    """
    Lets time go on by one published state for each command that answers the last one.

    Parameters
    ----------
    answers : PolledSubscription
        Of named efforts with the stamp of the state that they answer.
    take : callable
        Takes a command.
    advance : callable
        Makes one step; returns whether a state was published.
    repeat : callable
        Publishes the last state again.

    Attributes
    ----------
    waiting : bool
        Whether a state is out that wants an answer.
    answered : float
        When the last answer came; steady clock.
    unmatched : int
        Commands that answer another state: one that was published twice, mostly.

    """

    def __init__(self, answers: PolledSubscription, take: Callable[[JointState], None],
                 advance: Callable[[], bool], repeat: Callable[[], None]):
        self._answers, self._take = answers, take
        self._advance, self._repeat = advance, repeat
        self.answered, self._repeated = time.monotonic(), 0.0
        self.unmatched = 0
        self.waiting = True

    def exchange(self, stamp: int, patience: float) -> bool:
        """
        Wait for the answer to a state, and advance to the next one that is published.

        If that takes many steps, this makes some of them; the next call goes on.

        Parameters
        ----------
        stamp : int
            Of the state (ns).
        patience : float
            How long to wait (s).

        Returns
        -------
        bool
            Whether time went on.

        """
        if self.waiting and not self._receive(stamp, patience):
            return False
        # where a fault or a lost measurement leaves the controller without a state to answer,
        # time goes on without it; in parts, because others want their turn
        self.waiting = any(self._advance() for _ in range(_PART))
        return True

    def _receive(self, stamp: int, patience: float) -> bool:
        message = self._answers.wait(patience)
        if message is None:
            self.repeat()
            return False
        if 10**9 * message.header.stamp.sec + message.header.stamp.nanosec != stamp:
            self.unmatched += 1
            return False
        # one that is refused is an answer as well: the torque before it stays
        self._take(message)
        self.answered = time.monotonic()
        return True

    def repeat(self) -> None:
        """Publish the state again, now and then, for a controller that has not seen it."""
        now = time.monotonic()
        if self.waiting and now - max(self.answered, self._repeated) >= _REPEAT:
            self._repeated = now
            self._repeat()
