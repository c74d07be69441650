"""Heartbeat of a controller, for its guard."""

from __future__ import annotations

import time

from rclpy.node import Node
from std_msgs.msg import Header

from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.nodes.sending import quiet_publisher, send
from robodyn_ros.safety import Phase


class Heartbeat:
    """
    Publishes `~/heartbeat` while it has subscribers.

    Parameters
    ----------
    node : Node
        The controller node.

    Attributes
    ----------
    publisher : Publisher
        Publisher of the topic.
    subscribed : bool
        Whether the topic has subscribers, by the last `update_subscribers`.

    """

    def __init__(self, node: Node):
        self._node = node
        self.publisher = quiet_publisher(node, Header, '~/heartbeat')
        self._message = Header()
        self._stamp, self.subscribed = 0, False

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self.publisher)

    def update_subscribers(self) -> None:
        """Check for subscribers; to be called periodically."""
        self.subscribed = self.publisher.get_subscription_count() > 0

    def next_stamp(self) -> int:
        """Return the wall clock in ns, made strictly increasing."""
        self._stamp = max(self._stamp + 1, time.time_ns())
        return self._stamp

    def resume_after(self, stamp: int) -> None:
        """Continue after the last stamp of the native loop, in ns."""
        self._stamp = max(stamp, self._stamp)

    def send(self, stamp: int, phase: Phase) -> None:
        """Publish a heartbeat, if the topic has subscribers."""
        if self.subscribed:
            set_stamp(self._message.stamp, stamp)
            self._message.frame_id = phase.value
            send(self.publisher, self._message)
