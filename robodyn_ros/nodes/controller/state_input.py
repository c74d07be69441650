"""The state of the arm as it comes in: what it is, and whether it can still be relied on."""

from __future__ import annotations

import time

import numpy as np

from robodyn_ros.control import ArmController
from robodyn_ros.nodes.cdr import JointStateSample
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.conversions import in_seconds, JointStateAssembler
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety import Freshness, StaleVerdict


class StateInput:
    """
    Takes joint states from the wire; the controller judges them.

    Parameters
    ----------
    subscription : PolledSubscription
        Of joint states; its messages are samples.
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

    def __init__(self, subscription: PolledSubscription, controller: ArmController,
                 clock: ControllerClock):
        self.topic = subscription.topic
        self._subscription, self._clock, self._controller = subscription, clock, controller
        self._seen, state = controller.states, controller.host.state
        self.q, self.qd, self.effort = self._seen.q, self._seen.qd, self._seen.effort
        self._assembler = JointStateAssembler(controller.model.joint_names, state.q, state.qd,
                                              state.effort)

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

    def read_waiting(self) -> bool:
        """Take all that waits; return whether that makes a complete, new and fresh state."""
        before = float(self._seen.measured)
        for sample in self._subscription.waiting():
            self.receive(sample, self._clock.now(sample), False)
        return (float(self._seen.measured) != before
                and self.verdict().level is Freshness.FRESH)

    @property
    def complete(self) -> bool:
        """Whether there has been a state that was used."""
        return bool(self._seen.complete)

    @property
    def fastest(self) -> float:
        """Largest speed of a joint."""
        return float(np.abs(self.qd).max())

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
        settings = self._controller.settings.states
        now = self._clock.now() if now is None else now
        age = now - min(float(self._seen.measured), now)
        level = (Freshness.FRESH if age < settings.hold else
                 Freshness.HOLD if age < settings.stop else Freshness.STOP)
        fresh = level is Freshness.FRESH
        return StaleVerdict(level, age, '' if fresh else self._controller.silence(age))
