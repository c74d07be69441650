"""The sign of life of a controller, for its guard."""

from __future__ import annotations

import math
import time

from rclpy.node import Node, PublisherEventCallbacks
from rclpy.publisher import Publisher
from std_msgs.msg import Header

from robodyn_ros.control.permission import SPACING
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.safety import Phase


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
        self._stamp, self._sent = 0, -math.inf
        self._phase: Phase | None = None
        self._heard = False

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    @property
    def publisher(self) -> Publisher:
        """Return the publisher; for a loop that sends in place of this."""
        return self._publisher

    @property
    def heard(self) -> bool:
        """Whether somebody listens."""
        return self._heard

    def look(self) -> None:
        """Find out whether somebody listens; to be called now and then."""
        self._heard = self._publisher.get_subscription_count() > 0

    def next_stamp(self) -> int:
        """Return a time in ns, later than all before and not later than all to come."""
        self._stamp = max(self._stamp + 1, time.time_ns())
        return self._stamp

    def go_on(self, stamp: int) -> None:
        """Go on from the stamp of a loop that has sent in place of this."""
        self._stamp, self._phase = max(stamp, self._stamp), None

    def send(self, stamp: int, phase: Phase) -> None:
        """Publish, if the last one is not quite fresh or said something else."""
        now = time.monotonic()  # the clock of the stamps may be set back
        if self._heard and (phase is not self._phase or now - self._sent >= SPACING):
            self._sent, self._phase = now, phase
            set_stamp(self._message.stamp, stamp)
            self._message.frame_id = phase.value
            self._publisher.publish(self._message)
