"""
Inputs of the controller at run time: payload, gravity, wrenches, target pose, linear feedback.

Topics are polled between two cycles. Invalid messages are logged, counted and ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import time

from geometry_msgs.msg import InertiaStamped, PoseStamped, Vector3Stamped, WrenchStamped
import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from robodyn_ros.control import ArmController, LinearCommand
from robodyn_ros.exceptions import ArgumentError, near_matches, RobodynError, shown
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.commands import Refusals
from robodyn_ros.nodes.containment import contained
from robodyn_ros.nodes.conversions import (
    efforts_by_name, gravity_from, link_of, payload_from, pose_from, vector)
from robodyn_ros.nodes.polling import PolledSubscription

_SELDOM = 0.02      # s between polls of payload and gravity
_LOG = 0.5          # s between log lines about refusals
_WRENCHES = 8       # wrenches taken between two cycles
_BEFORE = 3      # numbers in a row before the gains
_OVERHEAD = 512  # bytes of a message besides its numbers and joint names


class Inputs:
    """
    Topics of the controller node besides states and trajectories.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Receiver of the inputs.
    law_time : callable
        Returns the law time, in s.

    Attributes
    ----------
    refusals : Refusals
        Refused messages.

    """

    def __init__(self, node: Node, controller: ArmController, law_time: Callable[[], float]):
        self._node, self._controller, self._law_time = node, controller, law_time
        self.refusals = Refusals()
        self._seldom = [
            (PolledSubscription(node, InertiaStamped, '~/payload', qos.reliable(10)),
             self._payload, 'payload'),
            (PolledSubscription(node, Vector3Stamped, '~/gravity', qos.reliable(2)),
             self._gravity, 'gravity')]
        self._often = [
            (PolledSubscription(node, WrenchStamped, '~/external_wrench', qos.newest(_WRENCHES)),
             self._wrench, 'external wrench'),
            (PolledSubscription(node, WrenchStamped, '~/target_wrench', qos.newest(_WRENCHES)),
             self._press, 'target wrench'),
            (PolledSubscription(node, PoseStamped, '~/target_pose', qos.reliable(1)),
             self._pose, 'target pose'),
            (PolledSubscription(node, Float64, '~/speed_scaling', qos.latched()),
             self._scale, 'speed scaling'),
            # `bytes`: serialized, to be refused by size before it is deserialized
            (PolledSubscription(node, JointState, '~/reflected_torque', qos.newest(), bytes),
             self._reflect, 'reflected torque')]
        self._feedback = PolledSubscription(node, Float64MultiArray, '~/linear_feedback',
                                            qos.newest(), bytes)
        self._linear = LinearFeedbackReader(controller.model.joint_names)
        self._decoder = JointStateDecoder()
        self._next = self._next_log = 0.0

    def destroy(self) -> None:
        """Close the topics."""
        for subscription, _, _ in (*self._seldom, *self._often):
            subscription.destroy()
        self._feedback.destroy()

    def poll_feedback(self) -> None:
        """Take a linear feedback command; to be called after every cycle."""
        message = self._feedback.take()
        if message is not None:
            contained(self._node.get_logger(), self._take, self._linear_feedback, message,
                      'linear feedback')

    def poll(self) -> None:
        """Take the messages of all other topics; to be called every few milliseconds."""
        now, log = time.monotonic(), self._node.get_logger()
        for subscription, take, kind in self._often:
            for message in subscription.waiting():
                contained(log, self._take, take, message, kind)
        if now < self._next:
            return
        self._next = now + _SELDOM
        for subscription, take, kind in self._seldom:
            message = subscription.take()
            if message is not None:
                contained(log, self._take, take, message, kind)
        if now >= self._next_log:
            self._next_log = now + _LOG
            for line in self.refusals.new_lines():
                log.error(line)

    def summary(self) -> dict[str, str]:
        """Return the inputs in effect, for diagnostics."""
        controller = self._controller
        loads = [f'{load.mass:g} kg on {load.link}' for load in controller.loads.payloads.values()]
        return {
            'payload': ', '.join(loads) or 'none',
            'payload learned': controller.adaptation.summary,
            'gravity (m/s^2)': ', '.join(f'{x:g}' for x in controller.loads.gravity),
            'external wrench': ', '.join(controller.inputs.wrenches.links) or 'none',
            'target wrench': ', '.join(controller.inputs.target.links) or 'none',
            **{f'{kind} messages refused': str(count)
               for kind, count in self.refusals.counts.items()}}

    def _take(self, take: Callable, message, kind: str) -> None:
        try:
            take(message)
        except RobodynError as error:
            self.refusals.add(kind, f'refused on ~/{kind.replace(" ", "_")}: {error}')

    def _linear_feedback(self, data: bytes) -> None:
        self._controller.inputs.take_linear_feedback(self._law_time(), self._linear.decode(data))

    def _payload(self, message: InertiaStamped) -> None:
        payload = payload_from(message)
        self._controller.load_changes.set_payload(payload)
        self._node.get_logger().info(
            f'payload on link {payload.link!r}: {payload.mass:g} kg' if payload.mass
            else f'no payload on link {payload.link!r} any more')

    def _gravity(self, message: Vector3Stamped) -> None:
        gravity = gravity_from(message, self._controller.model.base_link)
        self._controller.load_changes.set_gravity(gravity)
        self._node.get_logger().info(f'gravity is {gravity} m/s^2 in the frame of the base')

    def _wrench(self, message: WrenchStamped) -> None:
        wrench, link = message.wrench, link_of(message, 'it acts on')
        self._controller.inputs.apply_wrench(self._law_time(), link,
                                             [*vector(wrench.force), *vector(wrench.torque)])

    def _press(self, message: WrenchStamped) -> None:
        wrench, link = message.wrench, link_of(message, 'is to press')
        self._controller.inputs.press(self._law_time(), link,
                                      [*vector(wrench.force), *vector(wrench.torque)])

    def _reflect(self, data: bytes) -> None:
        self._controller.inputs.reflect(self._law_time(), efforts_by_name(
            self._decoder.decode(data), self._controller.model.joint_names))

    def _scale(self, message: Float64) -> None:
        speed = self._controller.path_speed
        before = speed.scaling
        speed.scale(message.data)
        if speed.scaling != before:
            self._node.get_logger().info(f'speed scaling {speed.scaling:g}')

    def _pose(self, message: PoseStamped) -> None:
        self._controller.motions.reach(*pose_from(message, self._controller.model.base_link))


class LinearFeedbackReader:
    """
    Reads linear feedback commands from messages.

    A message is a matrix with one row per joint: feedforward torque, position, velocity, then the
    joint's row of the gain matrix, position gains before velocity gains, both in the order of the
    rows. The label of the first dimension names the joints, separated by commas; empty: the
    model's order.

    Parameters
    ----------
    joint_names : sequence of str
        The model's joints.

    """

    def __init__(self, joint_names: Sequence[str]):
        self._names = list(joint_names)
        n = len(self._names)
        self._size = n, _BEFORE + 2 * n
        self._max_bytes = (8 * math.prod(self._size) + _OVERHEAD
                           + sum(len(name.encode()) + 2 for name in self._names))
        self._label, self._order = '', np.arange(len(self._names))

    def decode(self, data: bytes) -> LinearCommand:
        """
        Return the command in a serialized message, in model order.

        A message that is larger than one for these joints can be is not deserialized.

        Raises
        ------
        ArgumentError
            Too many bytes, another message type, wrong names or sizes.

        """
        if len(data) > self._max_bytes:
            rows, columns = self._size
            raise ArgumentError(
                f'a message of {len(data)} bytes, more than {self._max_bytes}; for '
                f'{rows} joints give {rows} x {columns} numbers', size=len(data))
        try:
            message = deserialize_message(data, Float64MultiArray)
        except rclpy_implementation.RMWError:
            raise ArgumentError(f'a message of {len(data)} bytes that are no Float64MultiArray',
                                size=len(data)) from None
        return self.read(message)

    def read(self, message: Float64MultiArray) -> LinearCommand:
        """
        Return the command in a message, in model order.

        Raises
        ------
        ArgumentError
            Wrong names or sizes.

        """
        layout, wanted, n = message.layout, self._size, len(self._names)
        sizes = tuple(each.size for each in layout.dim)
        if sizes != wanted or layout.data_offset:
            raise ArgumentError(f'layout has dimensions {sizes} and offset {layout.data_offset}; '
                                f'for {n} joints give {wanted} and 0', size=sizes)
        if len(message.data) != wanted[0] * wanted[1]:
            raise ArgumentError(f'{len(message.data)} numbers; {wanted[0]} x {wanted[1]} are '
                                f'{wanted[0] * wanted[1]}', size=len(message.data))
        self._read_order(layout.dim[0].label)
        rows = np.empty(wanted)
        rows[self._order] = np.asarray(message.data).reshape(wanted)
        gain = np.empty((n, 2 * n))
        gain[:, np.concatenate((self._order, n + self._order))] = rows[:, _BEFORE:]
        feedforward, position, velocity = rows[:, :_BEFORE].T.copy()
        return LinearCommand(feedforward, position, velocity, gain)

    def _read_order(self, label: str) -> None:
        """Read the order of the joints from a label."""
        if label == self._label:
            return
        known = self._names
        names = [name.strip() for name in label.split(',')] if label else known
        for name in names:
            if name not in known:
                raise ArgumentError(f'joint {shown(name)} is not in the model: '
                                    f'{near_matches(name, known)}', joint=name)
            if names.count(name) > 1:
                raise ArgumentError(f"joint '{name}' is named twice", joint=name)
        missing = [name for name in known if name not in names]
        if missing:
            raise ArgumentError(f'joints not named: {", ".join(missing)}', joint=missing[0])
        self._label, self._order = label, np.array([known.index(name) for name in names])
