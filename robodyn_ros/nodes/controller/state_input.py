"""The state of the arm as it comes in: what it is, and whether it can still be relied on."""

from __future__ import annotations

import time

from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.conversions import in_seconds, JointStateReader
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety import Freshness, StaleMonitor, StaleVerdict


class StateInput:
    """
    Takes joint states from the wire.

    Parameters
    ----------
    subscription : PolledSubscription
        Of joint states; its messages are samples.
    reader : JointStateReader
        Assembles the arm's state from them.
    stale : StaleMonitor
        Judges silence.
    clock : ControllerClock
        Learns the time of the stamps from them.

    Attributes
    ----------
    reader : JointStateReader
        Has the last complete state.
    topic : str
        Where states come from.
    longest_silence : float
        Seconds without a good state after which the arm counts as out of control.

    """

    def __init__(self, subscription: PolledSubscription, reader: JointStateReader,
                 stale: StaleMonitor, clock: ControllerClock):
        self.reader, self.topic = reader, subscription.topic
        self.longest_silence = stale.stop_after
        self._subscription, self._stale, self._clock = subscription, stale, clock

    def destroy(self) -> None:
        """Close the topic."""
        self._subscription.destroy()

    def wait(self, patience: float) -> JointStateSample | None:
        """Return the next sample, or None after `patience` seconds."""
        return self._subscription.wait(patience)

    def read(self, sample: JointStateSample, now: float) -> bool:
        """Take a sample; return whether the arm's state is complete, new and fresh now."""
        if not self.reader.read(sample):
            return False
        stamp = in_seconds(sample.stamp)
        if not self._stale.received(now, stamp, stamp if self._clock.simulated else time.time()):
            return False
        self._clock.follow(now, stamp)
        return self.verdict(now).level is Freshness.FRESH

    def read_waiting(self) -> bool:
        """Take all that waits; return whether that makes a complete, new and fresh state."""
        fresh = False
        for sample in self._subscription.waiting():
            fresh |= self.read(sample, self._clock.now(sample))
        return fresh

    @property
    def refused(self) -> int:
        """Return how many messages could not be used."""
        return self.reader.refused + self._subscription.refused

    def verdict(self, now: float | None = None) -> StaleVerdict:
        """Return how stale the state is, at a time of the cycle."""
        return self._stale.check(self._clock.now() if now is None else now)

    def silence(self, verdict: StaleVerdict) -> str:
        """Return why the joint states are stale, with what is wrong with those that come."""
        problem = self._subscription.problem or self.reader.problem
        return f'{verdict.reason} ({problem})' if problem else verdict.reason
