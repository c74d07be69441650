"""Carries out what a person at the page wants; of those who only watch nobody gets this far."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import NamedTuple

from geometry_msgs.msg import InertiaStamped, WrenchStamped
import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.model import Payload
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.load_messages import payload_message
from robodyn_ros.nodes.trajectories.points import point
from robodyn_ros.nodes.view.names import Names
from robodyn_ros.view import page_commands

SERVICES = ('hold', 'float', 'stop', 'reset_fault')  # of the controller
Tell = Callable[[str, str, bool], None]
_PATIENCE = 3.0  # s for a service to answer


class _Call(NamedTuple):
    """What was asked of whom, and until when (s) an answer is waited for."""

    what: str
    client: Client
    end: float


class Commands:
    """
    Services and topics of controller and simulator.

    Nothing here waits: an answer is told when it comes.

    Parameters
    ----------
    node : Node
    names : Names
    tell : callable
        Takes what was wanted, what has become of it, and whether that is good.

    """

    def __init__(self, node: Node, names: Names, tell: Tell):
        self._node, self._tell = node, tell
        self._controller, self._simulator = names.controller, names.simulator
        publisher = node.create_publisher
        self._wrench = publisher(WrenchStamped, f'{names.simulator}/wrench', qos.reliable(10))
        self._payload = publisher(InertiaStamped, f'{names.controller}/payload', qos.reliable(10))
        self._trajectory = publisher(JointTrajectory, f'{names.controller}/joint_trajectory',
                                     qos.reliable(2))
        kinds = {f'{names.controller}/{name}': Trigger for name in SERVICES}
        kinds |= {f'{names.simulator}/{name}': kind for name, kind in (
            ('pause', SetBool), ('step', Trigger), ('reset', Trigger),
            ('set_parameters', SetParameters))}
        # all at once: it takes a moment until the other side is found
        self._clients = {name: node.create_client(kind, name) for name, kind in kinds.items()}
        self._calls: dict[Future, _Call] = {}
        self._refusal: tuple[str, str] | None = None
        self._obey = {page_commands.CallService: self._ask, page_commands.Pause: self._pause,
                      page_commands.Step: self._step, page_commands.Reset: self._reset,
                      page_commands.Move: self._move,
                      page_commands.Wrench: self._push, page_commands.SetPayload: self._carry}

    def obey(self, order: page_commands.PageCommand) -> None:
        """Carry out an order."""
        self._obey[type(order)](order)

    def look(self) -> None:
        """Give up what nobody has answered in time; to be called again and again."""
        now = time.monotonic()
        for future, (what, client, end) in list(self._calls.items()):
            if now > end:
                del self._calls[future]
                client.remove_pending_request(future)
                self._tell(what, f'no answer on {client.srv_name} within {_PATIENCE:g} s', False)

    def note_refusal(self, refusal: tuple[str, str] | None) -> None:
        """Show the refusal of a trajectory, see `Feed.refusal`, when it is new."""
        if refusal is None or refusal == self._refusal:
            return
        known, self._refusal = self._refusal, refusal
        if known is not None and refusal[1]:
            self._tell('move', f'refused by the controller: {refusal[1]}', False)

    def _ask(self, order: page_commands.CallService) -> None:
        self._call(order.service, f'{self._controller}/{order.service}', Trigger.Request())

    def _pause(self, order: page_commands.Pause) -> None:
        self._call('time', f'{self._simulator}/pause', SetBool.Request(data=order.on))

    def _step(self, _order: page_commands.Step) -> None:
        self._call('step', f'{self._simulator}/step', Trigger.Request())

    def _reset(self, _order: page_commands.Reset) -> None:
        self._call('reset', f'{self._simulator}/reset', Trigger.Request())

    def _move(self, order: page_commands.Move) -> None:
        if not self._trajectory.get_subscription_count():
            self._tell('move', f'nobody listens on {self._trajectory.topic_name}: is the '
                       'controller running?', False)
            return
        still = [0.0] * len(order.joints)
        self._trajectory.publish(JointTrajectory(joint_names=list(order.joints), points=[
            point(order.positions, still, still, time=order.duration)]))
        self._tell('move', f'sent, {order.duration:.1f} s', True)

    def _push(self, order: page_commands.Wrench) -> None:
        message = WrenchStamped()
        message.header.frame_id = order.link
        message.header.stamp = self._node.get_clock().now().to_msg()
        for part, numbers in ((message.wrench.force, order.force),
                              (message.wrench.torque, order.moment)):
            part.x, part.y, part.z = map(float, numbers)
        self._wrench.publish(message)

    def _carry(self, order: page_commands.SetPayload) -> None:
        told = Payload(order.link, order.mass if order.reported else 0.0, np.zeros(3),
                       np.zeros((3, 3)))
        given = {'payload.link': order.link, 'payload.mass': float(order.mass)}
        request = SetParameters.Request(parameters=[
            RosParameter(name, value=value).to_parameter_msg() for name, value in given.items()])
        # the controller of a real arm must not hear of a load that it does not carry
        if self._call('payload', f'{self._simulator}/set_parameters', request):
            self._payload.publish(payload_message(told))

    def _call(self, what: str, name: str, request) -> bool:
        """Call a service; return whether there is one."""
        client = self._clients[name]
        if not client.service_is_ready():
            self._tell(what, f'nobody answers on {client.srv_name}', False)
            return False
        future = client.call_async(request)
        self._calls[future] = _Call(what, client, time.monotonic() + _PATIENCE)
        future.add_done_callback(self._answered)
        return True

    def _answered(self, future: Future) -> None:
        if future in self._calls:
            self._tell(self._calls.pop(future).what, *_answer(future.result()))


def _answer(response) -> tuple[str, bool]:
    """Return what a service says, and whether it did what was asked."""
    if hasattr(response, 'results'):
        refused = [result.reason for result in response.results if not result.successful]
        return '; '.join(refused) or 'done', not refused
    return response.message, response.success
