"""
The doors through which trajectories come: a topic, and an action where control_msgs is installed.

Both mean what they mean for joint_trajectory_controller.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from rclpy.lifecycle import LifecycleNode
from trajectory_msgs.msg import JointTrajectory

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.conversions import seconds
from robodyn_ros.nodes.trajectories.acceptance import Acceptance, Request
from robodyn_ros.nodes.trajectories.background_subscription import BackgroundSubscription
from robodyn_ros.trajectory import ResultCode, Tolerances, Trajectory


class TrajectoryInterfaces:
    """
    Takes trajectories for the arm, and tells how they go on.

    Parameters
    ----------
    node : LifecycleNode
        The controller node.
    controller : ArmController
        Of the arm.
    states : StateInput
        Of its state.
    values : ControllerSettings
        Parameters of the node.
    now, wall : callable
        Time of the cycle, and of stamps.

    Attributes
    ----------
    refused : int
        Number of trajectories refused, on the topic or as goals.
    refusal : str
        Reason of the last refusal.

    """

    def __init__(self, node: LifecycleNode, controller: ArmController, states: StateInput,
                 values: ControllerSettings, now: Callable[[], float], wall: Callable[[], float]):
        self._node, self._controller = node, controller
        self.now, self._wall = now, wall
        self.refused, self.refusal = 0, ''
        self._acceptance = Acceptance(controller, block_until_checked=values.lockstep)
        self._action = self._state = None
        if find_spec('control_msgs') is None:
            node.get_logger().info('control_msgs is not installed: trajectories come by topic '
                                   'only, and ~/controller_state is silent')
        else:
            self._open_optional(states, values)
        self._subscription = BackgroundSubscription(
            node, JointTrajectory, '~/joint_trajectory', qos.reliable(2),
            self._action and self._action.server)

    def _open_optional(self, states: StateInput, values: ControllerSettings) -> None:
        # only here, because they cannot be imported without control_msgs
        from robodyn_ros.nodes.trajectories.controller_state import ControllerState
        from robodyn_ros.nodes.trajectories.action import TrajectoryAction
        self._action = TrajectoryAction(self._node, self._controller, states, self,
                                        values.action_monitor_rate)
        if values.state_publish_rate:
            self._state = ControllerState(self._node, self._controller, states,
                                          values.state_publish_rate)

    def close(self) -> None:
        """Take nothing any more."""
        self._subscription.close()

    def destroy(self) -> None:
        """Close them."""
        self._acceptance.drop('the controller is cleaned up')
        self._subscription.destroy()
        for door in (self._action, self._state):
            if door is not None:
                door.destroy()

    def look(self) -> None:
        """Pass on what has happened in the cycle; before anything else is asked of it."""
        if self._action is not None:
            self._action.look()
        self._acceptance.look()
        self._subscription.deliver(self._on_message)
        if self._state is not None:
            self._state.look()

    @property
    def called(self) -> bool:
        """Whether something has just come."""
        return self._subscription.called

    def turns(self) -> int:
        """Return how many turns of the executor are wanted now."""
        called, self._subscription.called = self._subscription.called, False
        # a goal that waits for the end of its motion takes every other turn
        in_work = self._action is not None and self._action.in_work
        return 3 * called + 2 * in_work

    @property
    def unheard(self) -> bool:
        """Whether the end of a motion has still to be passed on."""
        return self._action is not None and self._action.unheard

    def outcome(self, message: JointTrajectory) -> tuple[ResultCode, str] | None:
        """Return how the motion along an accepted trajectory ended, see `Acceptance.outcome`."""
        return self._acceptance.outcome(message)

    def refuse(self, error: RobodynError) -> None:
        """Log and count a trajectory that is refused."""
        self.refused, self.refusal = self.refused + 1, str(error)
        self._node.get_logger().error(f'trajectory refused: {error}')

    def submit(self, message: JointTrajectory, source: str,
               answer: Callable[[Trajectory | None, RobodynError | None], None],
               tolerances: Tolerances | None = None) -> None:
        """Ask for a trajectory to be followed; the answer may come later. As in `Request`."""
        stamp = seconds(message.header.stamp)
        now = self.now()
        zero = now + stamp - self._wall() if stamp else None

        def log(trajectory, error):
            if error is None:
                self._node.get_logger().info(f'trajectory of {len(message.points)} points '
                                             f'accepted, {trajectory.duration:.3f} s')
            else:
                self.refuse(error)
            answer(trajectory, error)

        self._acceptance.submit(Request(message, log, zero, now, tolerances, source))

    def _on_message(self, message: JointTrajectory) -> None:
        self.submit(message, 'a trajectory on ~/joint_trajectory', lambda *_: None)
