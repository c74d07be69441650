"""The state of the arm as it comes in: what it is, and whether it can still be relied on."""

from __future__ import annotations

import time

import numpy as np
from rclpy.subscription import Subscription

from robodyn_ros.control import ArmController
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateLayout, JointStateSample
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.conversions import in_seconds, JointStateAssembler
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety import Freshness, freshness, StaleVerdict


class StateInput:
    """
    Takes joint states from the wire; the controller judges them.

    Parameters
    ----------
    subscription : PolledSubscription
        Of joint states; its messages are samples.
    decoder : JointStateDecoder
        Makes samples of them.
    controller : ArmController
        Gets the complete states.
    clock : ControllerClock
        Of the cycle.

    Attributes
    ----------
    q, qd, effort : (nv,) array
        The last state that was used.
    topic : str
        Where states come from.

    """

    def __init__(self, subscription: PolledSubscription, decoder: JointStateDecoder,
                 controller: ArmController, clock: ControllerClock):
        self.topic, self._decoder = subscription.topic, decoder
        self._subscription, self._clock, self._controller = subscription, clock, controller
        self._seen, state = controller.states, controller.host.state
        self.q, self.qd, self.effort = self._seen.q, self._seen.qd, self._seen.effort
        self._assembler = JointStateAssembler(controller.model.joint_names, state.q, state.qd,
                                              state.effort, controller.needs_velocity)

    @property
    def subscription(self) -> Subscription:
        """Return the subscription; for a loop that takes its messages in place of this."""
        return self._subscription.subscription

    @property
    def layouts(self) -> list[JointStateLayout]:
        """Return the layouts of the messages that came."""
        return self._decoder.layouts

    def inspect(self, data: bytes) -> tuple[JointStateLayout, str]:
        """
        Return the layout of a message that is not used, and what it lacks.

        Raises ArgumentError if it cannot be read.
        """
        self._assembler.read(self._decoder.decode(data))
        return self._decoder.layout(data), self._assembler.problem

    def destroy(self) -> None:
        """Close the topic."""
        self._subscription.destroy()

    def wait(self, patience: float) -> JointStateSample | None:
        """Return the next sample, or None after `patience` seconds."""
        return self._subscription.wait(patience)

    def receive(self, sample: JointStateSample, now: float, permitted: bool, due: bool = False
                ) -> np.ndarray | None:
        """Take a sample that came `now`; return the torque that it asks for, or that is due."""
        if not self._assembler.read(sample):
            return self.elapse(now, permitted, due)
        stamp = in_seconds(sample.stamp)
        return self._controller.receive(
            now, stamp, stamp if self._clock.simulated else time.time(), permitted)

    def elapse(self, now: float, permitted: bool, due: bool = False) -> np.ndarray | None:
        """Return the torque that is due although no state has come, if any."""
        return self._controller.wait(now, permitted, due, self._unreadable)

    @property
    def complete(self) -> bool:
        """Whether there has been a state that was used."""
        return bool(self._seen.complete)

    @property
    def refused(self) -> int:
        """Return how many messages could not be used."""
        return (self._assembler.refused + self._subscription.refused
                + int(self._seen.refused))

    @property
    def problem(self) -> str:
        """Why the last message was not used, or what the state still lacks."""
        return self._unreadable or self._controller.state_problem

    @property
    def _unreadable(self) -> str:
        return self._subscription.problem or self._assembler.problem

    def verdict(self, now: float | None = None) -> StaleVerdict:
        """Return how stale the state is, at a time of the cycle."""
        settings = self._controller.settings.stale
        now = self._clock.now() if now is None else now
        age = now - min(float(self._seen.measured), now)
        level = freshness(age, settings.hold, settings.stop)
        fresh = level is Freshness.FRESH
        return StaleVerdict(level, age, '' if fresh else self._controller.silence(age))
