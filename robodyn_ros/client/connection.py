"""Connection to a running controller: its messages, received in a thread, and its services."""

from __future__ import annotations

from collections.abc import Callable
import math
from threading import Condition, Thread
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.client.services import ask
from robodyn_ros.client.state import arranged_state, State
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.controller.node import NAME
from robodyn_ros.nodes.process import init_tool, tool_node

_SILENT = 1.0     # s without joint states or references after which there is no state
_MESSAGES = 8     # joint states kept: of the arm, and of a gripper on the same topic


class Connection:
    """
    Messages of a controller and its arm, received in a thread; parameters and errors as of `Arm`.

    Attributes
    ----------
    joint_names : tuple of str
        Joints of the controller.
    diagnostics : dict
        Newest diagnostics of the controller.

    """

    def __init__(self, namespace: str, timeout: float, enclave: str):
        self._timeout, self._news = timeout, Condition()
        self._states: dict[int, bytes] = {}      # newest message of each length
        self._reference = b''
        self._decoder, self.diagnostics = JointStateDecoder(), dict[str, str]()
        self._received = dict.fromkeys(('joint states', 'references', 'diagnostics'), -math.inf)
        self._context = rclpy.Context()
        init_tool(enclave, self._context)
        self._node = node = tool_node('robodyn_client', namespace, self._context)
        self._owner = f'{node.get_namespace().rstrip("/")}/{NAME}: controller'
        # decoded only when used: at 1 kHz message objects would take much of a processor
        node.create_subscription(JointState, 'joint_states', self._on_state,
                                 qos.newest(_MESSAGES), raw=True)
        node.create_subscription(JointState, f'{NAME}/reference', self._on_reference,
                                 qos.newest(), raw=True)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self._trajectory = node.create_publisher(
            JointTrajectory, f'{NAME}/joint_trajectory', qos.reliable(10))
        self._speed: Any = None  # where SROS 2 is enforced, not all clients may publish it
        self._services: dict[str, Any] = {
            name: node.create_client(Trigger, f'{NAME}/{name}')
            for name in ('float', 'hold', 'pause', 'resume', 'reset_fault')}
        self._executor, self._closing = SingleThreadedExecutor(context=self._context), False
        # a callback ends `spin_once` where no messages arrive; `Executor.wake` does not
        self._end = node.create_guard_condition(lambda: None)
        self._executor.add_node(node)
        self._thread = Thread(target=self._spin, name='robodyn_client', daemon=True)
        self._thread.start()
        try:
            self._wait_for_arm()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End ROS."""
        if not self._closing:  # the thread ends first: it waits for what the context has
            self._closing = True
            self._end.trigger()
            self._thread.join(self._timeout)
        self._context.try_shutdown()

    # --- what was received ------------------------------------------------------------------

    @property
    def state(self) -> State:
        """Return the newest state; raises as `require_alive`."""
        self.require_alive()
        with self._news:
            states = list(self._states.values())
        return arranged_state(self.joint_names, map(self._decoder.decode, states), self.reference)

    @property
    def reference(self) -> Any:
        """Return the newest reference: stamp in ns, position, velocity and effort."""
        return self._decoder.decode(self._reference)

    @property
    def reported(self) -> float:
        """Return the time of the arrival of the diagnostics."""
        return self._received['diagnostics']

    @property
    def clock(self) -> float:
        """Return the time of the newest reference, in s: the arm may be simulated slowly."""
        return 1e-9 * self.reference.stamp

    def next_diagnostics(self) -> dict[str, str]:
        """Return diagnostics that arrive from now on; raise `StateError` if there are none."""
        self.require_open()
        now = time.monotonic()
        if not self.wait(lambda: self._received['diagnostics'] > now, self._timeout):
            raise StateError(f'no diagnostics of the controller within {self._timeout:g} s')
        return self.diagnostics

    def require_open(self) -> None:
        """Raise `StateError` after `close`."""
        if not self._context.ok():
            raise StateError('the client is closed: use the arm inside of its `with` block')

    def require_alive(self) -> None:
        """Raise `StateError` if joint states or references have not arrived for a second."""
        self.require_open()
        now = time.monotonic()
        for what in ('joint states', 'references'):
            age = now - self._received[what]
            if age > _SILENT:
                raise StateError(f'no {what} received for {age:.1f} s: look at the driver and the '
                                 'controller')

    def wait(self, until: Callable[[], object], timeout: float) -> bool:
        """Wait for a condition, judged at each message; return whether it is true in time."""
        with self._news:
            return bool(self._news.wait_for(until, max(timeout, 0.0)) or until())

    # --- what is sent -----------------------------------------------------------------------

    def send(self, points: list, stamp: float | None = None, frame: str = '') -> None:
        """Publish the points of a trajectory; stamp in s."""
        message = JointTrajectory(joint_names=list(self.joint_names), points=points)
        message.header.frame_id = frame
        if stamp is not None:
            seconds, rest = divmod(round(1e9 * stamp), 10**9)
            message.header.stamp.sec, message.header.stamp.nanosec = seconds, rest
        self._trajectory.publish(message)

    def scale_speed(self, factor: float) -> None:
        """Publish the factor of the speed along the path."""
        if self._speed is None:
            self._speed = self._node.create_publisher(Float64, f'{NAME}/speed_scaling',
                                                      qos.latched())
        self._speed.publish(Float64(data=float(factor)))

    def call(self, name: str) -> None:
        """Call a service; raise `StateError` if it does not respond, or refuses."""
        self.require_open()
        client = self._services[name]
        if client.wait_for_service(self._timeout):
            response = ask(client, Trigger.Request(), self.wait, self._timeout,
                           once=name == 'reset_fault', wake=self._wake)
            if response is not None:
                if not response.success:
                    raise StateError(f'the controller refused ~/{name}: {response.message}')
                return
        raise StateError(f'no response of the service {client.srv_name} within '
                         f'{self._timeout:g} s', service=client.srv_name)

    # --- thread -----------------------------------------------------------------------------

    def _wait_for_arm(self) -> None:
        end = time.monotonic() + self._timeout
        for what in ('joint states', 'references'):
            if not self.wait(lambda: self._received[what] > 0.0, end - time.monotonic()):
                raise StateError(f'no {what} received within {self._timeout:g} s: start the '
                                 'driver and the controller on this ROS_DOMAIN_ID')
        self.joint_names = tuple(self.reference.name)
        if not self.wait(self._trajectory.get_subscription_count, self._timeout):
            raise StateError(f'no subscriber on {self._trajectory.topic_name}')

    def _spin(self) -> None:
        try:
            while not self._closing:
                self._executor.spin_once()
        except ExternalShutdownException:
            pass
        finally:
            self._executor.shutdown(timeout_sec=1.0)

    def _on_state(self, data: bytes) -> None:
        with self._news:
            self._states.pop(len(data), None)  # the newest message is the last
            self._states[len(data)] = data
        self._note('joint states')

    def _on_reference(self, data: bytes) -> None:
        self._reference = data
        self._note('references')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._owner:
                self.diagnostics = {pair.key: pair.value for pair in status.values}
                self._note('diagnostics')

    def _note(self, what: str) -> None:
        with self._news:
            self._received[what] = time.monotonic()
            self._news.notify_all()

    def _wake(self, _future) -> None:
        with self._news:
            self._news.notify_all()
