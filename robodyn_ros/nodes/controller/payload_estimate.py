"""Publisher of the payload estimate of the adaptive mode."""

from __future__ import annotations

from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.load_messages import payload_message


class PayloadEstimate:
    """
    Publishes `~/payload_estimate` while it has subscribers.

    The estimate is the whole payload of the link, known and learned: published on `~/payload` it
    becomes the known payload, and nothing else changes.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller with the estimate.

    """

    def __init__(self, node: Node, controller: ArmController):
        self._node, self._controller = node, controller
        self._publisher = node.create_publisher(InertiaStamped, '~/payload_estimate',
                                                qos.reliable())

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    def publish(self) -> None:
        """Publish the estimate; to be called periodically."""
        if self._publisher.get_subscription_count():
            message = payload_message(self._controller.adaptation.payload)
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._publisher.publish(message)
