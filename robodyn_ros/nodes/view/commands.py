"""Commands of the page: services and topics of controller and simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time
from typing import Any, NamedTuple

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
from robodyn_ros.nodes.conversions import payload_message, point
from robodyn_ros.nodes.trajectories.stream_input import TRAJECTORY
from robodyn_ros.nodes.view.feed import Names
from robodyn_ros.view.snapshot import (
    CallService, Follow, Move, PageCommand, Pause, Reset, SetPayload, Step, Wrench)

# of the controller
SERVICES = ('hold', 'float', 'stop', 'pause', 'resume', 'reset_fault')
Notify = Callable[[str, str, bool], None]
_TIMEOUT = 3.0  # s for the response of a service


class _Call(NamedTuple):
    """Pending service call: name of the command, client, and end of the timeout (s)."""

    command: str
    client: Client
    end: float


class Commands:
    """
    Executes commands of a page, by services and topics of controller and simulator.

    No method blocks; a result is reported when the response arrives.

    Parameters
    ----------
    node : Node
    names : Names
    notify : callable
        Called with the name of a command, its result, and whether it succeeded.

    """

    def __init__(self, node: Node, names: Names, notify: Notify):
        self._node, self._notify = node, notify
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
        # in advance, because discovery takes time
        self._clients: dict[str, Any] = {
            name: node.create_client(kind, name) for name, kind in kinds.items()}
        self._calls: dict[Future, _Call] = {}
        self._refusal: tuple[str, str] | None = None
        self._methods: dict[type, Callable] = {
            CallService: self._call_service, Pause: self._pause,
            Step: self._step, Reset: self._reset,
            Move: self._move, Follow: self._follow,
            Wrench: self._push, SetPayload: self._set_payload}

    def execute(self, command: PageCommand) -> None:
        """Execute a command."""
        self._methods[type(command)](command)

    def update(self) -> None:
        """Report calls without a response within the timeout; to be called periodically."""
        now = time.monotonic()
        for future, (command, client, end) in list(self._calls.items()):
            if now > end:
                del self._calls[future]
                client.remove_pending_request(future)
                self._notify(command, f'no answer on {client.srv_name} within {_TIMEOUT:g} s',
                             False)

    def note_refusal(self, refusal: tuple[str, str] | None) -> None:
        """Report the refusal of a trajectory, see `Feed.refusal`, if it is new."""
        if refusal is None or refusal == self._refusal:
            return
        known, self._refusal = self._refusal, refusal
        if known is not None and refusal[1]:
            self._notify('move', f'refused by the controller: {refusal[1]}', False)

    def _call_service(self, command: CallService) -> None:
        self._call(command.service, f'{self._controller}/{command.service}', Trigger.Request())

    def _pause(self, command: Pause) -> None:
        self._call('time', f'{self._simulator}/pause', SetBool.Request(data=command.on))

    def _step(self, _order: Step) -> None:
        self._call('step', f'{self._simulator}/step', Trigger.Request())

    def _reset(self, _order: Reset) -> None:
        self._call('reset', f'{self._simulator}/reset', Trigger.Request())

    def _move(self, command: Move) -> None:
        zero = [0.0] * len(command.joints)
        self._publish_points(command.joints, command.duration, [
            point(command.positions, zero, zero, time=command.duration)])

    def _follow(self, command: Follow) -> None:
        self._publish_points(command.joints, float(command.times[-1]), [
            point(q, qd, qdd, time=time) for time, q, qd, qdd in zip(
                command.times, command.positions, command.velocities, command.accelerations)])

    def _publish_points(self, joints: Sequence[str], duration: float, points: list) -> None:
        if not self._trajectory.get_subscription_count():
            self._notify('move', f'no subscriber on {self._trajectory.topic_name}: is the '
                         'controller running?', False)
            return
        message = JointTrajectory(joint_names=list(joints), points=points)
        message.header.frame_id = TRAJECTORY
        self._trajectory.publish(message)
        self._notify('move', f'sent, {duration:.1f} s', True)

    def _push(self, command: Wrench) -> None:
        message = WrenchStamped()
        message.header.frame_id = command.link
        message.header.stamp = self._node.get_clock().now().to_msg()
        for part, numbers in ((message.wrench.force, command.force),
                              (message.wrench.torque, command.moment)):
            part.x, part.y, part.z = map(float, numbers)
        self._wrench.publish(message)

    def _set_payload(self, command: SetPayload) -> None:
        payload = Payload(command.link, command.mass if command.reported else 0.0, np.zeros(3),
                          np.zeros((3, 3)))
        given: dict[str, Any] = {
            'payload.link': command.link, 'payload.mass': float(command.mass)}
        request = SetParameters.Request(parameters=[
            RosParameter(name, value=value).to_parameter_msg() for name, value in given.items()])
        # without a simulator the arm is real, and does not have this payload
        if self._call('payload', f'{self._simulator}/set_parameters', request):
            self._payload.publish(payload_message(payload))

    def _call(self, command: str, name: str, request) -> bool:
        """Call a service; return whether it is available."""
        client = self._clients[name]
        if not client.service_is_ready():
            self._notify(command, f'no service {client.srv_name}', False)
            return False
        future = client.call_async(request)
        self._calls[future] = _Call(command, client, time.monotonic() + _TIMEOUT)
        future.add_done_callback(self._report_result)
        return True

    def _report_result(self, future: Future) -> None:
        if future in self._calls:
            self._notify(self._calls.pop(future).command, *_result(future.result()))


def _result(response) -> tuple[str, bool]:
    """Return message and success of a response."""
    if hasattr(response, 'results'):
        refused = [result.reason for result in response.results if not result.successful]
        return '; '.join(refused) or 'done', not refused
    return response.message, response.success
