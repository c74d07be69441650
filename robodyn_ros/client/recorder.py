"""
Recorder of the topics of a controller and its arm.

It takes little processor time beside a 1 kHz loop: messages are taken as raw bytes, in bulk, and
deserialized when they are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.client.connection import Connection
from robodyn_ros.model import Payload
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.conversions import payload_message, point
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import run
from robodyn_ros.nodes.simulator import node as simulator

PATH = ('path',)  # joint of the messages of `record_path_time`
_POLL = 0.03     # s between two polls of the topics
_DEPTH = 4000    # messages that can wait, for several seconds without a processor
_TIMEOUT = 5.0   # s for a service
_DELIVERY = 0.5  # s for the last message of this process
# further topics of a bag: type, topic, and whether it is latched
_OTHERS = ((String, 'robot_description', True),
           (Float64MultiArray, 'effort_controller/commands', False),
           (JointTrajectory, f'{controller.NAME}/joint_trajectory', False),
           (JointState, f'{simulator.NAME}/ground_truth', False),
           (DiagnosticArray, '/diagnostics', False))


class JointLog(NamedTuple):
    """
    JointState messages as arrays in the order of the requested joints.

    Attributes
    ----------
    stamp, sent : (N,) array of int64
        Stamp of the header, and time of publication; ns since the epoch.
    position, velocity, effort : (N, nv) array
        Values; NaN where a message has none.

    """

    stamp: np.ndarray
    sent: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class Stream(PolledSubscription):
    """
    Recorded topic.

    Parameters
    ----------
    node : Node
        Owner of the subscription.
    message : type
        Message type.
    topic : str
    latched : bool
        Whether to receive messages published before as well.

    Attributes
    ----------
    messages : list of (int, bytes)
        Time of publication (ns since the epoch) and serialized message.
    kind : str
        Name of the type, such as sensor_msgs/msg/JointState.
    latched : bool

    """

    def __init__(self, node: Node, message: type, topic: str, latched: bool = False):
        super().__init__(node, message, topic, qos.latched() if latched else qos.reliable(_DEPTH))
        self.kind = f'{message.__module__.partition(".")[0]}/msg/{message.__name__}'
        self.latched = latched
        self.messages: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return len(self.messages)

    def collect(self) -> None:
        """Take all waiting messages."""
        while (taken := self._handle.take_message(self._type, True)) is not None:
            data, info = taken
            self.messages.append((info['source_timestamp'], data))


class JointStream(Stream):
    """Recorded topic of JointState messages."""

    def __init__(self, node: Node, topic: str):
        super().__init__(node, JointState, topic)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the joints of the last collected message; empty if there is none."""
        return tuple(JointStateDecoder().decode(self.messages[-1][1]).name
                     ) if self.messages else ()

    def newest(self, joint_names: Sequence[str], count: int = 1) -> JointLog:
        """Return the last collected messages, `count` or as many as there are."""
        return _decoded(self.messages[-count:], joint_names)

    def log(self, joint_names: Sequence[str], begin: int = 0, end: int | None = None) -> JointLog:
        """
        Return the collected messages.

        Parameters
        ----------
        joint_names : sequence of str
            Order of the columns.
        begin, end : int, optional
            Interval of the time of publication; ns since the epoch.

        """
        return _decoded([(sent, data) for sent, data in self.messages
                         if sent >= begin and (end is None or sent < end)], joint_names)


def _decoded(messages: Sequence[tuple[int, bytes]], joint_names: Sequence[str]) -> JointLog:
    """Return messages as arrays, without those that lack a joint, such as a gripper's."""
    decoder = JointStateDecoder()
    samples = ((sent, decoder.decode(data)) for sent, data in messages)
    found = [(sent, each) for sent, each in samples if set(each.name).issuperset(joint_names)]
    rows = np.full((3, len(found), len(joint_names)), np.nan)
    times = np.zeros((2, len(found)), dtype=np.int64)
    for k, (sent, message) in enumerate(found):
        times[:, k] = message.stamp, sent
        column = {name: i for i, name in enumerate(message.name)}
        order = [column[name] for name in joint_names]
        for row, values in zip(rows, (message.position, message.velocity, message.effort)):
            if len(values):
                row[k] = values[order]
    return JointLog(*times, *rows)


class Recorder(Connection):
    """
    Connection that records one controller and one arm.

    Parameters
    ----------
    on_poll : callable, optional
        Called at every poll of the topics; may raise.
    everything : bool
        Whether to record all topics of a bag.
    enclave : str
        Enclave of SROS 2, see `init_tool`.
    namespace : str
        Namespace of the arm and its controller.

    Attributes
    ----------
    states, references : JointStream
        Joint states of the arm; reference of the controller, with the torque that was sent as
        effort and the stamp of the answered state.
    terms : dict of str to JointStream
        Recorded terms of the torque.
    diagnostics : list of (str, dict)
        Name and values of each received status.

    """

    def __init__(self, on_poll: Callable[[], None] | None = None, everything: bool = False,
                 enclave: str = '', namespace: str = ''):
        super().__init__('robodyn_recorder', namespace, enclave, _TIMEOUT)
        self._on_poll, node = on_poll, self._node
        self.states = JointStream(node, 'joint_states')
        self.references = JointStream(node, f'{controller.NAME}/reference')
        self.terms: dict[str, JointStream] = {}
        self._publishers: dict[str, Any] = {}
        self._others = [Stream(node, *each) for each in _OTHERS] if everything else []
        self._streams = [self.states, self.references, *self._others]
        self.diagnostics: list[tuple[str, dict[str, str]]] = []

    def close(self) -> None:
        """End ROS."""
        self._node.destroy_node()
        self._context.try_shutdown()

    def record_terms(self, names: Iterable[str]) -> None:
        """Record these terms of the torque as well, which takes time of the controller."""
        for name in names:
            self.terms[name] = JointStream(self._node, f'{controller.NAME}/torque_terms/{name}')
        self._streams = [self.states, self.references, *self._others, *self.terms.values()]

    def record_path_time(self) -> JointStream:
        """Record time along the trajectory, its rate, and its number, as those of joint `PATH`."""
        return self.record(f'{controller.NAME}/path_time')

    def record(self, topic: str) -> JointStream:
        """Record another topic of JointState messages."""
        stream = JointStream(self._node, topic)
        self._streams.append(stream)
        return stream

    def publish_joints(self, topic: str, joint_names: Sequence[str], positions) -> None:
        """Publish positions of joints, such as those of a gripper, as a JointState."""
        if topic not in self._publishers:
            self._publishers[topic] = self._node.create_publisher(
                JointState, topic, qos.reliable(2))
        message = JointState(name=list(joint_names), position=[float(q) for q in positions])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publishers[topic].publish(message)

    def end_terms(self) -> None:
        """Stop recording the terms; recorded messages remain."""
        self._streams = [self.states, self.references, *self._others]
        for stream in self.terms.values():
            stream.destroy()

    @property
    def recorded(self) -> list[Stream]:
        """Return all recorded topics."""
        return [self.states, self.references, *self._others, *self.terms.values()]

    def collect(self) -> None:
        """Take all waiting messages."""
        for stream in self._streams:
            stream.collect()
        if self._on_poll is not None:
            self._on_poll()

    def wait(self, until: Callable[[], object] = lambda: False, timeout: float = 1.0) -> bool:
        """Record until a condition holds, at most `timeout` s; return whether it holds."""
        def done() -> bool:
            self.collect()
            return bool(until())

        return run(self._node, done, timeout, _POLL)

    def publishers(self) -> int:
        """Return the number of publishers of joint states."""
        return self._node.count_publishers('joint_states')

    def controllers(self) -> int:
        """Return the number of controllers, active or not."""
        return self._node.count_publishers(self.references.topic)

    def send_motion(self, joint_names: Sequence[str], times, positions, velocities, accelerations
                    ) -> int:
        """Publish a trajectory that starts on arrival; as `send`."""
        return self.send(joint_names, [
            point(q, qd, qdd, time=t)
            for t, q, qd, qdd in zip(times, positions, velocities, accelerations)])

    def publish_payload(self, payload: Payload) -> None:
        """Publish a payload for controller and guard (raises as `send`)."""
        publisher = self._node.create_publisher(
            InertiaStamped, f'{controller.NAME}/payload', qos.reliable(2))
        self.require_subscriber(publisher)
        publisher.publish(payload_message(payload))
        self.wait(timeout=_DELIVERY)

    def _on_status(self, name: str, values: dict[str, str]) -> None:
        self.diagnostics.append((name, values))
