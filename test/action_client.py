"""A client of the action FollowJointTrajectory, and the trajectories that planners send."""

from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from controller_node import HOME, MODEL, NODE
import numpy as np
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

NAMES = list(MODEL.joint_names)
AWAY = HOME + (0.3, -0.2, 0.25, 0.3, -0.3, 0.2, 0.4)
FAR = HOME + 0.7
Result = FollowJointTrajectory.Result


class Client:
    """
    An action client, one goal at a time.

    Parameters
    ----------
    arm : Wire
        Its `until` waits for what takes simulated time.
    process : NodeProcess
        The controller.

    """

    def __init__(self, arm, process):
        self._arm, self._process = arm, process
        self._client = ActionClient(arm.probe.node, FollowJointTrajectory,
                                    f'{NODE}/follow_joint_trajectory')
        arm.probe.until(self._client.server_is_ready, 'the action')
        self.feedback = []

    def close(self):
        self._client.destroy()

    def send_goal(self, message, **constraints):
        """Send a goal; return its handle."""
        self.feedback.clear()
        goal = FollowJointTrajectory.Goal(trajectory=message, **constraints)
        answer = self._client.send_goal_async(
            goal, feedback_callback=lambda each: self.feedback.append(each.feedback))
        self._arm.probe.until(answer.done, 'an answer')
        return answer.result()

    def start(self, message, **constraints):
        """Send a goal that is accepted; return its handle and the result to come."""
        handle = self.send_goal(message, **constraints)
        assert handle.accepted, '\n'.join(self._process.lines[-5:])
        return handle, handle.get_result_async()

    def end(self, result):
        """Wait for a result; return its status, code and text."""
        self._arm.until(result.done, 'a result')
        wrapped = result.result()
        return wrapped.status, wrapped.result.error_code, wrapped.result.error_string


def path(start, goal, seconds, count=50, shift=0.0):
    """Return what MoveIt sends: the first point is where the arm is, at time 0 or `shift`."""
    points = []
    for s in np.linspace(0.0, 1.0, count):
        x = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        v = 30.0 * s**2 * (1.0 - s)**2 / seconds
        a = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / seconds**2
        way = goal - start
        t = round(1e9 * (shift + s * seconds))
        points.append(JointTrajectoryPoint(
            positions=(start + x * way).tolist(), velocities=(v * way).tolist(),
            accelerations=(a * way).tolist(),
            time_from_start=Duration(sec=t // 10**9, nanosec=t % 10**9)))
    return JointTrajectory(joint_names=NAMES, points=points)
