"""
Subscriptions that are asked instead of calling back.

For a loop with deadlines of its own, and for waiting inside a callback: an executor takes about
a hundred times as long to deliver a message as it takes to look for one, and cannot be spun from
inside itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from robodyn_ros.exceptions import ArgumentError

WaitSet = rclpy_implementation.WaitSet


class PolledGroup(CallbackGroup):
    """Callback group of what no executor may wait for or call."""

    def can_execute(self, entity) -> bool:
        """Refuse."""
        return False

    def beginning_execution(self, entity) -> bool:
        """Refuse."""
        return False

    def ending_execution(self, entity) -> None:
        """Nothing ever began."""


class PolledSubscription:
    """
    A subscription whose messages are taken when it suits the reader.

    Parameters
    ----------
    node : Node
        Owns the subscription.
    message : type
        Message type.
    topic : str
        Topic name, relative to the node.
    qos : QoSProfile
        Its depth is how many messages can wait to be taken.
    decode : callable, optional
        Reads serialized messages (bytes), in a tenth of the time that a message object takes;
        raises ArgumentError for what it cannot read, which is dropped.

    Attributes
    ----------
    topic : str
        Full name.
    refused : int
        Messages dropped.
    problem : str
        Reason why the last message was dropped; empty if it was not.

    """

    def __init__(self, node: Node, message: type, topic: str, qos: QoSProfile,
                 decode: Callable[[bytes], Any] | None = None):
        self._node, self._decode = node, decode
        self._subscription = node.create_subscription(
            message, topic, _never, qos, callback_group=PolledGroup())
        self._handle = self._subscription.handle
        self._wait_set = WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
        self._type, self._depth = message, qos.depth
        self.topic: str = self._subscription.topic_name
        self.refused, self.problem = 0, ''

    @property
    def subscription(self) -> Subscription:
        """Return the subscription, for who takes its messages in place of this."""
        return self._subscription

    def take(self) -> Any | None:
        """Return the oldest message that waits, or None at once."""
        taken = self._handle.take_message(self._type, self._decode is not None)
        if taken is None or self._decode is None:
            return None if taken is None else taken[0]
        try:
            sample, self.problem = self._decode(taken[0]), ''
        except ArgumentError as error:
            self.refused += 1
            self.problem = str(error)
            return None
        return sample

    def waiting(self) -> Iterator[Any]:
        """
        Yield the messages that wait, oldest first, at most as many as the queue holds.

        So the work of one look is bounded, however fast messages come.
        """
        for _ in range(self._depth):
            message = self.take()
            if message is None:
                return
            yield message

    def wait(self, timeout: float) -> Any | None:
        """
        Return the oldest message as soon as there is one, or None after `timeout` seconds.

        A wait set of one subscription, as in `rclpy.wait_for_message`: it wakes in a fraction of
        the time that an executor takes, which waits for all of a node's timers and services.
        """
        with self._handle:
            self._wait_set.clear_entities()
            self._wait_set.add_subscription(self._handle)
            self._wait_set.wait(max(int(1e9 * timeout), 0))
        return self.take()

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


def _never(_message) -> None:
    raise AssertionError('an executor delivered to a polled subscription')
