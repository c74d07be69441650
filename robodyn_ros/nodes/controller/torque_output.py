"""The torques that leave the controller, in every form in which they are wanted."""

from __future__ import annotations

import numpy as np
from rclpy.duration import Duration
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Float64MultiArray

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.telemetry import Telemetry
from robodyn_ros.nodes.conversions import EffortWriter

_ARRIVE = 0.2   # s that the last torque may take to arrive


class TorqueOutput:
    """
    Commands torques, and tells of them.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Where the torques come from.
    writer : EffortWriter
        Puts them in the order of the wire.
    topic : str
        Where they are commanded.
    named : bool
        Whether named efforts are commanded as well.
    clock : ControllerClock
        Of the cycle.

    Attributes
    ----------
    topic : str
        Full name.

    Raises
    ------
    ParameterError
        That is no name of a topic.

    """

    def __init__(self, node: Node, controller: ArmController, writer: EffortWriter, topic: str,
                 named: bool, clock: ControllerClock):
        self._node, self._controller = node, controller
        self._writer, self._clock = writer, clock
        self._publisher = _publisher(node, topic)
        self.topic: str = self._publisher.topic_name
        self._telemetry = Telemetry(node, controller.model.joint_names, named)

    @property
    def publisher(self) -> Publisher:
        """Return the publisher; for a loop that sends in place of this."""
        return self._publisher

    @property
    def message(self) -> bytes:
        """Return a serialized message of torques; its last numbers are those."""
        return self._writer.write(np.zeros(self._controller.model.nv))

    @property
    def order(self) -> np.ndarray:
        """Return the joint of the model of each of these numbers."""
        return self._writer.order

    @property
    def listened(self) -> bool:
        """Whether somebody listens to more than the torques."""
        return self._telemetry.listened

    def tell(self, torque: np.ndarray, stamp: int) -> None:
        """Publish all but the torque, which was sent elsewhere."""
        self._telemetry.publish(stamp, self._controller, torque)

    def destroy(self) -> None:
        """Close the topics."""
        self._telemetry.destroy()
        self._node.destroy_publisher(self._publisher)

    def look(self) -> None:
        """Find out who listens; to be called now and then."""
        self._telemetry.look()

    def send(self, torque: np.ndarray, stamp: int) -> None:
        """Command a torque that answers the state with this stamp, in ns, and tell of it."""
        self.command(torque, stamp)
        self._telemetry.publish(stamp, self._controller, torque)

    def command(self, torque: np.ndarray, stamp: int | None = None) -> None:
        """Command a torque without a word; `stamp` is that of the state it answers, if any."""
        if not self._clock.lockstep:  # there they would not say which state they answer
            self._publisher.publish(self._writer.write(torque))
        if self._telemetry.commands:
            self._telemetry.command(self._clock.ros_stamp() if stamp is None else stamp,
                                    self._controller, torque)

    def wait_until_heard(self) -> None:
        """Give the last torque the time to arrive."""
        self._publisher.wait_for_all_acked(Duration(seconds=_ARRIVE))


def _publisher(node: Node, topic: str) -> Publisher:
    try:
        return node.create_publisher(Float64MultiArray, topic, qos.reliable())
    except InvalidTopicNameException as error:
        reason = str(error).splitlines()[0].rstrip(':')
        raise ParameterError(f'effort_command_topic is {topic!r}: {reason}',
                             value=topic) from error
