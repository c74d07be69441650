"""Heartbeat of a controller, for its guard."""

from __future__ import annotations

import time

from rclpy.node import Node, PublisherEventCallbacks
from rclpy.publisher import Publisher
from std_msgs.msg import Header

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.nodes.sending import send
from robodyn_ros.safety import Phase


class Heartbeat:
    """
    Publishes `~/heartbeat` while it has subscribers.

    Parameters
    ----------
    node : Node
        The controller node.

    """

    def __init__(self, node: Node):
        self._node = node
        # without event callbacks, which would slow down every wait of the executor
        self._publisher = node.create_publisher(Header, '~/heartbeat', qos.reliable(),
                                                event_callbacks=PublisherEventCallbacks(
                                                    use_default_callbacks=False))
        self._message = Header()
        self._stamp, self._subscribed = 0, False

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    @property
    def publisher(self) -> Publisher:
        """Return the publisher, for the native loop."""
        return self._publisher

    @property
    def subscribed(self) -> bool:
        """Whether the topic has subscribers."""
        return self._subscribed

    def update_subscribers(self) -> None:
        """Check for subscribers; to be called periodically."""
        self._subscribed = self._publisher.get_subscription_count() > 0

    def next_stamp(self) -> int:
        """Return the wall clock in ns, made strictly increasing."""
        self._stamp = max(self._stamp + 1, time.time_ns())
        return self._stamp

    def resume_after(self, stamp: int) -> None:
        """Continue after the last stamp of the native loop, in ns."""
        self._stamp = max(stamp, self._stamp)

    def send(self, stamp: int, phase: Phase) -> None:
        """Publish a heartbeat, if the topic has subscribers."""
        if self._subscribed:
            set_stamp(self._message.stamp, stamp)
            self._message.frame_id = phase.value
            send(self._publisher, self._message)
