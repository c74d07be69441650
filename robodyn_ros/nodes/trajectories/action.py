"""
Server of the action FollowJointTrajectory, compatible with joint_trajectory_controller.

The cycle moves the arm; `poll` publishes feedback and results. Everything runs in the main thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future

from robodyn_ros.control import ArmController
from robodyn_ros.exceptions import RobodynError, TrajectoryError
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.conversions import point, seconds
from robodyn_ros.nodes.trajectories.controller_state import deviation
from robodyn_ros.trajectory import JointTolerance, ResultCode, Tolerances


@dataclass(eq=False)
class _Goal:
    """Accepted goal."""

    handle: Any
    next_feedback: float
    result: Future = field(default_factory=Future)
    result_sent: bool = False

    async def wait(self, _handle):
        """Wait for the result and return it."""
        result = await self.result
        self.result_sent = True
        return result


class TrajectoryAction:
    """
    Action server of the arm.

    Parameters
    ----------
    node : LifecycleNode
        The controller node.
    controller : ArmController
        Controller of the arm.
    states : StateInput
        Joint states.
    interfaces : TrajectoryInterfaces
        Receiver of trajectories, with the time.
    rate : float
        Rate of feedback messages, in Hz.

    Attributes
    ----------
    goal : object or None
        Accepted goal without a result.

    """

    def __init__(self, node, controller: ArmController, states: StateInput, interfaces,
                 rate: float):
        self._node, self._controller, self._states = node, controller, states
        self._interfaces, self._period = interfaces, 1.0 / rate
        self.goal: _Goal | None = None
        self._last: _Goal | None = None
        self._feedback = FollowJointTrajectory.Feedback(
            joint_names=list(controller.model.joint_names))
        self._server = ActionServer(
            node, FollowJointTrajectory, '~/follow_joint_trajectory', _never,
            goal_callback=cast(Any, self._on_goal), handle_accepted_callback=self._on_accepted,
            # a goal that is being checked, or pursued, holds up no other request
            cancel_callback=self._on_cancel, callback_group=ReentrantCallbackGroup())

    def destroy(self) -> None:
        """Close the action."""
        if self.goal is not None:
            # without a result, which would be sent after the end of the server
            self.goal.handle.abort()
            self.goal = None
        self._server.destroy()

    @property
    def result_pending(self) -> bool:
        """Whether the result of the last goal has still to be sent."""
        return self._last is not None and not self._last.result_sent

    def poll(self) -> None:
        """Publish feedback or result of the goal."""
        if self.goal is None:
            return
        controller, now = self._controller, self._interfaces.now()
        if self.goal.handle.is_cancel_requested:
            if controller.status.at_rest or controller.status.following:  # another motion
                self._end_cancelled()
        elif outcome := self._interfaces.outcome(self.goal.handle.request.trajectory):
            self._end(*outcome)
        elif now >= self.goal.next_feedback:
            # counted from the last due time, or every delay of a poll would lower the rate
            self.goal.next_feedback = max(self.goal.next_feedback, now - self._period
                                          ) + self._period
            self._publish_feedback()

    # --- requests ---------------------------------------------------------------------------

    async def _on_goal(self, goal) -> GoalResponse:
        self.poll()  # a motion that has ended by itself is not replaced by this goal
        accepted: Future = Future()
        try:
            tolerances = self._tolerances(goal)
        except RobodynError as error:
            self._interfaces.refuse(error)
            return GoalResponse.REJECT
        self._interfaces.submit(goal.trajectory, 'a newer goal',
                                lambda _trajectory, error: accepted.set_result(error is None),
                                tolerances)
        return GoalResponse.ACCEPT if await accepted else GoalResponse.REJECT

    def _tolerances(self, goal) -> Tolerances:
        if goal.multi_dof_trajectory.points:
            raise TrajectoryError('the goal has a multi_dof_trajectory; the joints of this arm '
                                  'have one degree of freedom each', code=ResultCode.INVALID_GOAL)
        return self._controller.design.tolerances.override(
            self._controller.model.joint_names, _joint_tolerances(goal.path_tolerance),
            _joint_tolerances(goal.goal_tolerance), seconds(goal.goal_time_tolerance))

    def _on_accepted(self, handle) -> None:
        """Set the goal whose motion has started."""
        self.poll()  # the previous goal is replaced
        if self.goal is not None:  # cancelled, and not yet at rest
            self._end_cancelled()
        self.goal = self._last = _Goal(handle, self._interfaces.now())
        handle.execute(self.goal.wait)

    def _on_cancel(self, handle) -> CancelResponse:
        self.poll()  # its motion may have been replaced meanwhile
        if self.goal is None or self.goal.handle != handle:
            return CancelResponse.REJECT
        self._controller.requests.rest('the goal is cancelled')
        return CancelResponse.ACCEPT

    # --- results ----------------------------------------------------------------------------

    def _end(self, code: ResultCode, text: str) -> None:
        """Set the result of the goal."""
        assert self.goal is not None
        if code is ResultCode.SUCCESSFUL:
            self.goal.handle.succeed()
        else:
            self.goal.handle.abort()
        self._finish(code, text)

    def _end_cancelled(self) -> None:
        assert self.goal is not None
        self.goal.handle.canceled()
        self._finish(ResultCode.SUCCESSFUL, 'cancelled')

    def _finish(self, code: ResultCode, text: str) -> None:
        assert self.goal is not None
        result = FollowJointTrajectory.Result(error_code=int(code), error_string=text)
        self.goal.result.set_result(result)
        self.goal = None

    def _publish_feedback(self) -> None:
        controller, states, message = self._controller, self._states, self._feedback
        assert self.goal is not None
        trajectory, elapsed = controller.status.trajectory
        if trajectory is None:  # not yet started
            return
        reference, time = controller.reference, min(elapsed, trajectory.duration)
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.desired = point(reference.q, reference.qd, reference.qdd, time=time)
        message.actual = point(states.q, states.qd, time=elapsed)
        message.error = point(*deviation(controller.model, reference, states), time=elapsed)
        if hasattr(message, 'index'):  # not in every release
            ahead = sum(each > elapsed for each in trajectory.times)
            message.index = max(len(self.goal.handle.request.trajectory.points) - ahead, 0)
        self.goal.handle.publish_feedback(message)


def _joint_tolerances(messages) -> list[JointTolerance]:
    return [JointTolerance(each.name, each.position, each.velocity) for each in messages]


def _never(_handle):
    raise AssertionError('goals are executed by `_on_accepted`')
