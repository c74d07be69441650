"""
Interfaces for trajectories: a topic, and an action if control_msgs is installed.

Both are compatible with joint_trajectory_controller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
import time
from typing import Any, TYPE_CHECKING

from rclpy.lifecycle import LifecycleNode
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.conversions import seconds
from robodyn_ros.nodes.polling import publisher_of
from robodyn_ros.nodes.trajectories.stream_input import StreamInput
from robodyn_ros.nodes.trajectories.validator import Background, Request, TrajectoryValidator
from robodyn_ros.trajectory import ResultCode, Tolerances, Trajectory

if TYPE_CHECKING:
    from robodyn_ros.nodes.trajectories.action import TrajectoryAction
    from robodyn_ros.nodes.trajectories.controller_state import ControllerState

_LOGGED = 20       # answers to trajectories that are logged one by one each second
_DEPTH = 8         # messages that wait in the middleware
_LARGE = 50_000    # bytes of a message that is read in a thread: it takes milliseconds
_STREAM = 'a stream of targets on ~/joint_trajectory'


class TrajectoryInterfaces:
    """
    Receives trajectories for the arm, and publishes results and state.

    Parameters
    ----------
    node : LifecycleNode
        The controller node.
    controller : ArmController
        Controller of the arm.
    states : StateInput
        Joint states.
    values : ControllerSettings
        Parameters of the node.
    now, wall : callable
        Law time, and time of the clock of stamps, in s.
    unheard : callable
        Returns why no torque reaches the arm; '' if it does.

    Attributes
    ----------
    accepted, refused : int
        Number of trajectories accepted, and refused, on the topic or as goals.
    refusal : str
        Reason of the last refusal.
    streams : StreamInput
        Streams of targets.

    """

    def __init__(self, node: LifecycleNode, controller: ArmController, states: StateInput,
                 values: ControllerSettings, now: Callable[[], float], wall: Callable[[], float],
                 unheard: Callable[[], str]):
        self._node, self._controller = node, controller
        self.now, self._wall, self._lockstep = now, wall, values.lockstep
        self._unheard = unheard
        self.accepted = self.refused = 0
        self.refusal = ''
        self._validator = TrajectoryValidator(controller, block_until_checked=values.lockstep)
        self._action: TrajectoryAction | None = None
        self._state: ControllerState | None = None
        if find_spec('control_msgs') is None:
            node.get_logger().info('control_msgs is not installed: trajectories by topic only, '
                                   'no action and no ~/controller_state')
        else:
            self._open_optional(states, values)
        self._subscription = node.create_subscription(
            JointTrajectory, '~/joint_trajectory', self._on_data, qos.reliable(_DEPTH), raw=True)
        self.streams = StreamInput(node, controller, now, wall, self._subscription.topic_name)
        # messages that wait: data, publisher and time of arrival; the first one may be read
        self._inbox: deque[tuple[bytes, bytes, float]] = deque()
        self._reading: Background | None = None
        self._dropped, self._replaced = 0, True
        self._second, self._answers = 0.0, 0  # of the answers that are logged one by one

    def _open_optional(self, states: StateInput, values: ControllerSettings) -> None:
        # they cannot be imported without control_msgs
        from robodyn_ros.nodes.trajectories.controller_state import ControllerState
        from robodyn_ros.nodes.trajectories.action import TrajectoryAction
        self._action = TrajectoryAction(self._node, self._controller, states, self,
                                        values.action_monitor_rate)
        if values.state_publish_rate:
            self._state = ControllerState(self._node, self._controller, states,
                                          values.state_publish_rate)

    def destroy(self) -> None:
        """Close topics and action."""
        self._validator.drop('the controller is cleaned up')
        self._node.destroy_subscription(self._subscription)
        for each in (self._action, self._state):
            if each is not None:
                each.destroy()

    def poll(self) -> None:
        """Publish results, feedback and state, and follow what was received; call it often."""
        if self._action is not None:
            self._action.poll()
        self._validator.update()
        self._take()
        self._follow()
        self._summarize()
        if self._state is not None:
            self._state.update()

    def _follow(self) -> None:
        """Follow the targets of a stream."""
        if self.streams.update() and not self._replaced:
            self._replaced = True
            self._validator.replace(_STREAM)

    @property
    def result_pending(self) -> bool:
        """Whether a result of the action has still to be sent."""
        return self._action is not None and self._action.result_pending

    def outcome(self, message: JointTrajectory) -> tuple[ResultCode, str] | None:
        """Return the result of a motion, see `TrajectoryValidator.outcome`."""
        return self._validator.outcome(message)

    def refuse(self, error: RobodynError) -> None:
        """Log and count a refused trajectory."""
        self.refused, self.refusal = self.refused + 1, str(error)
        if self._logs():
            self._node.get_logger().error(f'trajectory refused: {error}')

    def _logs(self) -> bool:
        """Return whether an answer is logged: in a flood a few each second are."""
        self._summarize()
        self._answers += 1
        return self._answers <= _LOGGED

    def _summarize(self) -> None:
        """Log once a second how many answers were not logged."""
        now = time.monotonic()
        if now < self._second + 1.0:
            return
        more, self._second, self._answers = self._answers - _LOGGED, now, 0
        if more > 0:
            self._node.get_logger().warning(
                f'{more} more trajectories answered in a second; {self.refused} refused so far, '
                f'the last one: {self.refusal or "none"}')

    def submit(self, message: JointTrajectory, source: str,
               answer: Callable[[Trajectory | None, RobodynError | None], None],
               tolerances: Tolerances | None = None) -> None:
        """Submit a trajectory; `answer` may be called later. Arguments as of `Request`."""
        stamp = seconds(message.header.stamp)
        now = self.now()
        time_origin = now + stamp - self._wall() if stamp else None

        def log(trajectory, error):
            if error is None:
                self.accepted += 1
                if self._logs():
                    self._node.get_logger().info(f'trajectory of {len(message.points)} points '
                                                 f'accepted, {trajectory.duration:.3f} s')
            else:
                self.refuse(error)
            answer(trajectory, error)

        if reason := self._unheard():
            log(None, StateError(reason))
            return
        self._validator.submit(Request(message, log, time_origin, now, tolerances, source))

    def _on_data(self, data: bytes, info: Any) -> None:
        """Take a serialized message."""
        age = time.time_ns() - (info.get('received_timestamp') or time.time_ns())
        self._inbox.append((data, publisher_of(info), time.monotonic() - 1e-9 * max(age, 0)))
        if len(self._inbox) > _DEPTH:
            del self._inbox[1]
            self._dropped += 1
            self._node.get_logger().warning(
                f'{self._dropped} messages on {self._subscription.topic_name} dropped so far: '
                'they arrive faster than they can be read', throttle_duration_sec=1.0)
        self._take()

    def _take(self) -> None:
        """Read what waits, in its order; a long message in a thread."""
        while self._inbox:
            data, source, arrival = self._inbox[0]
            if len(data) > _LARGE:
                self._reading = self._reading or Background(
                    'trajectory', deserialize_message, data, JointTrajectory)
                if not self._reading.done:
                    return
            reading, self._reading = self._reading, None
            self._inbox.popleft()
            message = reading.result() if reading else deserialize_message(data, JointTrajectory)
            # in lockstep time stands still meanwhile
            self._on_message(message, 0.0 if self._lockstep else time.monotonic() - arrival,
                             source)

    def _on_message(self, message: JointTrajectory, age: float, source: bytes) -> None:
        if self.streams.belongs(message):
            self._replaced &= self._controller.stream.active
            self.streams.take(message, age, source)
            self._follow()
            return
        self.submit(message, 'a trajectory on ~/joint_trajectory', lambda *_: None)
