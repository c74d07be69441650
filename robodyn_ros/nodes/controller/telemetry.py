"""What the controller tells about its torque; published only while somebody listens."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node, PublisherEventCallbacks
from sensor_msgs.msg import JointState

from robodyn_ros.control import ArmController, Term
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateWriter
from robodyn_ros.nodes.controller.tool_telemetry import ToolTelemetry
from robodyn_ros.nodes.conversions import set_stamp

_DEPTH = 1000  # a recorder may look a few times a second


class Telemetry:
    """
    Publishers of the reference, the terms of the torque, and what acts from outside.

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
        Of named efforts.

    """

    def __init__(self, node: Node, joint_names, joint_commands: bool):
        def publisher(kind, topic, depth=1):
            # without events: an executor would wait for each of them, every time
            return node.create_publisher(kind, topic, qos.reliable(depth), event_callbacks=(
                PublisherEventCallbacks(use_default_callbacks=False)))

        self._node, self._tool = node, ToolTelemetry(node)
        self._reference = publisher(JointState, '~/reference', _DEPTH)
        self._terms = [publisher(JointState, f'~/torque_terms/{term.name.lower()}', _DEPTH)
                       for term in Term]
        self._external = publisher(JointState, '~/external_torque', _DEPTH)
        self._wrench = publisher(WrenchStamped, '~/estimated_wrench', _DEPTH)
        self._told = (self._reference, *self._terms, self._external, self._wrench)
        self.commands = publisher(JointState, 'joint_commands') if joint_commands else None
        self._writer = JointStateWriter(joint_names)
        self._efforts = JointStateWriter(joint_names, only='effort')
        self._listened: list = []

    @property
    def listened(self) -> bool:
        """Whether somebody listens to what is published of each cycle."""
        return bool(self._listened) or self._tool.listened

    def destroy(self) -> None:
        """Close the topics."""
        self._tool.destroy()
        for publisher in (*self._told, self.commands):
            if publisher is not None:
                self._node.destroy_publisher(publisher)

    def look(self) -> None:
        """Find out who listens; to be called now and then."""
        self._tool.look()
        self._listened = [publisher for publisher in self._told
                          if publisher.get_subscription_count()]

    def command(self, stamp: int, controller: ArmController, torque) -> None:
        """Publish named efforts; for drivers that take their commands in this form."""
        self.commands.publish(self._filled(stamp, controller.reference, torque))

    def publish(self, stamp: int, controller: ArmController, torque) -> None:
        """
        Publish one cycle.

        Parameters
        ----------
        stamp : int
            Of the state that was answered, in ns, so that recordings line up.
        controller : ArmController
            Its reference, terms and observation.
        torque : (nv,)
            What was sent.

        """
        self._tool.publish(stamp, controller)
        for publisher in self._listened:
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
