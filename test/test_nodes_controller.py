"""The controller node together with the simulator: hold, motion, float, stop and reports."""

import math
import re
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, CONTROLLER, HOME, logged, MODEL, NODE, PATIENT, RELEASED, send, set_in_motion,
    simulator, trajectory, wait_for_goal, Wire)
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from expected_loop import LOOP  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Header  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

# rad at which friction can hold the lightest joint against its feedback
STICKING = 0.06
GRAVITY_TORQUE = Dynamics(MODEL).gravity


@pytest.fixture(scope='module')
def robot():
    with simulator() as process:
        yield process
        assert 'Traceback' not in process.output


@pytest.fixture(scope='module')
def controller(robot):
    """Return a controller that runs through all tests; the robot comes by topic."""
    with NodeProcess(CONTROLLER, PATIENT) as process:
        process.wait_for_output(ACTIVE)
        robot.wait_for_output(RELEASED)
        yield process
        code, _ = process.stop()
        assert code == 0
        assert 'Traceback' not in process.output


@pytest.fixture(scope='module')
def arm(probe, robot, controller):
    return Wire(probe, robot)


@pytest.fixture
def follow(probe, arm, controller):
    """Return what sends a trajectory to the arm, which is at rest."""
    assert probe.call(Trigger, f'{NODE}/stop').success
    probe.until(lambda: np.abs(arm.qd).max() < 1e-2, 'rest')
    return lambda *goals, seconds=1.0, **more: send(
        probe, controller, trajectory(MODEL.joint_names, *goals, seconds=seconds), **more)


def test_it_takes_the_robot_from_the_topic_becomes_active_and_holds(probe, arm, controller):
    assert logged(controller, 'robodyn7: 7 joints') == 1
    start = arm.q
    np.testing.assert_allclose(start, HOME, atol=5e-3)
    count = len(arm.commands)
    probe.until(lambda: len(arm.commands) > count + 125, 'torques')
    np.testing.assert_allclose(arm.q, start, atol=1e-3)
    np.testing.assert_allclose(arm.torques[-1], GRAVITY_TORQUE(arm.q), atol=0.05)
    changes = np.abs(np.diff(arm.torques, axis=0)).max()
    assert changes < 0.5, 'the torque of an arm at rest jumps'


def test_a_trajectory_is_followed_to_its_goal(probe, arm, controller, follow):
    goal = HOME + (0.3, -0.2, 0.25, 0.3, -0.3, 0.2, 0.4)
    # joints are named in another order than the model's
    since = send(probe, controller, trajectory(MODEL.joint_names[::-1], goal[::-1]))
    wait_for_goal(probe, controller, since)
    assert logged(controller, 'trajectory of 1 points accepted, 1.000 s', since) == 1
    probe.until(lambda: np.abs(arm.q - goal).max() < STICKING, 'the arm at the goal')
    since = follow(0.5 * (goal + HOME), HOME)
    wait_for_goal(probe, controller, since)
    probe.until(lambda: np.abs(arm.q - HOME).max() < STICKING, 'the arm at home')


def bad(change):
    message = trajectory(MODEL.joint_names, HOME)
    change(message)
    return message


@pytest.mark.parametrize('message, words', [
    (bad(lambda m: m.points[0].positions.__setitem__(3, 9.0)),
     "point 0, joint 'joint4': position 9 is above the upper limit 2.2"),
    (bad(lambda m: m.points[0].positions.__setitem__(5, math.nan)), "joint 'joint6': position is"),
    (bad(lambda m: m.joint_names.__setitem__(2, 'elbow')), "no joint 'elbow'"),
    (bad(lambda m: m.points[0].positions.pop()), '6 positions for 7 joints'),
    (trajectory(MODEL.joint_names[:6], HOME[:6]), "joint 'joint7' is missing"),
    (trajectory(MODEL.joint_names, HOME + 1.0, seconds=0.1), 'above its velocity limit'),
    (JointTrajectory(joint_names=list(MODEL.joint_names)), 'no points'),
    (bad(lambda m: setattr(m.header.stamp, 'sec', 1)), 's in the past; send stamp 0')])
def test_a_bad_trajectory_is_refused_with_names_and_numbers(probe, arm, controller, follow,
                                                            message, words):
    start = arm.q
    send(probe, controller, message, words=words)
    arm.catch_up()
    np.testing.assert_allclose(arm.q, start, atol=1e-3)


def test_float_and_hold(probe, arm, controller, follow):
    start = arm.q
    answer = probe.call(Trigger, f'{NODE}/float')
    assert answer.success and answer.message == 'gravity_compensation'
    probe.until(lambda: np.abs(arm.torques[-1] - GRAVITY_TORQUE(arm.q)).max() < 0.02, 'float')
    answer = probe.call(Trigger, f'{NODE}/hold')
    assert answer.success and answer.message == 'stopping'
    np.testing.assert_allclose(arm.q, start, atol=5e-3)


def test_stop_in_motion(probe, arm, controller, follow):
    goal = HOME + 0.9
    far = trajectory(MODEL.joint_names, goal, seconds=2.0)
    set_in_motion(probe, controller, arm, far, 0.5)
    assert probe.call(Trigger, f'{NODE}/stop').message == 'stopping'
    probe.until(lambda: np.abs(arm.qd).max() < 5e-3, 'rest')
    assert np.abs(arm.q - goal).max() > 0.05
    since = follow(HOME, seconds=2.0)
    wait_for_goal(probe, controller, since)


def test_gains_change_live_or_the_reason_is_reported(probe, arm, controller, follow):
    start = arm.q
    assert probe.set_parameter(NODE, 'natural_frequency', [30.0]) == (True, '')
    assert probe.set_parameter(NODE, 'natural_frequency', [20.0] * 7) == (True, '')
    for name, value, words in (
            ('natural_frequency', [1.0, 2.0], '2 values.*7 joints'),
            ('natural_frequency', [-5.0], '-5.0.*least'), ('kp', [math.nan], 'finite'),
            ('mode', 'float', 'choose one of'), ('tip', 'tool0', 'read-only'),
            ('natural_frequency', 'stiff', 'number')):
        accepted, reason = probe.set_parameter(NODE, name, value)
        assert not accepted
        assert re.search(words, reason), reason
    arm.catch_up()
    np.testing.assert_allclose(arm.q, start, atol=0.02)


def test_telemetry_of_the_torque(probe, arm, controller, follow):
    terms = {term: probe.subscribe(JointState, f'{NODE}/torque_terms/{term}', qos.newest())
             for term in ('gravity', 'feedback', 'total')}
    reference = probe.subscribe(JointState, f'{NODE}/reference', qos.newest())
    heartbeat = probe.subscribe(Header, f'{NODE}/heartbeat', qos.newest())
    diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')

    def report():
        found = [status for message in diagnostics for status in message.status
                 if 'controller' in status.name]
        return found and found[-1]

    probe.until(lambda: all(terms.values()) and reference and heartbeat and report()
                and report().message == 'hold', 'all topics')
    gravity_torque = GRAVITY_TORQUE(arm.q)
    np.testing.assert_allclose(terms['gravity'][-1].effort, gravity_torque, atol=0.05)
    np.testing.assert_allclose(reference[-1].effort, arm.torques[-1], atol=0.05)
    np.testing.assert_allclose(reference[-1].position, arm.q, atol=STICKING)
    values = {pair.key: pair.value for pair in report().values}
    assert values['mode'] == 'hold' and values['fault'] == ''
    assert values['loop'].startswith(LOOP)
    if LOOP == 'native':
        wrong = 'torques withheld', 'errors of the middleware', 'cycles not reported'
        assert [values[key] for key in wrong] == ['0'] * 3
    assert float(values['state rate (Hz)']) > 10.0, 'it depends on the machine'
    before = int(values['cycles'])
    probe.until(lambda: int({pair.key: pair.value for pair in report().values}['cycles'])
                > before + 100, 'cycles')


def test_the_silence_of_a_frozen_simulator_is_a_fault_until_it_is_reset(
        probe, arm, robot, controller, follow):
    far = trajectory(MODEL.joint_names, HOME + 0.9, seconds=2.0)
    set_in_motion(probe, controller, arm, far, 0.4)
    since = len(controller.lines)
    robot.process.send_signal(signal.SIGSTOP)
    try:
        probe.until(lambda: logged(controller, 'fault: joint states: no good data', since),
                    'a fault')
        refused = probe.call(Trigger, f'{NODE}/reset_fault')
        assert not refused.success and 'the cause is still there' in refused.message
        count = len(arm.commands)
        # what remains is the gravity torque where the model has come to rest, not at its goal
        probe.until(lambda: len(arm.commands) > count + 20
                    and np.ptp(arm.torques[-20:], axis=0).max() < 0.1, 'one torque in the silence')
        assert np.isfinite(arm.torques).all()
    finally:
        robot.process.send_signal(signal.SIGCONT)
    follow(HOME, seconds=2.0, words='trajectory refused: a fault is latched')
    probe.until(lambda: probe.call(Trigger, f'{NODE}/reset_fault').success, 'the reset')
    controller.wait_for_output('fault cleared: joint states: no good data', since)
    since = follow(HOME, seconds=2.5)
    wait_for_goal(probe, controller, since)
