"""The sign of life of a controller, for its guard."""

from __future__ import annotations

import time

from rclpy.node import Node, PublisherEventCallbacks
from std_msgs.msg import Header

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.safety import Phase

_SPACING = 4_000_000  # ns between two heartbeats that say the same


class Heartbeat:
    """
    Publishes `~/heartbeat` while somebody listens.

    Parameters
    ----------
    node : Node
        The controller node.

    """

    def __init__(self, node: Node):
        self._node = node
        # without events: an executor would wait for each of them, every time
        self._publisher = node.create_publisher(Header, '~/heartbeat', qos.reliable(),
                                                event_callbacks=PublisherEventCallbacks(
                                                    use_default_callbacks=False))
        self._message = Header()
        self._stamp = self._sent = 0
        self._phase: Phase | None = None
        self._heard = False

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    def look(self) -> None:
        """Find out whether somebody listens; to be called now and then."""
        self._heard = self._publisher.get_subscription_count() > 0

    def beat(self, phase: Phase) -> int:
        """
        Publish, if the last one is not quite fresh or said something else.

        Returns
        -------
        stamp : int
            A time in ns, later than that of all before and not later than that of all to come.

        """
        self._stamp = max(self._stamp + 1, time.time_ns())
        if self._heard and (phase is not self._phase or self._stamp - self._sent >= _SPACING):
            self._sent, self._phase = self._stamp, phase
            set_stamp(self._message.stamp, self._stamp)
            self._message.frame_id = phase.value
            self._publisher.publish(self._message)
        return self._stamp
