"""Joint states of the controller: received, assembled, and judged for their age; its clocks."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import ArrayLike
from rclpy.clock import Clock
from rclpy.subscription import Subscription

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateLayout, JointStateSample
from robodyn_ros.nodes.conversions import in_seconds, JointStateAssembler
from robodyn_ros.nodes.polling import Heard, PolledSubscription
from robodyn_ros.safety.acceptance import Age

_HEARD = 0.5    # s after the first message for which others are waited for
FOREIGN = ('messages of another publisher, which was not there at activation, are not used: '
           'deactivate and activate the controller to use them')


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


class StateInput:
    """
    Receives joint states and passes complete ones to the controller, which judges them.

    Parameters
    ----------
    subscription : PolledSubscription
        Subscription of joint states; its messages are samples.
    decoder : JointStateDecoder
        Decoder of the subscription.
    controller : ArmController
        Controller of the arm.
    clock : ControllerClock
        Cycle time.
    scale : array_like
        Effort of messages by torque, one for all or per joint.

    Attributes
    ----------
    q, qd, effort : (nv,) array
        Last state that was used.
    topic : str
        Full name of the topic.
    usable : bool
        Whether the sample of the last `wait` completes a state.

    """

    def __init__(self, subscription: PolledSubscription, decoder: JointStateDecoder,
                 controller: ArmController, clock: ControllerClock, scale: ArrayLike = 1.0):
        self.topic, self._decoder = subscription.topic, decoder
        self._subscription, self._clock, self._controller = subscription, clock, controller
        self._states, state = controller.status.states, controller.host.state
        self.q, self.qd, self.effort = self._states.q, self._states.qd, self._states.effort
        self._assembler = JointStateAssembler(controller.model.joint_names, state.q, state.qd,
                                              state.effort, controller.status.needs_velocity,
                                              scale)
        self.usable = False
        self._heard = Heard()  # with the joints of the last message
        self._first = math.inf  # time of the first message

    @property
    def subscription(self) -> Subscription:
        """Return the subscription, for the native loop."""
        return self._subscription.subscription

    @property
    def layouts(self) -> list[JointStateLayout]:
        """Return the layouts of the messages received so far."""
        return self._decoder.layouts

    def inspect(self, data: bytes) -> tuple[JointStateLayout, str]:
        """
        Return the layout of a message that is not used, and what it lacks.

        Raises ArgumentError if it cannot be read, or must not be.
        """
        self._assembler.read(self._decoder.decode(data))
        if self._assembler.reordered:
            raise ArgumentError(self._assembler.problem)
        return self._decoder.layout(data), self._assembler.problem

    def destroy(self) -> None:
        """Close the topic."""
        self._subscription.destroy()

    def bind(self) -> None:
        """Use the messages of the present publishers alone, in their order, until `release`."""
        self._subscription.bound = frozenset(self._heard.recent(time.monotonic()))
        self._assembler.keep_order(True)

    def release(self) -> None:
        """Use messages of all publishers again, in any order."""
        self._assembler.keep_order(False)
        self._subscription.forget()

    @property
    def bound(self) -> frozenset[bytes]:
        """Return the publishers whose messages are used; empty: all."""
        return self._subscription.bound

    @property
    def foreign(self) -> bytes:
        """Return the publisher of the last message that was dropped; empty: there was none."""
        return self._subscription.foreign

    @property
    def appeared(self) -> float:
        """Return when that publisher was first heard, in s of the steady clock."""
        return self._subscription.appeared

    def drop(self, source: bytes) -> None:
        """Note that the native loop has dropped a message of a publisher."""
        self._subscription.drop(source)

    def heard(self, publishers: int) -> bool:
        """Whether so many publishers have been heard, or have had the time to be."""
        now = time.monotonic()
        return len(self._heard.recent(now)) >= publishers or now - self._first > _HEARD

    def shared_joint(self) -> tuple[str, list[bytes]]:
        """Return a joint that several publishers report, and these; '' if there is none."""
        sources = self._heard.recent(time.monotonic())
        for name in self._controller.model.joint_names:
            several = [source for source, names in sources.items() if name in names]
            if len(several) > 1:
                return name, several
        return '', []

    def _read(self, sample: JointStateSample) -> bool:
        now = time.monotonic()
        self._first = min(self._first, now)
        self._heard.add(self._subscription.source, now, sample.name)
        return self._assembler.read(sample)

    def wait(self, timeout: float) -> JointStateSample | None:
        """
        Return the newest sample, or None after `timeout` seconds.

        Of several that wait, it is the last one that completes a state; in lockstep every state
        is answered.
        """
        newest = self._subscription.wait(timeout)
        self.usable = newest is not None and self._read(newest)
        for sample in () if self._clock.lockstep else self._subscription.waiting():
            if self._read(sample):
                newest, self.usable = sample, True
        return newest

    def receive(self, sample: JointStateSample, now: float, permitted: bool, due: bool = False
                ) -> np.ndarray | None:
        """Process the sample of `wait`, arrived `now`; return the torque to send, if any."""
        if not self.usable:
            return self.elapse(now, permitted, due)
        stamp = in_seconds(sample.stamp)
        return self._controller.receive(
            now, stamp, stamp if self._clock.simulated else time.time(), permitted)

    def elapse(self, now: float, permitted: bool, due: bool = False) -> np.ndarray | None:
        """Return the torque that is due without a state, if any."""
        return self._controller.cycle.wait(now, permitted, due, self._unreadable)

    @property
    def complete(self) -> bool:
        """Whether a state was used so far."""
        return bool(self._states.complete)

    @property
    def refused(self) -> int:
        """Return the number of messages that could not be used."""
        return (self._assembler.refused + self._subscription.refused
                + int(self._states.refused))

    @property
    def problem(self) -> str:
        """Reason why the last message was not used, or what the state still lacks."""
        return self._unreadable or self._controller.status.state_problem

    @property
    def _unreadable(self) -> str:
        return self._subscription.problem or self._assembler.problem or (
            FOREIGN if self.foreign else '')

    def verdict(self, now: float | None = None) -> Age:
        """Return how stale the state is at a cycle time, by default at the present one."""
        self._controller.host.refresh()  # what Python has read of a native loop may be old
        now = self._clock.now() if now is None else now
        age = now - min(float(self._states.measured), now)
        fresh = age < self._controller.settings.stale.hold
        return Age(fresh, age, '' if fresh else self._controller.status.silence(age))
