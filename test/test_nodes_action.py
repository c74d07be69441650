"""
The action FollowJointTrajectory of the controller, as MoveIt and other clients use it.

In lockstep: time stands still but for `Arm.until` and `Arm.advance`, so that no result depends on
how busy the machine is. What depends on real time is in `test_nodes_action_live.py`.
"""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')
pytest.importorskip('control_msgs', reason='the action needs control_msgs')

from action_client import AWAY, Client, FAR, NAMES, path, Result  # noqa: E402
from action_msgs.msg import GoalStatus  # noqa: E402
from builtin_interfaces.msg import Duration  # noqa: E402
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState  # noqa: E402
from controller_node import (  # noqa: E402
    ACTIVE, CONTROLLER, HOME, logged, MODEL, NODE, PATIENT, send, simulator, trajectory, Wire)
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.conversions import seconds  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

PERIOD = 4e-3  # s from one state to the next
STATES = 20    # that one call of ~/step advances
PATIENCE = 15.0  # simulated s


class Arm(Wire):
    """
    The simulated arm, and its time.

    Attributes
    ----------
    time : float
        Stamp of the newest state, s.

    """

    def __init__(self, probe):
        super().__init__(probe)
        self._step = probe.node.create_client(Trigger, 'robot_simulator/step')
        probe.until(self._step.service_is_ready, 'the service robot_simulator/step')

    @property
    def time(self):
        return seconds(self.states[-1].header.stamp)

    def advance(self, duration):
        """Let time go on."""
        end = self.time + duration - 0.5 * PERIOD
        while (now := self.time) < end:
            answer = self._step.call_async(Trigger.Request())
            self.probe.until(answer.done, 'a step')
            assert answer.result().success, answer.result().message
            self.probe.until(lambda: self.time > now + (STATES - 0.5) * PERIOD, 'the next states')

    def until(self, condition, what):
        """Let time go on until a condition holds."""
        end = self.time + PATIENCE
        while not condition():
            assert self.time < end, f'{what}: not within {PATIENCE:g} simulated seconds'
            self.advance(STATES * PERIOD)


@pytest.fixture(scope='module')
def probe():
    with Probe('action_probe') as made:
        yield made


@pytest.fixture(scope='module')
def robot():
    with simulator(lockstep=True, start_paused=True, publish_rate=1.0 / PERIOD,
                   steps_per_call=STATES) as process:
        yield process


@pytest.fixture(scope='module')
def controller(robot):
    parameters = {**PATIENT, 'lockstep': True, 'natural_frequency': [30.0],
                  'allow_partial_joints_goal': True}
    with NodeProcess(CONTROLLER, parameters) as process:
        process.wait_for_output(ACTIVE)
        yield process
        code, _ = process.stop()
        assert code == 0
        assert 'Traceback' not in process.output, process.output


@pytest.fixture(scope='module')
def arm(probe, controller):
    made = Arm(probe)
    made.advance(2.0)  # there is a past for stamps to lie in
    return made


@pytest.fixture(scope='module')
def client(arm, controller):
    made = Client(arm, controller)
    yield made
    made.close()


@pytest.fixture
def home(probe, arm, client):
    """Bring the arm home."""
    probe.call(Trigger, f'{NODE}/reset_fault')
    assert probe.call(Trigger, f'{NODE}/stop').success
    arm.rest()
    assert client.end(client.start(path(arm.q, HOME, 2.5))[1])[1] == Result.SUCCESSFUL
    arm.rest()


def held_still(arm):
    """Assert that the arm has come to rest, and stays."""
    arm.rest()
    place = arm.q
    arm.advance(1.0)
    assert np.abs(arm.q - place).max() < 5e-3


def test_the_goal_of_a_planner_is_reached(probe, arm, client, home):
    begin, count = arm.time, len(arm.states)
    handle, result = client.start(path(arm.q, AWAY, 1.5, count=100))
    arm.until(lambda: client.feedback, 'feedback')
    assert handle.status == GoalStatus.STATUS_EXECUTING
    status, code, text = client.end(result)
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL), text
    assert text == 'the goal is reached'
    assert 5 < len(client.feedback) < 20 * (arm.time - begin) + 2
    # one state per period; those that were published again count once
    stamps = {seconds(state.header.stamp) for state in arm.states[count:]} - {begin}
    assert len(stamps) == round((arm.time - begin) / PERIOD)
    arm.rest()
    np.testing.assert_allclose(arm.q, AWAY, atol=0.06)
    first, last = client.feedback[0], client.feedback[-1]
    assert last.joint_names == NAMES
    for each in (first, last):
        np.testing.assert_allclose(
            np.array(each.desired.positions) - each.actual.positions, each.error.positions)
    assert len(last.desired.velocities) == len(last.desired.accelerations) == 7
    assert last.desired.time_from_start.sec == 1
    np.testing.assert_allclose(last.desired.positions, AWAY, atol=0.1)
    if hasattr(last, 'index'):
        assert 0 <= first.index < last.index <= 100


def test_feedback_and_tolerances_count_in_path_time(probe, arm, client, home):
    """A pause of two seconds and half of the speed are no violation of a goal time of 0.2 s."""
    scaling = probe.publisher(Float64, f'{NODE}/speed_scaling', qos.latched())
    result = client.start(
        path(HOME, AWAY, 1.5, count=100), goal_time_tolerance=Duration(nanosec=200_000_000),
        goal_tolerance=[JointTolerance(name='joint2', position=0.1)])[1]
    arm.moving()
    assert probe.call(Trigger, f'{NODE}/pause').success
    arm.rest()
    arm.advance(1.0)
    client.feedback.clear()
    arm.advance(1.0)
    paused, *others = {seconds(each.desired.time_from_start) for each in client.feedback}
    assert not others and 0.1 < paused < 1.4
    begin = arm.time
    scaling.publish(Float64(data=0.5))
    assert probe.call(Trigger, f'{NODE}/resume').success
    status, code, text = client.end(result)
    lasted = arm.time - begin
    scaling.publish(Float64(data=1.0))
    assert (status, code) == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL), text
    times = np.array([seconds(each.desired.time_from_start) for each in client.feedback])
    s = times / 1.5
    expected = HOME + np.outer(s**3 * (10.0 - 15.0 * s + 6.0 * s**2), AWAY - HOME)
    np.testing.assert_allclose([each.desired.positions for each in client.feedback], expected,
                               atol=1e-4)
    assert (np.diff(times) >= 0.0).all()
    assert 2.0 * (1.5 - paused) - 0.1 < lasted < 2.0 * (1.5 - paused) + 1.0


def bad(change):
    message = trajectory(NAMES, HOME)
    change(message)
    return message


@pytest.mark.parametrize('message, constraints, words', [
    (bad(lambda m: m.joint_names.__setitem__(2, 'elbow')), {}, "no joint 'elbow'"),
    (bad(lambda m: m.joint_names.__setitem__(2, 'joint1')), {}, "joint 'joint1' is named twice"),
    (bad(lambda m: m.points[0].positions.__setitem__(3, 9.0)), {},
     "point 0, joint 'joint4': position 9 is above the upper limit 2.2"),
    (bad(lambda m: setattr(m.header.stamp, 'nanosec', 1)), {}, 's in the past; send stamp 0'),
    (bad(lambda m: None), {'goal_tolerance': [JointTolerance(name='elbow', position=0.1)]},
     "goal_tolerance: the model has no joint 'elbow'"),
    (bad(lambda m: None), {'path_tolerance': [JointTolerance(name='joint2', position=-3.0)]},
     "joint 'joint2', position: -3 is not a tolerance")])
def test_a_bad_goal_is_rejected_with_a_name_in_the_log(
        arm, client, controller, message, constraints, words):
    place, since = arm.q, len(controller.lines)
    assert not client.send_goal(message, **constraints).accepted
    arm.probe.until(lambda: logged(controller, words, since), words)
    arm.advance(0.1)
    np.testing.assert_allclose(arm.q, place, atol=2e-3)


def test_some_joints_move_and_the_others_stay(probe, arm, client, home):
    start = arm.q
    message = trajectory(['joint6', 'joint2'], (start[5] + 0.3, start[1] - 0.2))
    assert client.end(client.start(message)[1])[1] == Result.SUCCESSFUL
    arm.rest()
    expected = start + (0.0, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0)
    np.testing.assert_allclose(arm.q, expected, atol=0.06)


def test_an_obstructed_arm_violates_its_path_tolerance(probe, arm, client, controller, home):
    tolerance = [JointTolerance(name=name, position=0.05) for name in NAMES]
    publisher = probe.publisher(WrenchStamped, 'robot_simulator/wrench')
    message = WrenchStamped()
    message.header.frame_id = MODEL.body_names[-1]
    force = message.wrench.force

    def push():
        """Push a little harder: a sudden force would exceed the speed limit first."""
        force.y, force.z = min(force.y + 2.0, 100.0), max(force.z - 2.0, -100.0)
        publisher.publish(message)

    _, result = client.start(path(arm.q, FAR, 4.0), path_tolerance=tolerance)
    timer = probe.node.create_timer(0.02, push)
    try:
        status, code, text = client.end(result)
    finally:
        probe.node.destroy_timer(timer)
        probe.node.destroy_publisher(publisher)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.PATH_TOLERANCE_VIOLATED), text
    assert "joint 'joint" in text and 'misses its reference by 0.05' in text
    arm.advance(1.0)  # the last force acts for half of it, and may have held the arm still
    held_still(arm)
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
    arm.moving()
    answer = handle.cancel_goal_async()
    probe.until(answer.done, 'the answer')
    assert len(answer.result().goals_canceling) == 1
    status, _, text = client.end(result)
    assert status == GoalStatus.STATUS_CANCELED, text
    held_still(arm)
    assert np.abs(arm.q - FAR).max() > 0.1


def test_a_newer_goal_takes_over(probe, arm, client, home):
    _, older = client.start(path(arm.q, FAR, 3.0))
    arm.moving()
    _, newer = client.start(trajectory(NAMES, HOME, seconds=2.0))
    status, code, text = client.end(older)
    assert (status, code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert text == 'replaced by a newer goal'
    assert client.end(newer)[:2] == (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
    arm.rest()
    np.testing.assert_allclose(arm.q, HOME, atol=0.06)


def test_a_rejected_goal_does_not_affect_the_older_one(arm, client, home):
    _, older = client.start(path(arm.q, AWAY, 1.0))
    assert not client.send_goal(bad(lambda m: m.joint_names.__setitem__(2, 'elbow'))).accepted
    assert client.end(older)[1] == Result.SUCCESSFUL


def test_a_goal_whose_motion_a_topic_replaces_is_aborted(probe, arm, client, controller, home):
    _, result = client.start(path(arm.q, FAR, 3.0))
    arm.moving()
    since = send(probe, controller, trajectory(NAMES, HOME, seconds=1.5))
    assert client.end(result) == (
        GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
        'replaced by a trajectory on ~/joint_trajectory')
    # the motion that took over is followed to its end
    arm.until(lambda: logged(controller, 'the goal is reached', since), 'the goal')
    arm.rest()
    np.testing.assert_allclose(arm.q, HOME, atol=0.06)


def test_a_motion_that_another_client_stops_is_aborted(probe, arm, client, home):
    _, result = client.start(path(arm.q, FAR, 3.0))
    arm.moving()
    assert probe.call(Trigger, f'{NODE}/hold').success
    assert client.end(result) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL,
                                  'hold was requested')
    held_still(arm)


def test_the_state_of_the_controller(probe, arm, client, home):
    states = probe.subscribe(JointTrajectoryControllerState, f'{NODE}/controller_state',
                             qos.reliable(100))
    probe.until(lambda: states, 'a state')
    commands = probe.subscribe(JointState, 'joint_commands')
    arm.advance(0.1)  # from here on nothing changes
    probe.until(lambda: commands, 'a command')
    begin, count = time.monotonic(), len(states)
    probe.spin_for(1.0)
    assert len(states) - count < 60 * (time.monotonic() - begin)
    assert len(states) - count > 5
    last = states[-1]
    assert last.joint_names == NAMES
    np.testing.assert_allclose(last.feedback.positions, HOME, atol=0.06)
    np.testing.assert_allclose(np.array(last.reference.positions) - last.feedback.positions,
                               last.error.positions)
    np.testing.assert_allclose(last.output.effort, commands[-1].effort)
    assert len(last.reference.accelerations) == len(last.error.velocities) == 7
