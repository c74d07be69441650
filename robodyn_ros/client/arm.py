"""An arm behind a running controller: its state, streamed targets, motions and requests."""

from __future__ import annotations

from collections.abc import Callable
import math
from threading import Condition, Thread
import time
from types import TracebackType
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from numpy.typing import ArrayLike, NDArray
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control.mode import Mode
from robodyn_ros.exceptions import ArgumentError, StateError, TrajectoryError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateDecoder
from robodyn_ros.nodes.controller.node import NAME
from robodyn_ros.nodes.process import init_tool
from robodyn_ros.nodes.trajectories.points import point
from robodyn_ros.nodes.trajectories.stream_input import STREAM

_SILENT = 1.0     # s without joint states or references after which there is no state
_PEAK = 15.0 / 8  # largest speed of a motion from rest to rest, relative to its mean
_LEAST = 0.6      # s, shortest motion; a shorter one may count as a part of a stream
_LATE = 2.0       # s after the end of a motion until the reference must rest at the goal
_NEAR, _STILL = 1e-3, 1e-4  # rad or m, and rad/s or m/s: reference at rest at the goal
_LATEST = 2.0**31  # s, stamps are below it
_MESSAGES = 8     # joint states kept: of the arm, and of a gripper on the same topic


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


class Arm:
    """
    A running controller and its arm, used in a `with` block.

    Callbacks run in a thread with a ROS context of its own: the script does not spin, and may use
    ROS besides. At the end of the block the arm holds its position.

    Parameters
    ----------
    namespace : str
        Namespace of the controller.
    timeout : float
        Time in s for discovery, and for the response of a service.
    enclave : str
        SROS 2 enclave with the keys; '' for none.

    Attributes
    ----------
    joint_names : tuple of str
        Joints of the controller, the order of all arrays.

    Raises
    ------
    StateError
        No joint states or references arrive within `timeout`.

    """

    def __init__(self, namespace: str = '', timeout: float = 10.0, enclave: str = ''):
        self._timeout, self._news = timeout, Condition()
        self._states: dict[int, bytes] = {}      # newest message of each length
        self._reference: bytes | None = None
        self._decoder, self._diagnostics = JointStateDecoder(), dict[str, str]()
        self._heard = dict.fromkeys(('joint states', 'references', 'diagnostics'), -math.inf)
        self._context = rclpy.Context()
        init_tool(enclave, self._context)
        self._node = node = Node('robodyn_client', namespace=namespace, context=self._context,
                                 use_global_arguments=False, enable_rosout=False,
                                 start_parameter_services=False)
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
        self._thread = Thread(target=self._spin, name='robodyn_client', daemon=True)
        self._thread.start()
        try:
            self._wait_for_arm()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Arm:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.hold()
        except StateError:
            if error is None:
                raise
        finally:
            self.close()

    def close(self) -> None:
        """End ROS; the arm continues with what was requested last."""
        self._context.try_shutdown()
        self._thread.join(self._timeout)

    # --- state ------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """
        Return the newest state.

        Raises
        ------
        StateError
            Joint states or references have not arrived for a second.

        """
        self._require_alive()
        with self._news:
            messages, reference = list(self._states.values()), self._reference
        assert reference is not None
        rows = np.full((3, len(self.joint_names)), np.nan)
        stamp = 0
        for data in messages:
            sample = self._decoder.decode(data)
            column = {name: k for k, name in enumerate(sample.name)}
            own = [j for j, name in enumerate(self.joint_names) if name in column]
            source = [column[self.joint_names[j]] for j in own]
            for row, values in zip(rows, (sample.position, sample.velocity, sample.effort)):
                if own and len(values) == len(column):
                    row[own] = values[source]
            stamp = max(stamp, sample.stamp) if own else stamp
        wanted = self._decoder.decode(reference)
        return State(1e-9 * stamp, rows[0], rows[1], rows[2], wanted.position.copy(),
                     wanted.effort.copy())

    @property
    def diagnostics(self) -> dict[str, str]:
        """Return the newest diagnostics of the controller: mode, fault, last refusal, ..."""
        return dict(self._diagnostics)

    # --- targets ----------------------------------------------------------------------------

    def stream(self, chunk: ArrayLike, dt: float = 0.02, velocities: ArrayLike | None = None,
               stamp: float | None = None) -> None:
        """
        Send one target or a chunk of targets of a stream, blended with those sent before.

        Parameters
        ----------
        chunk : (nv,) or (T, nv) array_like
            Positions at dt, 2 dt, ... after the beginning.
        dt : float
            Time between targets, in s.
        velocities : array_like, optional
            Velocities of the targets, of the same shape; default by interpolation.
        stamp : float, optional
            Beginning, such as the `State.stamp` of the observation that a policy computed the
            chunk from: targets of times that have passed meanwhile are left out. Default the
            arrival of the message.

        Raises
        ------
        ArgumentError
            Wrong shape, or a number that is not finite; the message names the joint.
        StateError
            The controller is silent, or has a fault.

        """
        rows = self._checked('chunk', chunk)
        speeds = () if velocities is None else self._checked('velocities', velocities)
        if velocities is not None and len(speeds) != len(rows):
            raise ArgumentError(f'velocities have {len(speeds)} rows, the chunk has {len(rows)}')
        if not 0.0 < dt < math.inf:
            raise ArgumentError(f'dt is {dt!r}: it must be a time above 0, in s')
        if stamp is not None and not 0.0 <= stamp < _LATEST:
            raise ArgumentError(f'stamp is {stamp!r}: it must be a time in s, such as that of a '
                                'state')
        self._require_alive()
        if fault := self._diagnostics.get('fault'):
            raise StateError(f'the controller has a fault: {fault}; remove its cause and call '
                             '`reset_fault`')
        self._send([point(q, qd, time=dt * k) for k, (q, qd) in enumerate(
            zip(rows, speeds if len(speeds) else [()] * len(rows)), 1)], stamp, STREAM)

    def move(self, q: ArrayLike, duration: float | None = None, speed: float = 0.5) -> None:
        """
        Move to a position, from rest to rest, and wait until the reference is there.

        Parameters
        ----------
        q : (nv,) array_like
            Goal.
        duration : float, optional
            Duration in s; default by `speed`.
        speed : float
            Largest velocity of a joint, in rad/s or m/s.

        Raises
        ------
        ArgumentError
            As `stream`.
        TrajectoryError
            The controller refused the motion; with its reason.
        StateError
            The controller is silent or has a fault, or something else ended the motion.

        """
        rows = self._checked('q', q)
        if len(rows) > 1:
            raise ArgumentError(f'q has {len(rows)} rows: give one position, or use `stream`')
        for name, value in (('speed', speed), ('duration', duration)):
            if value is not None and not 0.0 < value < math.inf:
                raise ArgumentError(f'{name} is {value!r}: it must be a finite number above 0')
        goal = rows[0]
        zero = np.zeros_like(goal)
        start = self.state
        if duration is None:
            duration = max(_LEAST, _PEAK * float(np.abs(goal - start.reference).max()) / speed)
        before = self._next_diagnostics()
        sent = self._clock()
        self._send([point(goal, zero, zero, time=duration)])
        while (elapsed := self._clock() - sent) < duration or not self._rests_at(goal):
            self._require_alive()
            now = self._diagnostics
            if now.get('trajectories refused') != before.get('trajectories refused'):
                raise TrajectoryError(f'the controller refused: {now.get("last refusal")}')
            if fault := now.get('fault'):
                raise StateError(f'the controller has a fault: {fault}')
            # at a lower speed, or paused, it is still on its way
            if elapsed > duration + _LATE and now.get('mode') != Mode.TRACK.value:
                end = self._next_diagnostics().get('last motion') or 'see its log'
                raise StateError(f'the motion has ended elsewhere: {end}')
            self._wait(lambda: False, 0.01)

    def speed(self, factor: float) -> None:
        """Scale the speed along the path by a factor from 0 to 1, from now on."""
        self._require_open()
        if not 0.0 <= factor <= 1.0:
            raise ArgumentError(f'the speed factor is {factor!r}: it must be from 0 to 1')
        if self._speed is None:
            self._speed = self._node.create_publisher(Float64, f'{NAME}/speed_scaling',
                                                      qos.latched())
        self._speed.publish(Float64(data=float(factor)))

    # --- requests: raise StateError if the service does not respond, or refuses --------------

    def hold(self) -> None:
        """Decelerate and hold."""
        self._call('hold')

    def pause(self) -> None:
        """Come to rest on the path."""
        self._call('pause')

    def resume(self) -> None:
        """Continue along the path after `pause`."""
        self._call('resume')

    def reset_fault(self) -> None:
        """Clear a fault whose cause is gone."""
        self._call('reset_fault')

    def _call(self, name: str) -> None:
        self._require_open()
        client = self._services[name]
        if client.wait_for_service(self._timeout):
            future = client.call_async(Trigger.Request())
            future.add_done_callback(self._wake)
            if self._wait(future.done, self._timeout):
                response = future.result()
                if not response.success:
                    raise StateError(f'the controller refused ~/{name}: {response.message}')
                return
        raise StateError(f'no response of the service {client.srv_name} within '
                         f'{self._timeout:g} s', service=client.srv_name)

    def _send(self, points: list, stamp: float | None = None, frame: str = '') -> None:
        message = JointTrajectory(joint_names=list(self.joint_names), points=points)
        message.header.frame_id = frame
        if stamp is not None:
            seconds, rest = divmod(round(1e9 * stamp), 10**9)
            message.header.stamp.sec, message.header.stamp.nanosec = seconds, rest
        self._trajectory.publish(message)

    def _checked(self, name: str, values: ArrayLike) -> NDArray:
        """Return (T, nv) numbers; raise `ArgumentError` if they are not."""
        rows, nv = np.atleast_2d(np.asarray(values, dtype=float)), len(self.joint_names)
        if rows.ndim != 2 or rows.shape[1] != nv or not len(rows):
            raise ArgumentError(f'{name} must have shape ({nv},) or (T, {nv}), for the joints '
                                f'{", ".join(self.joint_names)}; got {np.shape(values)}')
        broken = np.argwhere(~np.isfinite(rows))
        if len(broken):
            k, j = broken[0]
            raise ArgumentError(f"{name}, row {k}, joint '{self.joint_names[j]}' is "
                                f'{rows[k, j]}: it must be a finite number',
                                joint=self.joint_names[j])
        return rows

    # --- waiting ----------------------------------------------------------------------------

    def _wait_for_arm(self) -> None:
        end = time.monotonic() + self._timeout
        for what in ('joint states', 'references'):
            if not self._wait(lambda: self._heard[what] > 0.0, end - time.monotonic()):
                raise StateError(f'no {what} received within {self._timeout:g} s: start the '
                                 'driver and the controller on this ROS_DOMAIN_ID')
        assert self._reference is not None
        self.joint_names = tuple(self._decoder.decode(self._reference).name)
        if not self._wait(self._trajectory.get_subscription_count, self._timeout):
            raise StateError(f'no subscriber on {self._trajectory.topic_name}')

    def _wait(self, until: Callable[[], object], timeout: float) -> bool:
        with self._news:
            return bool(self._news.wait_for(until, max(timeout, 0.0)) or until())

    def _require_open(self) -> None:
        if not self._context.ok():
            raise StateError('the client is closed: use the arm inside of its `with` block')

    def _require_alive(self) -> None:
        self._require_open()
        now = time.monotonic()
        for what in ('joint states', 'references'):
            age = now - self._heard[what]
            if age > _SILENT:
                raise StateError(f'no {what} received for {age:.1f} s: look at the driver and the '
                                 'controller')

    def _next_diagnostics(self) -> dict[str, str]:
        """Return diagnostics published from now on."""
        now = time.monotonic()
        if not self._wait(lambda: self._heard['diagnostics'] > now, self._timeout):
            raise StateError(f'no diagnostics of the controller within {self._timeout:g} s')
        return self._diagnostics

    def _clock(self) -> float:
        """Return the time of the newest reference, in s: the arm may be simulated slowly."""
        assert self._reference is not None
        return 1e-9 * self._decoder.decode(self._reference).stamp

    def _rests_at(self, goal: NDArray) -> bool:
        assert self._reference is not None
        reference = self._decoder.decode(self._reference)
        # a continuous joint may rest one turn away
        away = (reference.position - goal + math.pi) % (2.0 * math.pi) - math.pi
        return bool(np.abs(away).max() < _NEAR and np.abs(reference.velocity).max() < _STILL)

    # --- thread -----------------------------------------------------------------------------

    def _spin(self) -> None:
        executor = SingleThreadedExecutor(context=self._context)
        executor.add_node(self._node)
        try:
            executor.spin()
        except ExternalShutdownException:
            pass
        finally:
            executor.shutdown(timeout_sec=1.0)

    def _on_state(self, data: bytes) -> None:
        with self._news:
            self._states[len(data)] = data
        self._note('joint states')

    def _on_reference(self, data: bytes) -> None:
        self._reference = data
        self._note('references')

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._owner:
                self._diagnostics = {pair.key: pair.value for pair in status.values}
                self._note('diagnostics')

    def _note(self, what: str) -> None:
        with self._news:
            self._heard[what] = time.monotonic()
            self._news.notify_all()

    def _wake(self, _future) -> None:
        with self._news:
            self._news.notify_all()

    # last, as it hides the type in what follows
    def float(self) -> None:  # noqa: A003
        """Compensate gravity: the arm can be guided by hand."""
        self._call('float')
