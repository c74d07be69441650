"""Telemetry of the controller: reference, torque terms, estimates of external forces."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node, PublisherEventCallbacks
from sensor_msgs.msg import JointState

from robodyn_ros.control import ArmController, Term
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateWriter
from robodyn_ros.nodes.controller.tool_telemetry import ToolTelemetry
from robodyn_ros.nodes.conversions import set_stamp

_DEPTH = 1000  # a recorder may poll only a few times a second


class Telemetry:
    """
    Publishers of reference, torque terms and external forces, active while subscribed to.

    Parameters
    ----------
    node : Node
        The controller node.
    joint_names : sequence of str
        The model's joints.
    joint_commands : bool
        Whether named efforts are published as well.

    Attributes
    ----------
    commands : Publisher or None
        Publisher of named efforts.

    """

    def __init__(self, node: Node, joint_names, joint_commands: bool):
        def publisher(kind, topic, depth=1):
            # without event callbacks, which would slow down every wait of the executor
            return node.create_publisher(kind, topic, qos.reliable(depth), event_callbacks=(
                PublisherEventCallbacks(use_default_callbacks=False)))

        self._node, self._tool = node, ToolTelemetry(node)
        self._reference = publisher(JointState, '~/reference', _DEPTH)
        self._terms = [publisher(JointState, f'~/torque_terms/{term.name.lower()}', _DEPTH)
                       for term in Term]
        self._external = publisher(JointState, '~/external_torque', _DEPTH)
        self._wrench = publisher(WrenchStamped, '~/estimated_wrench', _DEPTH)
        self._publishers = (self._reference, *self._terms, self._external, self._wrench)
        self.commands = publisher(JointState, 'joint_commands') if joint_commands else None
        self._writer = JointStateWriter(joint_names)
        self._efforts = JointStateWriter(joint_names, only='effort')
        self._subscribed: list = []

    @property
    def has_subscribers(self) -> bool:
        """Whether a topic published every cycle has subscribers."""
        return bool(self._subscribed) or self._tool.has_subscribers

    def destroy(self) -> None:
        """Close the topics."""
        self._tool.destroy()
        for publisher in (*self._publishers, self.commands):
            if publisher is not None:
                self._node.destroy_publisher(publisher)

    def update_subscribers(self) -> None:
        """Check which topics have subscribers; to be called periodically."""
        self._tool.update_subscribers()
        self._subscribed = [publisher for publisher in self._publishers
                            if publisher.get_subscription_count()]

    def command(self, stamp: int, controller: ArmController, torque) -> None:
        """Publish named efforts; for drivers that take their commands in this form."""
        if self.commands is not None:
            self.commands.publish(self._filled(stamp, controller.reference, torque))

    def publish(self, stamp: int, controller: ArmController, torque) -> None:
        """
        Publish one cycle.

        Parameters
        ----------
        stamp : int
            Stamp of the answered state, in ns, which aligns recordings.
        controller : ArmController
            Controller with reference, terms and observation.
        torque : (nv,)
            Torque that was sent, in N m or N.

        """
        self._tool.publish(stamp, controller)
        for publisher in self._subscribed:
            if publisher is self._reference:
                publisher.publish(self._filled(stamp, controller.reference, torque))
            elif publisher is self._wrench:
                publisher.publish(_wrench_message(stamp, controller))
            else:
                self._efforts.effort[:] = self._effort(publisher, controller)
                publisher.publish(self._efforts.write(stamp))

    def _effort(self, publisher, controller: ArmController):
        if publisher is self._external:
            return controller.observation.torque
        return controller.terms[self._terms.index(publisher)]

    def _filled(self, stamp: int, reference, torque) -> bytes:
        writer = self._writer
        writer.position[:], writer.velocity[:] = reference.q, reference.qd
        writer.effort[:] = torque
        return writer.write(stamp)


def _wrench_message(stamp: int, controller: ArmController) -> WrenchStamped:
    """Return the estimated wrench, in the axes of the base."""
    message = WrenchStamped()
    set_stamp(message.header.stamp, stamp)
    message.header.frame_id = controller.model.base_link
    numbers = controller.observation.wrench().tolist()
    for vector, values in ((message.wrench.force, numbers[:3]),
                           (message.wrench.torque, numbers[3:])):
        vector.x, vector.y, vector.z = values
    return message
