"""
Subscriptions that are polled instead of served by callbacks.

For loops with deadlines, and for waiting inside a callback: the delivery of a message by an
executor takes about a hundred times as long as a poll, and an executor cannot be spun from inside
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import math
import time
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from robodyn_ros.exceptions import ArgumentError

WaitSet = rclpy_implementation.WaitSet
_FOREIGN = 64  # publishers that are remembered
_RECENT = 1.0  # s for which a publisher that was heard counts
PARTICIPANT = 12  # first bytes of it, equal for all publishers of a participant of DDS


class PolledGroup(CallbackGroup):
    """Callback group that excludes entities from executors."""

    def can_execute(self, entity) -> bool:
        """Return False."""
        return False

    def beginning_execution(self, entity) -> bool:
        """Return False."""
        return False

    def ending_execution(self, entity) -> None:
        """Do nothing."""


class PolledSubscription:
    """
    Subscription whose messages are taken by polling.

    Parameters
    ----------
    node : Node
        Owner of the subscription.
    message : type
        Message type.
    topic : str
        Topic name, relative to the node.
    qos : QoSProfile
        Quality of service; its depth is the number of messages that can wait.
    decode : callable, optional
        Decoder of serialized messages (bytes), ten times faster than a message object; raises
        ArgumentError for a message that cannot be read, which is dropped.

    Attributes
    ----------
    topic : str
        Full name of the topic.
    refused : int
        Number of dropped messages.
    problem : str
        Reason why the last message was dropped; empty if it was not.
    source : bytes
        Publisher of the last message, its GID.
    bound : frozenset of bytes
        Publishers whose messages are taken; empty: all.
    foreign : bytes
        Publisher of the last message of another one, which was dropped; empty: none was.
    appeared : float
        Time of the steady clock of the first message of `foreign`, in s.

    """

    def __init__(self, node: Node, message: type, topic: str, qos: QoSProfile,
                 decode: Callable[[bytes], Any] | None = None):
        self._node, self._decode = node, decode
        self._subscription = node.create_subscription(
            message, topic, _never, qos, callback_group=PolledGroup())
        self._handle = self._subscription.handle
        context: Any = node.context.handle  # None only before rclpy.init
        self._wait_set = WaitSet(1, 0, 0, 0, 0, 0, context)
        self._type, self._depth = message, qos.depth
        self.topic: str = self._subscription.topic_name
        self.refused, self.problem = 0, ''
        self.source = self.foreign = b''
        self.bound: frozenset[bytes] = frozenset()
        self._first: dict[bytes, float] = {}

    @property
    def subscription(self) -> Subscription:
        """Return the subscription, for a native loop."""
        return self._subscription

    def take(self) -> Any | None:
        """Return the oldest waiting message, or None, at once."""
        taken = self._take()
        if taken is None or self._decode is None:
            return taken
        try:
            sample, self.problem = self._decode(taken), ''
        except ArgumentError as error:
            self.refused += 1
            self.problem = str(error)
            return None
        return sample

    def _take(self) -> Any | None:
        """Return the oldest waiting message of a publisher that is bound, or None."""
        for _ in range(self._depth):
            taken = self._handle.take_message(self._type, self._decode is not None)
            if taken is None:
                return None
            self.source = publisher_of(taken[1])
            if not self.bound or self.source in self.bound:
                return taken[0]
            self.drop(self.source)
        return None

    def drop(self, source: bytes) -> None:
        """Note a message of a publisher that is not bound."""
        self.foreign = source
        if source not in self._first:
            if len(self._first) >= _FOREIGN:  # it is never older than it was
                self._first.clear()
            self._first[source] = time.monotonic()

    @property
    def appeared(self) -> float:
        return self._first.get(self.foreign, -math.inf)

    def forget(self) -> None:
        """Take the messages of all publishers again, as if none had been dropped."""
        self.bound, self.foreign = frozenset(), b''
        self._first.clear()

    def waiting(self) -> Iterator[Any]:
        """
        Yield the waiting messages, oldest first, at most as many as the queue holds.

        Thus the work of one poll is bounded at any rate of messages.
        """
        for _ in range(self._depth):
            message = self.take()
            if message is None:
                return
            yield message

    def wait(self, timeout: float) -> Any | None:
        """
        Return the oldest message as soon as there is one, or None after `timeout` seconds.

        A wait set of one subscription, as in `rclpy.wait_for_message`, returns much faster than
        an executor, which waits for all timers and services of a node.
        """
        with self._handle:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._handle)
            self._wait_set.wait(max(int(1e9 * timeout), 0))
        return self.take()

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


class Heard:
    """Publishers that were heard within the last second, with what they said last."""

    def __init__(self) -> None:
        self._last: dict[bytes, tuple[float, Any]] = {}  # the newest one last

    def add(self, source: bytes, now: float, said: Any = None) -> None:
        """Note a message of a publisher, at a time in s; only the newest publishers are kept."""
        self._last.pop(source, None)
        self._last[source] = now, said
        if len(self._last) > _FOREIGN:
            del self._last[next(iter(self._last))]

    def recent(self, now: float) -> dict[bytes, Any]:
        """Return what was said last, by publisher."""
        return {source: said for source, (heard, said) in self._last.items()
                if now - heard < _RECENT}


def publisher_of(info: Any) -> bytes:
    """Return the GID of the publisher of a message that was taken; empty if it is not known."""
    return bytes((info.get('publisher_gid') or {}).get('data') or b'')


def _never(_message) -> None:
    raise AssertionError('an executor delivered to a polled subscription')
