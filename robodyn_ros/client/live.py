"""The newest messages of a controller and its arm, received in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
import math
from threading import Condition, Thread
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from robodyn_ros.client.connection import Connection
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder, JointStateSample
from robodyn_ros.nodes.controller.node import NAME

_SILENT = 1.0     # s without joint states or references after which there is no state
_MESSAGES = 8     # joint states kept: of the arm, and of a gripper on the same topic
_POLL = 0.02      # s, longest time between two checks of a condition
_SERVICES = 'float', 'hold', 'pause', 'resume', 'reset_fault'


class State(NamedTuple):
    """
    Newest state of the arm; (nv,) arrays in the order of `Arm.joint_names`.

    Attributes
    ----------
    stamp : float
        Time of the measurement, in s of the clock of the stamps.
    q, qd, effort : (nv,) array
        Measured position, velocity and effort; NaN where it is not reported.
    reference : (nv,) array
        Position of the controller's reference.
    torque : (nv,) array
        Torque that the controller sent last.

    """

    stamp: float
    q: NDArray
    qd: NDArray
    effort: NDArray
    reference: NDArray
    torque: NDArray


class LiveConnection(Connection):
    """
    Newest messages of a controller and its arm; parameters and errors as of `Arm`.

    Attributes
    ----------
    joint_names : tuple of str
        Joints of the controller.
    diagnostics : dict
        Newest diagnostics of the controller.

    """

    def __init__(self, namespace: str, timeout: float, enclave: str):
        super().__init__('robodyn_client', namespace, enclave, timeout)
        self._news = Condition()
        self._states: dict[int, bytes] = {}      # newest message of each length
        self._references: list[bytes] = []       # the newest one
        self._decoder, self.diagnostics = JointStateDecoder(), dict[str, str]()
        self._received = dict.fromkeys(('joint states', 'references', 'diagnostics'), -math.inf)
        node = self._node
        # decoded only when used: at 1 kHz message objects would take much of a processor
        node.create_subscription(JointState, 'joint_states', self._on_state,
                                 qos.newest(_MESSAGES), raw=True)
        node.create_subscription(JointState, f'{NAME}/reference', self._on_reference,
                                 qos.newest(), raw=True)
        self._speed: Any = None  # where SROS 2 is enforced, not all clients may publish it
        for name in _SERVICES:  # discovered before they are called
            self._client(Trigger, f'{NAME}/{name}')
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
        return self._decoder.decode(self._references[0])

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
        """Wait for a condition, judged at each message; return whether it holds in time."""
        end = time.monotonic() + timeout
        with self._news:
            while not (found := until()) and (left := end - time.monotonic()) > 0.0:
                self._news.wait(min(left, _POLL))
        return bool(found)

    def scale_speed(self, factor: float) -> None:
        """Publish the factor of the speed along the path."""
        if self._speed is None:
            self._speed = self._node.create_publisher(Float64, f'{NAME}/speed_scaling',
                                                      qos.latched())
        self._speed.publish(Float64(data=float(factor)))

    # --- thread -----------------------------------------------------------------------------

    def _wait_for_arm(self) -> None:
        self.require_messages({'joint states': self._states, 'references': self._references},
                              self._timeout)
        self.joint_names = tuple(self.reference.name)
        self.require_subscriber(self._trajectory)

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
        self._references[:] = [data]
        self._note('references')

    def _on_status(self, name: str, values: dict[str, str]) -> None:
        if name == f'{self.controller}: controller':
            self.diagnostics = values
            self._note('diagnostics')

    def _note(self, what: str) -> None:
        with self._news:
            self._received[what] = time.monotonic()
            self._news.notify_all()


def arranged_state(joint_names: Sequence[str], samples: Iterable[JointStateSample],
                   reference: JointStateSample) -> State:
    """Return the state of the joints, which may be spread over several joint states."""
    rows, stamp = np.full((3, len(joint_names)), np.nan), 0
    for sample in samples:
        column = {name: k for k, name in enumerate(sample.name)}
        own = [j for j, name in enumerate(joint_names) if name in column]
        if not own:  # of a gripper
            continue
        stamp, source = max(stamp, sample.stamp), [column[joint_names[j]] for j in own]
        for row, values in zip(rows, (sample.position, sample.velocity, sample.effort)):
            if len(values) == len(column):
                row[own] = values[source]
    return State(1e-9 * stamp, rows[0], rows[1], rows[2], reference.position.copy(),
                 reference.effort.copy())
