"""Publishers beside a loop, which goes on where a message is not sent."""

from __future__ import annotations

from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node, PublisherEventCallbacks
from rclpy.publisher import Publisher

from robodyn_ros.nodes import qos

_REPEAT = 5.0  # s between two lines of the log


def quiet_publisher(node: Node, kind: type, topic: str, depth: int = 1) -> Publisher:
    """Return a publisher without event callbacks, which slow down every wait of the executor."""
    return node.create_publisher(kind, topic, qos.reliable(depth), event_callbacks=(
        PublisherEventCallbacks(use_default_callbacks=False)))


def send(publisher: Publisher, message: Any) -> bool:
    """
    Publish a message; return whether the middleware took it.

    It refuses messages while it shuts down and while its queues are full on a busy computer.
    The next message of a loop replaces this one, an end of the process would leave the arm alone.
    """
    try:
        publisher.publish(message)
    except rclpy_implementation.RCLError as error:
        get_logger('robodyn_ros').warning(
            f'a message on {publisher.topic_name} is lost, the next one replaces it: '
            f'{str(error).splitlines()[0]}', throttle_duration_sec=_REPEAT)
        return False
    return True
