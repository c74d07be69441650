"""The topics of a guard: what it hears of arm and controller, and the torques it sends."""

from __future__ import annotations

import time

from geometry_msgs.msg import InertiaStamped, Vector3Stamped
import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateSample, JointStateWriter
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.conversions import EffortWriter, in_seconds, JointStateReader
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.load_messages import gravity_from, payload_from
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety import (
    Guard, GuardState, JumpDetector, Phase, PlausibleVelocity, StaleMonitor, StaleVerdict)

_PHASES = {phase.value: phase for phase in Phase}
_QUEUE = 4       # states that can wait; of arm and gripper, say
_ARRIVE = 0.2    # s that the last torque may take to arrive
_BELIEVED = 0.3  # s after which states that jumped are believed


class ControllerMonitor:
    """
    What a guard hears of the controller: heartbeat, last torque, payload and gravity.

    Parameters
    ----------
    node : Node
        The guard node.
    model : RobotModel
        Of the arm.
    values : GuardSettings
        The parameters of the guard.

    Attributes
    ----------
    stamp : Time or None
        Of the newest heartbeat.
    torque : (nv,) array or None
        That was commanded last.

    """

    def __init__(self, node: Node, model: RobotModel, values: GuardSettings):
        self._log, self._base, name = node.get_logger(), model.base_link, values.controller
        self._beats = PolledSubscription(node, Header, f'{name}/heartbeat', qos.reliable())
        self._commands = PolledSubscription(
            node, Float64MultiArray, values.command.effort_command_topic, qos.newest())
        self._payload = PolledSubscription(node, InertiaStamped, f'{name}/payload',
                                           qos.reliable(10))
        self._gravity = PolledSubscription(node, Vector3Stamped, f'{name}/gravity',
                                           qos.reliable(2))
        self._reader = CommandReader(model.joint_names, values.command.command_joints)
        self.stamp = None

    @property
    def torque(self) -> np.ndarray | None:
        """Return the last torque that was commanded; None if there was none."""
        return self._reader.torque if self._reader.received else None

    def listen(self, guard: Guard, torque: GuardTorque) -> None:
        """Take what has come; payload and gravity only while no controller can confirm them."""
        beat = self._beats.take()
        if beat is not None and beat.frame_id in _PHASES:
            self.stamp = beat.stamp
            guard.heartbeat_received(_PHASES[beat.frame_id])
        command = None if guard.in_charge else self._commands.take()
        if command is not None:
            self._reader.read_array(command)
        alone = guard.in_charge or not guard.controller_alive
        self._reckon(self._payload, alone,
                     lambda each: torque.set_payload(payload_from(each)))
        self._reckon(self._gravity, alone,
                     lambda each: torque.set_gravity(gravity_from(each, self._base)))

    def _reckon(self, subscription: PolledSubscription, alone: bool, take) -> None:
        message = subscription.take()
        if message is None or not alone:
            return
        try:
            take(message)
            self._log.info(f'taken from {subscription.topic}')
        except RobodynError as error:
            self._log.error(f'refused on {subscription.topic}: {error}')


class StateSubscriber:
    """
    What a guard sees of the arm.

    Parameters
    ----------
    node : Node
        The guard node.
    model : RobotModel
        Of the arm.
    values : GuardSettings
        The parameters of the guard.

    Attributes
    ----------
    reader : JointStateReader
        Has the last complete state.
    qd : (nv,) array
        Its velocity, estimated where positions contradict the reported one.

    """

    def __init__(self, node: Node, model: RobotModel, values: GuardSettings):
        self._states = PolledSubscription(node, JointState, 'joint_states', qos.newest(_QUEUE),
                                          JointStateDecoder().decode)
        self._stale = StaleMonitor(values.stale.hold, np.inf, values.stale.max_skew)
        self._ros = node.get_clock() if node.get_parameter('use_sim_time').value else None
        self.reader = JointStateReader(model.joint_names, model.continuous, JumpDetector(
            model.joint_names, model.velocity_limit, values.stale.jump, _BELIEVED))
        self.qd = self.reader.qd
        self._velocity = PlausibleVelocity(model.velocity_limit)

    def look(self, patience: float = 0.0) -> bool:
        """Take what has come, wait for it at most so long; return whether there is a new state."""
        first = self._states.wait(patience) if patience else None
        new = first is not None and self._read(first)
        for sample in self._states.waiting():
            new |= self._read(sample)
        return new

    def verdict(self) -> StaleVerdict:
        """Return how old the state is."""
        return self._stale.check(time.monotonic())

    def _read(self, sample: JointStateSample) -> bool:
        if not self.reader.read(sample):
            return False
        clock = time.time() if self._ros is None else 1e-9 * self._ros.now().nanoseconds
        now, stamp = time.monotonic(), in_seconds(sample.stamp)
        fresh = self._stale.received(now, stamp, clock)
        if fresh:
            self.qd = self._velocity.update(stamp or now, self.reader.q, self.reader.qd)
        return fresh


class CommandPublisher:
    """
    What a guard says: its state, and torques.

    Parameters
    ----------
    node : Node
        The guard node.
    model : RobotModel
        Of the arm.
    values : GuardSettings
        The parameters of the guard.

    Attributes
    ----------
    command_topic : str
        Full name of the topic of the torques.

    """

    def __init__(self, node: Node, model: RobotModel, values: GuardSettings):
        self._node = node
        self._state = node.create_publisher(Header, '~/state', qos.latched())
        self._array = node.create_publisher(Float64MultiArray, values.command.effort_command_topic,
                                            qos.reliable())
        self._named = (node.create_publisher(JointState, 'joint_commands', qos.reliable())
                       if values.command.publish_joint_commands else None)
        self.command_topic: str = self._array.topic_name
        self._writer = EffortWriter(model.joint_names, values.command.command_joints)
        self._joints = JointStateWriter(model.joint_names)
        self._header = Header()

    def tell(self, state: GuardState, echo) -> None:
        """Say what the guard does, and the stamp of the newest heartbeat it had heard by then."""
        self._header.frame_id = state.value
        if echo is not None:
            self._header.stamp = echo
        self._state.publish(self._header)

    def command(self, torque: np.ndarray, q: np.ndarray) -> None:
        """Send a torque; named efforts carry the position where the arm is."""
        self._array.publish(self._writer.write(torque))
        if self._named is not None:
            self._joints.position[:], self._joints.effort[:] = q, torque
            self._named.publish(self._joints.write(self._node.get_clock().now().nanoseconds))

    def wait_until_heard(self) -> None:
        """Give what was said last the time to arrive."""
        for publisher in (self._array, self._state):
            publisher.wait_for_all_acked(Duration(seconds=_ARRIVE))
