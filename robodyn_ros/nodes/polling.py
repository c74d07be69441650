"""
Subscriptions that are asked instead of calling back.

For a loop with deadlines of its own, and for waiting inside a callback: an executor takes about
a hundred times as long to deliver a message as it takes to look for one, and cannot be spun from
inside itself.
"""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile


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

    """

    def __init__(self, node: Node, message: type, topic: str, qos: QoSProfile):
        self._node = node
        self._subscription = node.create_subscription(
            message, topic, _never, qos, callback_group=PolledGroup())
        self._handle = self._subscription.handle
        self._type = message
        self.topic: str = self._subscription.topic_name

    def take(self) -> Any | None:
        """Return the oldest message that waits, or None at once."""
        taken = self._handle.take_message(self._type, False)
        return None if taken is None else taken[0]

    def destroy(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)


def _never(_message) -> None:
    raise AssertionError('an executor delivered to a polled subscription')
