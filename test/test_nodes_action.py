"""The action FollowJointTrajectory of the controller, as MoveIt and other clients use it."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')
pytest.importorskip('control_msgs', reason='the action needs control_msgs')

from action_msgs.msg import GoalStatus  # noqa: E402
from builtin_interfaces.msg import Duration  # noqa: E402
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState  # noqa: E402
from controller_node import (  # noqa: E402
    ACTIVE, CONTROLLER, HOME, MODEL, NODE, PATIENT, said, send, simulator, trajectory,
    wait_for_goal, Wire)
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

NAMES = list(MODEL.joint_names)
AWAY = HOME + (0.3, -0.2, 0.25, 0.3, -0.3, 0.2, 0.4)
FAR = HOME + 0.7
Result = FollowJointTrajectory.Result


class Client:
    """An action client, one goal at a time."""

    def __init__(self, probe, process):
        self._probe, self._process = probe, process
        self._client = ActionClient(probe.node, FollowJointTrajectory,
                                    f'{NODE}/follow_joint_trajectory')
        probe.until(self._client.server_is_ready, 'the action')
        self.feedback = []

    def close(self):
        self._client.destroy()

    def ask(self, message, **constraints):
        """Send a goal; return its handle."""
        self.feedback.clear()
        goal = FollowJointTrajectory.Goal(trajectory=message, **constraints)
        answer = self._client.send_goal_async(
            goal, feedback_callback=lambda each: self.feedback.append(each.feedback))
        self._probe.until(answer.done, 'an answer')
        return answer.result()

    def start(self, message, **constraints):
        """Send a goal that is accepted; return its handle and the result to come."""
        handle = self.ask(message, **constraints)
        assert handle.accepted, '\n'.join(self._process.lines[-5:])
        return handle, handle.get_result_async()

    def end(self, result):
        """Wait for a result; return its status, code and text."""
        self._probe.until(result.done, 'a result')
        wrapped = result.result()
        return wrapped.status, wrapped.result.error_code, wrapped.result.error_string


@pytest.fixture(scope='module')
def probe():
    with Probe('action_probe') as made:
        yield made


@pytest.fixture(scope='module')
def robot():
    with simulator() as process:
        yield process


@pytest.fixture(scope='module')
def controller(robot):
    parameters = {**PATIENT, 'stale.hold': 0.9, 'stale.stop': 3.0, 'natural_frequency': [30.0],
                  'allow_partial_joints_goal': True}
    with NodeProcess(CONTROLLER, parameters) as process:
        process.wait_for_output(ACTIVE)
        yield process
        code, _ = process.stop()
        assert code == 0
        assert 'Traceback' not in process.output, process.output


@pytest.fixture(scope='module')
def arm(probe, controller):
    return Wire(probe)


@pytest.fixture(scope='module')
def client(probe, arm, controller):
    made = Client(probe, controller)
    yield made
    made.close()


@pytest.fixture
def home(probe, arm, client):
    """Bring the arm home."""
    probe.call(Trigger, f'{NODE}/reset_fault')
    assert probe.call(Trigger, f'{NODE}/stop').success
    rest(probe, arm)
    assert client.end(client.start(path(arm.q, HOME, 1.5))[1])[1] == Result.SUCCESSFUL
    rest(probe, arm)


def rest(probe, arm):
    """Wait until nothing moves."""
    probe.until(lambda: np.abs(arm.qd).max() < 5e-3, 'rest')
    arm.catch_up()


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


def moving(probe, arm, speed=0.3):
    """Wait until the arm moves."""
    probe.until(lambda: np.abs(arm.qd).max() > speed, 'motion')


def held_still(probe, arm):
    """Assert that the arm has come to rest, and stays."""
    rest(probe, arm)
    place = arm.q
    probe.spin_for(1.0)
    arm.catch_up()
    assert np.abs(arm.q - place).max() < 5e-3


def test_the_goal_of_a_planner_is_reached(probe, arm, client, home):
    begin, count = time.monotonic(), len(arm.states)
    handle, result = client.start(path(arm.q, AWAY, 1.5, count=100))
    probe.until(lambda: client.feedback, 'feedback')
    assert handle.status == GoalStatus.STATUS_EXECUTING
    status, code, text = client.end(result)
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL), text
    assert text == 'the goal is reached'
    assert 5 < len(client.feedback) < 22 * (time.monotonic() - begin) + 2
    rest(probe, arm)
    np.testing.assert_allclose(arm.q, AWAY, atol=0.06)
    assert len(arm.states) > count + 500
    first, last = client.feedback[0], client.feedback[-1]
    assert last.joint_names == NAMES
    for each in (first, last):
        np.testing.assert_allclose(
            np.array(each.desired.positions) - each.actual.positions, each.error.positions)
    assert len(last.desired.velocities) == len(last.desired.accelerations) == 7
    assert last.desired.time_from_start.sec == 1 or last.desired.time_from_start.nanosec > 1e9
    np.testing.assert_allclose(last.desired.positions, AWAY, atol=0.1)
    if hasattr(last, 'index'):
        assert 0 <= first.index < last.index <= 100


def bad(change):
    message = trajectory(NAMES, HOME)
    change(message)
    return message


@pytest.mark.parametrize('message, constraints, words', [
    (bad(lambda m: m.joint_names.__setitem__(2, 'elbow')), {}, "no joint 'elbow'"),
    (bad(lambda m: m.joint_names.__setitem__(2, 'joint1')), {}, "joint 'joint1' is named twice"),
    (bad(lambda m: m.points[0].positions.__setitem__(3, 9.0)), {},
     "point 0, joint 'joint4': position 9 is above the upper limit 2.2"),
    (bad(lambda m: setattr(m.header.stamp, 'sec', 1)), {}, 's in the past; send stamp 0'),
    (bad(lambda m: None), {'goal_tolerance': [JointTolerance(name='elbow', position=0.1)]},
     "goal_tolerance: the model has no joint 'elbow'"),
    (bad(lambda m: None), {'path_tolerance': [JointTolerance(name='joint2', position=-3.0)]},
     "joint 'joint2', position: -3 is not a tolerance")])
def test_a_bad_goal_is_rejected_with_a_name_in_the_log(
        arm, client, controller, message, constraints, words):
    place, since = arm.q, len(controller.lines)
    assert not client.ask(message, **constraints).accepted
    arm.probe.until(lambda: said(controller, words, since), words)
    arm.catch_up()
    np.testing.assert_allclose(arm.q, place, atol=2e-3)


def test_some_joints_move_and_the_others_stay(probe, arm, client, home):
    start = arm.q
    message = trajectory(['joint6', 'joint2'], (start[5] + 0.3, start[1] - 0.2))
    assert client.end(client.start(message)[1])[1] == Result.SUCCESSFUL
    rest(probe, arm)
    expected = start + (0.0, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0)
    np.testing.assert_allclose(arm.q, expected, atol=0.06)


def test_an_obstructed_arm_leaves_its_path(probe, arm, client, controller, home):
    tolerance = [JointTolerance(name=name, position=0.15) for name in NAMES]
    publisher = probe.publisher(WrenchStamped, 'robot_simulator/wrench')
    push = WrenchStamped()
    push.header.frame_id = MODEL.body_names[-1]
    push.wrench.force.y, push.wrench.force.z = 150.0, -150.0
    _, result = client.start(path(arm.q, FAR, 4.0), path_tolerance=tolerance)
    timer = probe.node.create_timer(0.02, lambda: publisher.publish(push))
    try:
        status, code, text = client.end(result)
    finally:
        probe.node.destroy_timer(timer)
        probe.node.destroy_publisher(publisher)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED), text
    assert "joint 'joint" in text and 'misses its reference by 0.1' in text
    held_still(probe, arm)
    assert np.abs(arm.q - FAR).max() > 0.1


@pytest.mark.parametrize('position, code', [
    (1e-7, Result.GOAL_TOLERANCE_VIOLATED), (0.2, Result.SUCCESSFUL), (-1.0, Result.SUCCESSFUL),
    (0.0, Result.SUCCESSFUL)])
def test_goal_tolerances(arm, client, home, position, code):
    # friction keeps a joint from where it should be by more than nothing
    tolerance = [JointTolerance(name=name, position=position, velocity=-1.0) for name in NAMES]
    status, found, text = client.end(client.start(
        path(arm.q, AWAY, 1.0), goal_tolerance=tolerance,
        goal_time_tolerance=Duration(nanosec=100_000_000))[1])
    assert found == code, text
    if code:
        assert status == GoalStatus.STATUS_ABORTED
        assert 'tolerance 1e-07' in text and 'goal_time 0.1 s' in text


def test_cancelled_in_motion_it_decelerates_and_holds(probe, arm, client, home):
    handle, result = client.start(path(arm.q, FAR, 2.0))
    moving(probe, arm)
    answer = handle.cancel_goal_async()
    probe.until(answer.done, 'the answer')
    assert len(answer.result().goals_canceling) == 1
    status, _, text = client.end(result)
    assert status == GoalStatus.STATUS_CANCELED, text
    # the reference has come to rest
    probe.spin_for(0.3)
    held_still(probe, arm)
    assert np.abs(arm.q - FAR).max() > 0.1


def test_a_newer_goal_takes_over(probe, arm, client, home):
    _, older = client.start(path(arm.q, FAR, 3.0))
    moving(probe, arm)
    _, newer = client.start(trajectory(NAMES, HOME, seconds=2.0))
    status, code, text = client.end(older)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert text == 'replaced by a newer goal'
    assert client.end(newer)[:2] == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
    rest(probe, arm)
    np.testing.assert_allclose(arm.q, HOME, atol=0.06)


def test_a_rejected_goal_leaves_the_older_alone(arm, client, home):
    _, older = client.start(path(arm.q, AWAY, 1.0))
    assert not client.ask(bad(lambda m: m.joint_names.__setitem__(2, 'elbow'))).accepted
    assert client.end(older)[1] == Result.SUCCESSFUL


def test_a_goal_whose_motion_a_topic_replaces_is_aborted(probe, arm, client, controller, home):
    _, result = client.start(path(arm.q, FAR, 3.0))
    moving(probe, arm)
    since = send(probe, controller, trajectory(NAMES, HOME, seconds=1.5))
    assert client.end(result) == (
        GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
        'replaced by a trajectory on ~/joint_trajectory')
    # the motion that took over is followed to its end
    wait_for_goal(probe, controller, since)
    rest(probe, arm)
    np.testing.assert_allclose(arm.q, HOME, atol=0.06)


def test_a_motion_that_somebody_else_stops_is_aborted(probe, arm, client, home):
    _, result = client.start(path(arm.q, FAR, 3.0))
    moving(probe, arm)
    assert probe.call(Trigger, f'{NODE}/hold').success
    assert client.end(result) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                                  'hold was asked for')
    held_still(probe, arm)


@pytest.mark.parametrize('in_motion', [False, True])
def test_a_long_trajectory_is_checked_beside_the_cycle(probe, arm, client, home, in_motion):
    if in_motion:
        client.start(path(arm.q, FAR, 3.0))
        moving(probe, arm)
    since = len(arm.commands)
    message = path(HOME, AWAY, 2.5, count=2000, shift=1.5)
    _, result = client.start(message)
    assert len(arm.commands) > since + 20, 'no torques while it was checked'
    status, _, text = client.end(result)
    assert status == GoalStatus.STATUS_SUCCEEDED, text
    rest(probe, arm)
    np.testing.assert_allclose(arm.q, AWAY, atol=0.06)


def test_a_long_trajectory_is_rejected_for_a_point_at_its_end(
        probe, arm, client, controller, home):
    message, since, place = path(arm.q, AWAY, 8.0, count=1000), len(controller.lines), arm.q
    message.points[-1].positions[3] = 9.0
    assert not client.ask(message).accepted
    probe.until(lambda: said(controller, "point 999, joint 'joint4': position 9 is above", since),
                'the reason')
    np.testing.assert_allclose(arm.q, place, atol=2e-3)


def test_the_state_of_the_controller(probe, arm, client, home):
    states = probe.listen(JointTrajectoryControllerState, f'{NODE}/controller_state',
                          qos.reliable(100))
    probe.until(lambda: states, 'a state')
    begin, count = time.monotonic(), len(states)
    probe.spin_for(1.0)
    assert len(states) - count < 60 * (time.monotonic() - begin)
    assert len(states) - count > 5
    last = states[-1]
    assert last.joint_names == NAMES
    np.testing.assert_allclose(last.feedback.positions, HOME, atol=0.06)
    np.testing.assert_allclose(np.array(last.reference.positions) - last.feedback.positions,
                               last.error.positions)
    np.testing.assert_allclose(last.output.effort, arm.torques[-1], atol=1.0)
    assert len(last.reference.accelerations) == len(last.error.velocities) == 7


def test_whoever_waits_when_the_controller_leaves_hears_of_it(probe, arm, client, controller,
                                                              home):
    _, result = client.start(path(arm.q, FAR, 3.0))
    moving(probe, arm)
    code, _ = controller.stop()
    assert code == 0
    assert client.end(result) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                                  'the controller leaves')
    held_still(probe, arm)
