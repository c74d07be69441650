"""Torques of the controller, and telemetry, which is published while it has subscribers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from geometry_msgs.msg import InertiaStamped, PoseStamped, WrenchStamped
import numpy as np
from rclpy.duration import Duration
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState

from robodyn_ros.control import ArmController, Mode, Term
from robodyn_ros.control.laws.task_space import quaternion
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateWriter
from robodyn_ros.nodes.command_writer import CommandWriter
from robodyn_ros.nodes.controller.state_input import ControllerClock
from robodyn_ros.nodes.conversions import payload_message, set_stamp
from robodyn_ros.nodes.publishers import quiet_publisher, send

_ACKNOWLEDGE = 0.2   # s to wait for the acknowledgement of the last torque
_DEPTH = 1000  # of topics for a recorder, which may poll only a few times a second


class TorqueOutput:
    """
    Publishes torques and telemetry.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    writer : CommandWriter
        Writer of the commands.
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
    writer : CommandWriter
        Writer of the commands.
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

    def __init__(self, node: Node, controller: ArmController, writer: CommandWriter, topic: str,
                 named: bool, clock: ControllerClock, elsewhere: bool = False):
        self._node, self._controller = node, controller
        self.writer, self._clock = writer, clock
        writer.follow(controller.host.bound.memory)
        self.publishes = not (elsewhere or clock.lockstep)  # an array has no stamp of the state
        self._publisher = _publisher(node, writer.message.type, topic)
        self.topic: str = self._publisher.topic_name
        self.telemetry = Telemetry(node, controller, named, clock.lockstep)

    @property
    def publisher(self) -> Publisher:
        """Return the publisher, for the native loop."""
        return self._publisher

    @property
    def subscribers(self) -> int:
        """Return the number of subscribers of the torques."""
        return self._publisher.get_subscription_count()

    def destroy(self) -> None:
        """Close the topics."""
        self.telemetry.destroy()
        self._node.destroy_publisher(self._publisher)

    def send(self, torque: np.ndarray, stamp: int) -> None:
        """Publish a torque and its telemetry; `stamp` is that of the answered state, in ns."""
        self.command(torque, stamp)
        self.telemetry.publish(stamp, torque)

    def command(self, torque: np.ndarray, stamp: int | None = None, held: bool = False) -> None:
        """
        Publish a torque alone.

        Parameters
        ----------
        torque : (nv,) array
            Torque, in N m or N.
        stamp : int, optional
            Stamp of the answered state in ns, if there is one.
        held : bool
            Whether gains of the drives hold the arm where it is, after a last torque.

        """
        if self.publishes:
            writer = self.writer
            now = self._clock.ros_stamp() if writer.message.stamp else 0
            send(self._publisher, writer.write(torque, now, held))
        if self.telemetry.commands:
            self.telemetry.command(self._clock.ros_stamp() if stamp is None else stamp, torque)

    def wait_until_acknowledged(self) -> None:
        """Wait until the subscribers have acknowledged the last torque, for a limited time."""
        self._publisher.wait_for_all_acked(Duration(seconds=_ACKNOWLEDGE))


def _publisher(node: Node, kind: type, topic: str) -> Publisher:
    try:
        return node.create_publisher(kind, topic, qos.reliable())
    except InvalidTopicNameException as error:
        reason = str(error).splitlines()[0].rstrip(':')
        raise ParameterError(f'effort_command_topic is {topic!r}: {reason}',
                             value=topic) from error


class _Topic(NamedTuple):
    """Topic: name, type, depth of the queue, and function of (stamp, torque) to a message."""

    name: str
    kind: type
    depth: int
    message: Callable[[int, np.ndarray], Any]


class Telemetry:
    """
    Publishers of reference, path time, torque terms, external forces, poses and payload estimate.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    joint_commands : bool
        Whether named efforts are published as well.
    lockstep : bool
        Whether time waits for them, but for no recorder.

    Attributes
    ----------
    commands : Publisher or None
        Publisher of named efforts.

    """

    def __init__(self, node: Node, controller: ArmController, joint_commands: bool,
                 lockstep: bool = False):
        self._node, self._controller = node, controller
        self._state = JointStateWriter(controller.model.joint_names)
        self._effort = JointStateWriter(controller.model.joint_names, only='effort')
        self._path = JointStateWriter(('path',))
        self._every_cycle, self._periodic = self._open(self._cycle_topics()), self._open((
            _Topic('~/payload_estimate', InertiaStamped, 1, self._payload),))
        self._subscribed: list[tuple[Publisher, _Topic]] = []
        self.commands = (quiet_publisher(node, JointState, 'joint_commands',
                                         _DEPTH if lockstep else 1) if joint_commands else None)

    def _cycle_topics(self) -> tuple[_Topic, ...]:
        controller = self._controller
        return (
            _Topic('~/reference', JointState, _DEPTH, self._reference),
            _Topic('~/path_time', JointState, _DEPTH, self._path_time),
            *(_Topic(f'~/torque_terms/{term.name.lower()}', JointState, _DEPTH, self._term(term))
              for term in Term),
            _Topic('~/external_torque', JointState, _DEPTH,
                   lambda stamp, _: self._efforts(stamp, controller.observation.torque)),
            _Topic('~/estimated_wrench', WrenchStamped, 1, self._wrench),
            _Topic('~/tool_pose', PoseStamped, 10, lambda stamp, _: pose_message(
                stamp, controller.model.base_link, controller.tool_poses()[0])),
            _Topic('~/tool_pose_reference', PoseStamped, 10, lambda stamp, _: pose_message(
                stamp, controller.model.base_link, controller.tool_poses()[1])))

    def _open(self, topics: Iterable[_Topic]) -> list[tuple[Publisher, _Topic]]:
        return [(quiet_publisher(self._node, topic.kind, topic.name, topic.depth), topic)
                for topic in topics]

    @property
    def has_subscribers(self) -> bool:
        """Whether a topic published every cycle has subscribers."""
        return bool(self._subscribed)

    def destroy(self) -> None:
        """Close the topics."""
        for publisher, _ in (*self._every_cycle, *self._periodic, (self.commands, None)):
            if publisher is not None:
                self._node.destroy_publisher(publisher)

    def update(self) -> None:
        """Check for subscribers, publish the slow topics; to be called periodically."""
        self._subscribed = _with_subscribers(self._every_cycle)
        for publisher, topic in _with_subscribers(self._periodic):
            send(publisher, topic.message(self._node.get_clock().now().nanoseconds,
                                          self._controller.status.sent))

    def command(self, stamp: int, torque: np.ndarray) -> None:
        """Publish named efforts; for drivers that take their commands in this form."""
        if self.commands is not None:
            send(self.commands, self._reference(stamp, torque))

    def publish(self, stamp: int, torque: np.ndarray) -> None:
        """
        Publish one cycle.

        Parameters
        ----------
        stamp : int
            Stamp of the answered state, in ns, which aligns recordings.
        torque : (nv,) array
            Torque that was sent, in N m or N.

        """
        for publisher, topic in self._subscribed:
            send(publisher, topic.message(stamp, torque))

    def _reference(self, stamp: int, torque: np.ndarray) -> bytes:
        writer, reference = self._state, self._controller.reference
        writer.position[:], writer.velocity[:] = reference.q, reference.qd
        writer.effort[:] = torque
        return writer.write(stamp)

    def _path_time(self, stamp: int, _torque: np.ndarray) -> bytes:
        """Return time along the trajectory, its rate and the number of the trajectory."""
        writer, motion = self._path, self._controller.host.memory.motion
        writer.position[:], writer.effort[:] = motion.path.elapsed, motion.path.number
        writer.velocity[:] = motion.time.rate if self._controller.mode is Mode.TRACK else 0.0
        return writer.write(stamp)

    def _term(self, term: Term) -> Callable[[int, np.ndarray], bytes]:
        return lambda stamp, _: self._efforts(stamp, self._controller.terms[term])

    def _efforts(self, stamp: int, effort: np.ndarray) -> bytes:
        self._effort.effort[:] = effort
        return self._effort.write(stamp)

    def _wrench(self, stamp: int, _torque: np.ndarray) -> WrenchStamped:
        """Return the estimated wrench, in the axes of the base."""
        message = WrenchStamped()
        set_stamp(message.header.stamp, stamp)
        message.header.frame_id = self._controller.model.base_link
        force, torque = message.wrench.force, message.wrench.torque
        (force.x, force.y, force.z,
         torque.x, torque.y, torque.z) = self._controller.observation.wrench().tolist()
        return message

    def _payload(self, stamp: int, _torque: np.ndarray) -> InertiaStamped:
        """
        Return the payload of the link, known and learned.

        Published on `~/payload` it becomes the known payload, and nothing else changes.
        """
        message = payload_message(self._controller.adaptation.payload)
        set_stamp(message.header.stamp, stamp)
        return message


def _with_subscribers(topics: list[tuple[Publisher, _Topic]]) -> list[tuple[Publisher, _Topic]]:
    return [each for each in topics if each[0].get_subscription_count()]


def pose_message(stamp: int, frame: str, pose: np.ndarray) -> PoseStamped:
    """Return a pose, (4, 4), as a message."""
    message = PoseStamped()
    set_stamp(message.header.stamp, stamp)
    message.header.frame_id = frame
    place, turn = message.pose.position, message.pose.orientation
    place.x, place.y, place.z = pose[:3, 3].tolist()
    turn.w, (turn.x, turn.y, turn.z) = quaternion(pose[:3, :3].tolist())
    return message
