"""Tells what the arm is taken to carry on the link whose payload is learned."""

from __future__ import annotations

from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.load_messages import payload_message


class PayloadEstimate:
    """
    Publishes `~/payload_estimate` while somebody listens.

    What it says is all that the link carries, known or learned: sent back to `~/payload` it
    makes the estimate a known payload, and changes nothing else.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Who estimates.

    """

    def __init__(self, node: Node, controller: ArmController):
        self._node, self._controller = node, controller
        self._publisher = node.create_publisher(InertiaStamped, '~/payload_estimate',
                                                qos.reliable())

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    def publish(self) -> None:
        """Publish what is carried; to be called now and then."""
        if self._publisher.get_subscription_count():
            message = payload_message(self._controller.adaptation.payload)
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._publisher.publish(message)
