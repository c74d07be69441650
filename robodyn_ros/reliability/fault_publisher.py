"""Messages that nobody should send to a controller, and those that tell it of a new load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math
import time

from geometry_msgs.msg import InertiaStamped, Vector3Stamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.model import Payload, RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.nodes.load_messages import payload_message

_SLOW = 1.0   # s that a defective trajectory takes


class FaultPublisher:
    """
    Publishes what is wrong.

    Parameters
    ----------
    node : Node
        Of whoever publishes.
    controller : str
        Name of the node that suffers.

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
        """Send a trajectory as it is."""
        self._trajectory.publish(trajectory)

    def publish_payload(self, payload: Payload) -> None:
        """Tell controller and guard what the arm carries."""
        self._payload.publish(payload_message(payload))

    def publish_gravity(self, gravity: Sequence[float]) -> None:
        """Tell controller and guard where down is."""
        message = Vector3Stamped()
        message.vector.x, message.vector.y, message.vector.z = map(float, gravity)
        self._gravity.publish(message)

    def describe(self, urdf: str):
        """Publish another robot_description; return the publisher, to be destroyed."""
        publisher = self._node.create_publisher(String, 'robot_description', qos.latched())
        publisher.publish(String(data=urdf))
        return publisher

    def destroy(self, publisher) -> None:
        """Take a publisher away."""
        self._node.destroy_publisher(publisher)

    def imposter(self):
        """Return a second publisher of joint states."""
        return self._node.create_publisher(JointState, 'joint_states', qos.reliable(5))


def joint_state(names: Sequence[str], position: np.ndarray, velocity: np.ndarray) -> JointState:
    """Return a joint state of now."""
    message = JointState(name=list(names), position=list(position), velocity=list(velocity))
    set_stamp(message.header.stamp, time.time_ns())
    return message


def defective(model: RobotModel, q: np.ndarray, joint: int
              ) -> Iterator[tuple[str, JointTrajectory]]:
    """
    Yield every defect that a trajectory is refused for, with words of the refusal.

    Parameters
    ----------
    model : RobotModel
        Of the arm.
    q : (nv,) array
        A place where it can be.
    joint : int
        Which joint has the defect.

    """
    names, name = list(model.joint_names), model.joint_names[joint]
    beyond = q.copy()
    beyond[joint] = model.upper[joint] + 0.5
    broken = q.copy()
    broken[joint] = math.nan
    moving = np.zeros(model.nv)
    moving[joint] = 0.1
    good = [(_SLOW, q)]
    yield 'stranger', _trajectory(['stranger', *names[1:]], good)
    yield 'names no joints', _trajectory([], [(_SLOW, [])])
    yield name, _trajectory([each for each in names if each != name],
                            [(_SLOW, np.delete(q, joint))])
    yield 'named twice', _trajectory([names[0], *names[:-1]], good)
    yield 'no points', _trajectory(names, [])
    yield 'point 1', _trajectory(names, [(_SLOW, q), (_SLOW, q)])
    yield 'at time 0', _trajectory(names, [(0.0, q)])
    yield 'ago', _dated(_trajectory(names, good), time.time_ns() - 3_000_000_000)
    yield name, _trajectory(names, [(_SLOW, broken)])
    yield 'positions', _trajectory(names, [(_SLOW, q[:-1])])
    yield 'last velocity', _trajectory(names, [(_SLOW, q, moving)])
    if math.isfinite(model.upper[joint]):
        yield 'limit', _trajectory(names, [(_SLOW, beyond)])
    far = q + math.copysign(0.1, 0.5 * (model.lower[joint] + model.upper[joint]) - q[joint]) * (
        np.arange(model.nv) == joint)
    yield 'limit', _trajectory(names, [(0.004, far)])
    strong = _trajectory(names, good)
    strong.points[0].effort = [1e6] * model.nv
    yield 'would need', strong


def _trajectory(names: Sequence[str], points) -> JointTrajectory:
    """Return a message of (time, positions[, velocities]) points."""
    message = JointTrajectory(joint_names=list(names))
    for t, positions, *velocities in points:
        point = JointTrajectoryPoint(positions=[float(each) for each in positions])
        for each in velocities:
            point.velocities = each.tolist()
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(1e9 * t), 10**9)
        message.points.append(point)
    return message


def _dated(message: JointTrajectory, stamp: int) -> JointTrajectory:
    set_stamp(message.header.stamp, stamp)
    return message
