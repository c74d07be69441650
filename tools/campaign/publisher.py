"""Publishers of faulty messages, and of the load of the arm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
import math
import time

from geometry_msgs.msg import InertiaStamped, Vector3Stamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import payload_message, set_stamp
from robodyn_ros.nodes.trajectories.stream_input import TRAJECTORY

_DURATION = 1.0   # s of a bad trajectory


class FaultPublisher:
    """
    Publishes faulty messages, and the load of the arm.

    Parameters
    ----------
    node : Node
        Node of the publishers.
    controller : str
        Name of the controller node.

    """

    def __init__(self, node: Node, controller: str):
        self._node = node
        self._trajectory = node.create_publisher(
            JointTrajectory, f'{controller}/joint_trajectory', qos.reliable(2))
        self._payload = node.create_publisher(InertiaStamped, f'{controller}/payload',
                                              qos.reliable(10))
        self._gravity = node.create_publisher(Vector3Stamped, f'{controller}/gravity',
                                              qos.reliable(2))

    def send(self, trajectory: JointTrajectory) -> None:
        """Publish a trajectory unchanged."""
        self._trajectory.publish(trajectory)

    def publish_payload(self, payload: Payload) -> None:
        """Report a payload to controller and guard."""
        self._payload.publish(payload_message(payload))

    def publish_gravity(self, gravity: Iterable[float]) -> None:
        """Report gravity to controller and guard, m/s^2 in the frame of the base."""
        message = Vector3Stamped()
        message.vector.x, message.vector.y, message.vector.z = map(float, gravity)
        self._gravity.publish(message)

    @contextmanager
    def forged(self, topic: str, frame: str) -> Iterator[Callable[[], None]]:
        """Yield a function that publishes a heartbeat or state of a node in its place."""
        publisher = self._node.create_publisher(Header, topic, qos.latched())

        def publish() -> None:
            message = Header(frame_id=frame)
            set_stamp(message.stamp, time.time_ns())
            publisher.publish(message)

        try:
            yield publish
        finally:
            self._node.destroy_publisher(publisher)

    @contextmanager
    def second_text(self, topic: str, text: str) -> Iterator[None]:
        """Publish a latched text; the publisher exists in the `with` block."""
        publisher = self._node.create_publisher(String, topic, qos.latched())
        try:
            publisher.publish(String(data=text))
            yield
        finally:
            self._node.destroy_publisher(publisher)

    @contextmanager
    def second_joint_states(self, names: Sequence[str]) -> Iterator[Callable[[np.ndarray], None]]:
        """Yield a function that publishes a joint state at rest, from a second publisher."""
        publisher = self._node.create_publisher(JointState, 'joint_states', qos.reliable(5))

        def publish(position: np.ndarray) -> None:
            message = JointState(name=list(names), position=list(position),
                                 velocity=[0.0] * len(position))
            set_stamp(message.header.stamp, time.time_ns())
            publisher.publish(message)

        try:
            yield publish
        finally:
            self._node.destroy_publisher(publisher)


def bad_trajectories(model: RobotModel, q: np.ndarray, joint: int
                     ) -> Iterator[tuple[str, JointTrajectory]]:
    """
    Yield a trajectory with each defect, and words that its refusal contains.

    Parameters
    ----------
    model : RobotModel
        Model of the arm.
    q : (nv,) array
        A permitted position.
    joint : int
        Index of the joint with the defect.

    """
    names, name = list(model.joint_names), model.joint_names[joint]
    beyond = q.copy()
    beyond[joint] = model.upper[joint] + 0.5
    broken = q.copy()
    broken[joint] = math.nan
    moving = np.zeros(model.nv)
    moving[joint] = 0.1
    good = [(_DURATION, q)]
    yield 'no_such_joint', _trajectory(['no_such_joint', *names[1:]], good)
    yield 'names no joints', _trajectory([], [(_DURATION, [])])
    yield name, _trajectory([each for each in names if each != name],
                            [(_DURATION, np.delete(q, joint))])
    yield 'named twice', _trajectory([names[0], *names[:-1]], good)
    yield 'no points', _trajectory(names, [])
    yield 'point 1', _trajectory(names, [(_DURATION, q), (_DURATION, q)])
    yield 'at time 0', _trajectory(names, [(0.0, q)])
    yield 'ago', _stamped(_trajectory(names, good), time.time_ns() - 3_000_000_000)
    yield name, _trajectory(names, [(_DURATION, broken)])
    yield 'positions', _trajectory(names, [(_DURATION, q[:-1])])
    yield 'last velocity', _trajectory(names, [(_DURATION, q, moving)])
    if math.isfinite(model.upper[joint]):
        yield 'limit', _trajectory(names, [(_DURATION, beyond)])
    far = q + math.copysign(0.1, 0.5 * (model.lower[joint] + model.upper[joint]) - q[joint]) * (
        np.arange(model.nv) == joint)
    yield 'limit', _trajectory(names, [(0.004, far)])
    strong = _trajectory(names, good)
    strong.points[0].effort = [1e6] * model.nv
    yield 'would need', strong


def _trajectory(names: Sequence[str], points) -> JointTrajectory:
    """Return a trajectory of (time, positions[, velocities]) points, not a target of a stream."""
    message = JointTrajectory(joint_names=list(names))
    message.header.frame_id = TRAJECTORY
    for t, positions, *velocities in points:
        point = JointTrajectoryPoint(positions=[float(each) for each in positions])
        for each in velocities:
            point.velocities = each.tolist()
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(1e9 * t), 10**9)
        message.points.append(point)
    return message


def _stamped(message: JointTrajectory, stamp: int) -> JointTrajectory:
    set_stamp(message.header.stamp, stamp)
    return message
