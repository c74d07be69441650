"""
Interfaces for trajectories: a topic, and an action if control_msgs is installed.

Both are compatible with joint_trajectory_controller.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
import math
import time
from typing import TYPE_CHECKING

from rclpy.lifecycle import LifecycleNode
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.conversions import seconds
from robodyn_ros.nodes.trajectories.background_subscription import BackgroundSubscription
from robodyn_ros.nodes.trajectories.stream_input import StreamInput
from robodyn_ros.nodes.trajectories.validator import Request, TrajectoryValidator
from robodyn_ros.trajectory import ResultCode, Tolerances, Trajectory

if TYPE_CHECKING:
    from robodyn_ros.nodes.trajectories.action import TrajectoryAction
    from robodyn_ros.nodes.trajectories.controller_state import ControllerState

_DEPTH = 8   # messages that wait in the middleware, and that are processed between two cycles
_SOON = 0.005  # s between polls while a trajectory is checked or a stream is followed
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
        self._subscription = BackgroundSubscription(
            node, JointTrajectory, '~/joint_trajectory', qos.reliable(_DEPTH),
            self._action and self._action.server)
        self.streams = StreamInput(node, controller, now, wall, self._subscription.topic)
        self._streamed, self._replaced = False, True

    def _open_optional(self, states: StateInput, values: ControllerSettings) -> None:
        # they cannot be imported without control_msgs
        from robodyn_ros.nodes.trajectories.controller_state import ControllerState
        from robodyn_ros.nodes.trajectories.action import TrajectoryAction
        self._action = TrajectoryAction(self._node, self._controller, states, self,
                                        values.action_monitor_rate)
        if values.state_publish_rate:
            self._state = ControllerState(self._node, self._controller, states,
                                          values.state_publish_rate)

    def close(self) -> None:
        """Stop receiving."""
        self._subscription.close()

    def destroy(self) -> None:
        """Close topics and action."""
        self._validator.drop('the controller is cleaned up')
        self._subscription.destroy()
        for each in (self._action, self._state):
            if each is not None:
                each.destroy()

    def poll(self) -> None:
        """Publish results and feedback, then take a trajectory; to be called after the cycle."""
        if self._action is not None:
            self._action.poll()
        self._validator.update()
        for _ in range(_DEPTH):  # targets of a stream take little time
            self._streamed = False
            self._subscription.deliver(self._on_message)
            if not self._streamed:
                break
        if self.streams.update() and not self._replaced:
            self._replaced = True
            self._validator.replace(_STREAM)
        if self._state is not None:
            self._state.update()

    @property
    def has_request(self) -> bool:
        """Whether a request has arrived since the last `pending_callbacks`."""
        return self._subscription.has_request

    @property
    def patience(self) -> float:
        """Return the longest time until the next poll, in s."""
        if self.has_request:
            return 0.0
        soon = _SOON if self._validator.checking or self._controller.stream.active else math.inf
        return min(soon, max(self.due - time.monotonic(), 0.0))

    @property
    def due(self) -> float:
        """Return the time of the next message of the state on the steady clock, in s."""
        return self._state.due if self._state is not None else math.inf

    def pending_callbacks(self) -> int:
        """Return the number of executor calls that are needed now."""
        arrived, self._subscription.has_request = self._subscription.has_request, False
        # a goal that waits for the end of its motion takes every other call
        busy = self._action is not None and self._action.busy
        return 3 * arrived + 2 * busy

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
        self._node.get_logger().error(f'trajectory refused: {error}')

    def submit(self, message: JointTrajectory, source: str,
               answer: Callable[[Trajectory | None, RobodynError | None], None],
               tolerances: Tolerances | None = None) -> None:
        """Submit a trajectory; `answer` may be called later. Arguments as of `Request`."""
        stamp = seconds(message.header.stamp)
        now = self.now()
        zero = now + stamp - self._wall() if stamp else None

        def log(trajectory, error):
            if error is None:
                self.accepted += 1
                self._node.get_logger().info(f'trajectory of {len(message.points)} points '
                                             f'accepted, {trajectory.duration:.3f} s')
            else:
                self.refuse(error)
            answer(trajectory, error)

        if reason := self._unheard():
            log(None, StateError(reason))
            return
        self._validator.submit(Request(message, log, zero, now, tolerances, source))

    def _on_message(self, message: JointTrajectory) -> None:
        if self.streams.belongs(message):
            self._replaced &= self._controller.stream.active
            # in lockstep time stands still meanwhile
            self.streams.take(message, 0.0 if self._lockstep else self._subscription.age,
                              self._subscription.source)
            self._streamed = True
            return
        self.submit(message, 'a trajectory on ~/joint_trajectory', lambda *_: None)
