"""Pose of the link of the Cartesian laws, and its reference."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.control.laws.pose_error import quaternion
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import set_stamp


class ToolTelemetry:
    """
    Publishers of the pose of the link and of its reference, active while subscribed to.

    Parameters
    ----------
    node : Node
        The controller node.

    """

    def __init__(self, node: Node):
        self._node = node
        self._publishers = [node.create_publisher(PoseStamped, topic, qos.reliable(10))
                            for topic in ('~/tool_pose', '~/tool_pose_reference')]
        self._subscribed = [False, False]

    def destroy(self) -> None:
        """Close the topics."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)

    def update_subscribers(self) -> None:
        """Check which topics have subscribers; to be called periodically."""
        self._subscribed = [publisher.get_subscription_count() > 0
                            for publisher in self._publishers]

    @property
    def has_subscribers(self) -> bool:
        """Whether one of the topics has subscribers."""
        return any(self._subscribed)

    def publish(self, stamp: int, controller: ArmController) -> None:
        """Publish one cycle; arguments as for `Telemetry.publish`."""
        if not self.has_subscribers:
            return
        for publisher, subscribed, pose in zip(self._publishers, self._subscribed,
                                               controller.tool_poses()):
            if subscribed:
                publisher.publish(pose_message(stamp, controller.model.base_link, pose))


def pose_message(stamp: int, frame: str, pose: np.ndarray) -> PoseStamped:
    """Return a pose, (4, 4), as a message."""
    message = PoseStamped()
    set_stamp(message.header.stamp, stamp)
    message.header.frame_id = frame
    place, turn = message.pose.position, message.pose.orientation
    place.x, place.y, place.z = pose[:3, 3].tolist()
    turn.w, (turn.x, turn.y, turn.z) = quaternion(pose[:3, :3].tolist())
    return message
