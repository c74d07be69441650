"""
Inputs of the controller at run time: payload, gravity, wrenches, target pose, linear feedback.

Topics are polled between two cycles. Invalid messages are logged, counted and ignored.
"""

from __future__ import annotations

from collections.abc import Callable
import time

from geometry_msgs.msg import InertiaStamped, PoseStamped, Vector3Stamped, WrenchStamped
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.commands import Refusals
from robodyn_ros.nodes.containment import contained
from robodyn_ros.nodes.controller.linear_feedback_input import LinearFeedbackReader
from robodyn_ros.nodes.conversions import efforts_by_name
from robodyn_ros.nodes.load_messages import gravity_from, link_of, payload_from, pose_from, vector
from robodyn_ros.nodes.polling import PolledSubscription

_SELDOM = 0.02      # s between polls of payload and gravity
_LOG = 0.5          # s between log lines about refusals
_WRENCHES = 8       # wrenches taken between two cycles


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

    @property
    def subscriptions(self) -> list[Subscription]:
        """Return the subscriptions whose messages are to be taken soon."""
        return [each.subscription for each in (
            self._feedback, *(subscription for subscription, _, _ in self._often))]

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
