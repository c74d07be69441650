"""Connection to a running controller: its services, and what is sent to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.parameter import Parameter as RosParameter
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.controller.node import NAME
from robodyn_ros.nodes.conversions import set_stamp
from robodyn_ros.nodes.process import init_tool, tool_node

_AGAIN = 1.0  # s; a server on a busy computer may discover the client only after its response


class Connection(ABC):
    """
    A node with a ROS context of its own, connected to one controller.

    Parameters
    ----------
    name : str
        Name of the node.
    namespace : str
        Namespace of the arm and its controller.
    enclave : str
        SROS 2 enclave with the keys; '' for none.
    timeout : float
        Longest wait for a service and for a subscriber, in s.

    Attributes
    ----------
    controller : str
        Full name of the controller.

    """

    def __init__(self, name: str, namespace: str, enclave: str, timeout: float):
        self._timeout, self._context = timeout, rclpy.Context()
        init_tool(enclave, self._context)
        try:
            self._node = node = tool_node(name, namespace, self._context)
        except ParameterError:
            self._context.try_shutdown()
            raise
        self.controller = f'{node.get_namespace().rstrip("/")}/{NAME}'
        self._clients: dict[str, Any] = {}
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self._trajectory = node.create_publisher(
            JointTrajectory, f'{NAME}/joint_trajectory', qos.reliable(10))

    @abstractmethod
    def wait(self, until: Callable[[], object], timeout: float) -> bool:
        """Receive until a condition holds, at most `timeout` s; return whether it holds."""

    @abstractmethod
    def _on_status(self, name: str, values: dict[str, str]) -> None:
        """Take the diagnostics of a name."""

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._on_status(status.name, {pair.key: pair.value for pair in status.values})

    def require_open(self) -> None:
        """Raise `StateError` after the end."""
        if not self._context.ok():
            raise StateError('the client is closed: use the arm inside of its `with` block')

    def require_messages(self, received: Mapping[str, Sized], timeout: float) -> None:
        """Wait until each of these holds a message; raise `StateError` if one does not."""
        end = time.monotonic() + timeout
        for what, messages in received.items():
            if not self.wait(lambda: len(messages), max(end - time.monotonic(), 0.0)):
                raise StateError(f'no {what} received within {timeout:g} s: start the driver and '
                                 'the controller on this ROS_DOMAIN_ID')

    def require_subscriber(self, publisher: Any) -> None:
        """Wait until a topic has a subscriber; raise `StateError` if it gets none."""
        if not self.wait(publisher.get_subscription_count, self._timeout):
            raise StateError(f'no subscriber on {publisher.topic_name}',
                             topic=publisher.topic_name)

    def send(self, joint_names: Sequence[str], points: list[JointTrajectoryPoint],
             stamp: float | None = None, frame: str = '') -> int:
        """Publish a trajectory; stamp in s. Return the time of publication, in ns."""
        self.require_subscriber(self._trajectory)
        message = JointTrajectory(joint_names=list(joint_names), points=points)
        message.header.frame_id = frame
        if stamp is not None:
            set_stamp(message.header.stamp, round(1e9 * stamp))
        now = time.time_ns()
        self._trajectory.publish(message)
        return now

    def call(self, name: str) -> None:
        """
        Call a service of the controller: hold, float, stop, pause, resume or reset_fault.

        Raises
        ------
        StateError
            The service does not respond, or refuses.

        """
        response = self._call(Trigger, f'{NAME}/{name}', Trigger.Request())
        if not response.success:
            raise StateError(f'the controller refused ~/{name}: {response.message}')

    def change_state(self, active: bool) -> None:
        """Activate or deactivate the controller, if it is not; raise as `call`."""
        state = self._call(GetState, f'{NAME}/get_state', GetState.Request()).current_state.id
        steps = [(State.PRIMARY_STATE_UNCONFIGURED, Transition.TRANSITION_CONFIGURE),
                 (State.PRIMARY_STATE_INACTIVE, Transition.TRANSITION_ACTIVATE)] if active else [
                     (State.PRIMARY_STATE_ACTIVE, Transition.TRANSITION_DEACTIVATE)]
        begin = next((k for k, (before, _) in enumerate(steps) if before == state), len(steps))
        for before, transition in steps[begin:]:
            if not self._call(ChangeState, f'{NAME}/change_state', ChangeState.Request(
                    transition=Transition(id=transition)), once=True).success:
                waits = self._call(Trigger, f'{NAME}/hold', Trigger.Request()).message if (
                    before == State.PRIMARY_STATE_INACTIVE) else 'the reason is in its log'
                raise StateError(f'not {"activated" if active else "deactivated"}: {waits}')

    def set_parameter(self, node: str, name: str, value: Any) -> None:
        """Set a parameter of a node; raise as `call`."""
        request = SetParameters.Request(parameters=[
            RosParameter(name, value=value).to_parameter_msg()])
        result = self._call(SetParameters, f'{node}/set_parameters', request).results[0]
        if not result.successful:
            raise StateError(f'{node} refused parameter {name}: {result.reason}')

    def _client(self, kind: type, name: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        return self._clients[name]

    def _call(self, kind: type, name: str, request, once: bool = False) -> Any:
        """Return the response of a service; raise `StateError` if there is none."""
        self.require_open()
        client = self._client(kind, name)
        if self.wait(client.service_is_ready, self._timeout):
            response = ask(client, request, self.wait, self._timeout,
                           once or name.endswith('/reset_fault'))
            if response is not None:
                return response
        full = self._node.resolve_service_name(name)
        raise StateError(f'no response of the service {full} within {self._timeout:g} s',
                         service=full)


def ask(client, request, wait: Callable[[Callable[[], Any], float], bool], timeout: float,
        once: bool = False) -> Any:
    """
    Return the response of a service, or None after the timeout.

    Discovery is not symmetric: the client can know a server that does not know the client yet, and
    whose response then reaches nobody (ros2/rmw_fastrtps#842). So the request is sent again every
    second.

    Parameters
    ----------
    client : rclpy.client.Client
        Client of a service that is ready.
    request : message
        Of its type.
    wait : callable
        `wait(condition, timeout)` runs callbacks until the condition holds, at most `timeout` s,
        and returns whether it holds.
    timeout : float
        s
    once : bool
        Whether the request may be executed only once.

    """
    futures: list = []

    def responded():
        return next((each for each in futures if each.done()), None)

    end = time.monotonic() + timeout
    while (left := end - time.monotonic()) > 0.0:
        futures.append(client.call_async(request))
        if wait(responded, left if once else min(left, _AGAIN)):
            return responded().result()
    return None
