"""
What the controller is told while it runs: payloads, gravity, known contact wrenches.

Each topic is looked at between two cycles. What makes no sense is refused in the log and counted;
it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from geometry_msgs.msg import InertiaStamped, Vector3Stamped, WrenchStamped
import numpy as np
from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import ArgumentError, ModelError, RobodynError
from robodyn_ros.model import Payload
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.commands import Refusals
from robodyn_ros.nodes.polling import PolledSubscription

_LOOK = 0.02   # s between looks at what changes seldom
_TELL = 0.5    # s between log lines about refusals
_MOST = 8      # wrenches taken between two cycles


class Inputs:
    """
    Topics of the controller node besides states and trajectories.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Who is told.
    time : callable
        Returns the time of the cycle.

    Attributes
    ----------
    refusals : Refusals
        Messages that were not taken.

    """

    def __init__(self, node: Node, controller: ArmController, time: Callable[[], float]):
        self._node, self._controller, self._time = node, controller, time
        self.refusals = Refusals()
        self._seldom = [
            (PolledSubscription(node, InertiaStamped, '~/payload', qos.reliable(10)),
             self._payload, 'payload'),
            (PolledSubscription(node, Vector3Stamped, '~/gravity', qos.reliable(2)),
             self._gravity, 'gravity')]
        self._wrenches = PolledSubscription(
            node, WrenchStamped, '~/external_wrench', qos.newest(_MOST))
        self._next = self._telling = 0.0

    def destroy(self) -> None:
        """Close the topics."""
        for subscription, _, _ in self._seldom:
            subscription.destroy()
        self._wrenches.destroy()

    def poll(self, now: float) -> None:
        """Take what has come; to be called after every cycle, `now` on the local clock."""
        for _ in range(_MOST):
            message = self._wrenches.take()
            if message is None:
                break
            self._take(self._wrench, message, 'external wrench')
        if now < self._next:
            return
        self._next = now + _LOOK
        for subscription, take, kind in self._seldom:
            message = subscription.take()
            if message is not None:
                self._take(take, message, kind)
        if now >= self._telling:
            self._telling = now + _TELL
            for line in self.refusals.news():
                self._node.get_logger().error(line)

    def summary(self) -> dict[str, str]:
        """Return what is reckoned with, for diagnostics."""
        controller = self._controller
        loads = [f'{load.mass:g} kg on {load.link}' for load in controller.loads.payloads.values()]
        return {
            'payload': ', '.join(loads) or 'none',
            'gravity (m/s^2)': ', '.join(f'{x:g}' for x in controller.loads.gravity),
            'external wrench': ', '.join(controller.wrenches.links) or 'none',
            **{f'{kind} messages refused': str(count)
               for kind, count in self.refusals.counts.items()}}

    def _take(self, take: Callable, message, kind: str) -> None:
        try:
            take(message)
        except RobodynError as error:
            self.refusals.add(kind, f'refused on ~/{kind.replace(" ", "_")}: {error}')

    def _payload(self, message: InertiaStamped) -> None:
        inertia, link = message.inertia, _link(message, 'holds it')
        payload = Payload(link, inertia.m, _vector(inertia.com), np.array([
            [inertia.ixx, inertia.ixy, inertia.ixz], [inertia.ixy, inertia.iyy, inertia.iyz],
            [inertia.ixz, inertia.iyz, inertia.izz]]))
        self._controller.set_payload(payload)
        self._node.get_logger().info(
            f'payload on link {link!r}: {inertia.m:g} kg' if inertia.m
            else f'no payload on link {link!r} any more')

    def _gravity(self, message: Vector3Stamped) -> None:
        frame, base = message.header.frame_id.strip('/'), self._controller.model.base_link
        if frame not in ('', base):
            raise ModelError(f'gravity in the frame {frame!r}; give it in that of the base, '
                             f'{base!r}', frame=frame)
        gravity = _vector(message.vector)
        self._controller.set_gravity(gravity)
        self._node.get_logger().info(f'gravity is {gravity} m/s^2 in the frame of the base')

    def _wrench(self, message: WrenchStamped) -> None:
        wrench, link = message.wrench, _link(message, 'it acts on')
        self._controller.apply_wrench(self._time(), link,
                                      [*_vector(wrench.force), *_vector(wrench.torque)])


def _link(message, role: str) -> str:
    link = message.header.frame_id.strip('/')
    if not link:
        raise ArgumentError(f'header.frame_id is empty: name the link that {role}')
    return link


def _vector(vector) -> list[float]:
    return [vector.x, vector.y, vector.z]
