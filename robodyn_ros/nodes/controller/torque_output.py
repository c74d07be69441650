"""Publishers of the torques of the controller."""

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
from robodyn_ros.nodes.sending import send

_ACKNOWLEDGE = 0.2   # s to wait for the acknowledgement of the last torque


class TorqueOutput:
    """
    Publishes torques and telemetry.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    writer : EffortWriter
        Serializer of torques, in the order of the command.
    topic : str
        Topic of the torques.
    named : bool
        Whether named efforts are published as well.
    clock : ControllerClock
        Clock of the cycle.
    elsewhere : bool
        Whether torques do not leave by this topic: only telemetry is published.

    Attributes
    ----------
    topic : str
        Full name of the topic.
    publishes : bool
        Whether torques leave by it; not in lockstep.
    telemetry : Telemetry
        Topics of the telemetry.

    Raises
    ------
    ParameterError
        `topic` is not a valid topic name.

    """

    def __init__(self, node: Node, controller: ArmController, writer: EffortWriter, topic: str,
                 named: bool, clock: ControllerClock, elsewhere: bool = False):
        self._node, self._controller = node, controller
        self._writer, self._clock = writer, clock
        self.publishes = not (elsewhere or clock.lockstep)  # an array has no stamp of the state
        self._publisher = _publisher(node, topic)
        self.topic: str = self._publisher.topic_name
        self.telemetry = Telemetry(node, controller, named)

    @property
    def publisher(self) -> Publisher:
        """Return the publisher, for the native loop."""
        return self._publisher

    @property
    def subscribers(self) -> int:
        """Return the number of subscribers of the torques."""
        return self._publisher.get_subscription_count()

    @property
    def message(self) -> bytes:
        """Return a serialized message of zero torques, which are its last numbers."""
        return self._writer.write(np.zeros(self._controller.model.nv))

    @property
    def order(self) -> np.ndarray:
        """Return the model index of the joint of each of these numbers."""
        return self._writer.order

    def destroy(self) -> None:
        """Close the topics."""
        self.telemetry.destroy()
        self._node.destroy_publisher(self._publisher)

    def send(self, torque: np.ndarray, stamp: int) -> None:
        """Publish a torque and its telemetry; `stamp` is that of the answered state, in ns."""
        self.command(torque, stamp)
        self.telemetry.publish(stamp, torque)

    def command(self, torque: np.ndarray, stamp: int | None = None) -> None:
        """Publish a torque alone; `stamp` is that of the answered state in ns, if any."""
        if self.publishes:
            send(self._publisher, self._writer.write(torque))
        if self.telemetry.commands:
            self.telemetry.command(self._clock.ros_stamp() if stamp is None else stamp, torque)

    def wait_until_acknowledged(self) -> None:
        """Wait until the subscribers have acknowledged the last torque, for a limited time."""
        self._publisher.wait_for_all_acked(Duration(seconds=_ACKNOWLEDGE))


def _publisher(node: Node, topic: str) -> Publisher:
    try:
        return node.create_publisher(Float64MultiArray, topic, qos.reliable())
    except InvalidTopicNameException as error:
        reason = str(error).splitlines()[0].rstrip(':')
        raise ParameterError(f'effort_command_topic is {topic!r}: {reason}',
                             value=topic) from error
