"""The controller node and joint states of all kinds: by name, invalid, late, or missing."""

from contextlib import ExitStack
import math
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, COMMANDS, logged, NODE, PATIENT, send, trajectory, wait_for_goal)
from fake_arm import fake_controller, FakeArm, GRAVITY, MODEL, START  # noqa: E402
from robodyn_ros.nodes.conversions import set_stamp  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Header  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402


@pytest.fixture(scope='module')
def faulty(probe):
    """Return an arm and its controller; its joints come in another order, and in company."""
    with ExitStack() as stack:
        arm = stack.enter_context(FakeArm(probe, 'fake/', order=(1, 0)))
        arm.report = shuffled
        process = stack.enter_context(
            fake_controller('fake', command_joints=['elbow', 'shoulder'], **PATIENT))
        probe.until(lambda: ACTIVE in process.output, 'activity')
        yield arm, process
        assert 'Traceback' not in process.output


def header_now():
    """Return a header with the present time."""
    header = Header()
    set_stamp(header.stamp, time.time_ns())
    return header


def shuffled(message):
    """Return two messages in place of one, with joints of others among them and after them."""
    stamp, (q1, q2), (v1, v2) = message.header, message.position, message.velocity
    return [JointState(header=stamp, name=['gripper', 'elbow', 'wheel', 'shoulder'],
                       position=[math.nan, q2, 7.0, q1], velocity=[math.nan, v2, 7.0, v1],
                       effort=[]),
            JointState(header=stamp, name=['gripper', 'wheel'], position=[], velocity=[])]


def settled(probe, arm, process):
    """Wait until the arm is at rest, without a fault."""
    arm.report = shuffled
    probe.until(lambda: probe.call(Trigger, f'fake/{NODE}/reset_fault').success, 'no fault')
    probe.until(lambda: np.abs(arm.plant.qd).max() < 1e-2, 'rest')
    probe.spin_for(0.1)
    return len(process.lines)


def test_joints_are_mapped_by_name(probe, faulty):
    arm, process = faulty
    probe.until(lambda: len(arm.commands) > 50, 'torques')
    np.testing.assert_allclose(arm.q, START, atol=0.01)
    np.testing.assert_allclose(arm.commands[0], GRAVITY(START), rtol=1e-6)
    since = send(probe, process, trajectory(['elbow', 'shoulder'], [0.4, START[0]]), 'fake/')
    wait_for_goal(probe, process, since)
    probe.until(lambda: np.abs(arm.q - [START[0], 0.4]).max() < 0.02, 'the elbow at its goal')


@pytest.mark.parametrize('words', ["joint 'elbow' reports position nan, velocity ", 'silent'])
def test_states_that_are_no_use_are_silence_and_end_in_a_fault(probe, faulty, words):
    arm, process = faulty
    since = settled(probe, arm, process)
    held = arm.q

    def apply(message):
        message.position[1] = math.nan
        return shuffled(message)[:1]

    arm.report = None if words == 'silent' else apply
    probe.until(lambda: logged(process, 'fault: joint states: no good data', since), 'a fault')
    assert logged(process, words, since), process.lines[since:]
    count = len(arm.commands)
    probe.until(lambda: len(arm.commands) > count + 20, 'torques all the same')
    assert np.isfinite(arm.torques).all()
    np.testing.assert_allclose(arm.torques[-1], GRAVITY(held), atol=0.3)
    assert np.abs(arm.q - held).max() < 0.05
    settled(probe, arm, process)
    assert probe.call(Trigger, f'fake/{NODE}/hold').success


def test_a_controller_that_was_frozen_itself_does_not_pull(probe, faulty):
    arm, process = faulty
    since = settled(probe, arm, process)
    start = arm.q
    # far from wherever the test before has left it
    goal = start + np.where(start > 0.0, -1.0, 1.0)
    send(probe, process, trajectory(['shoulder', 'elbow'], goal, seconds=2.0), 'fake/')
    probe.until(lambda: np.abs(arm.plant.qd).max() > 0.6, 'motion')
    process.process.send_signal(signal.SIGSTOP)
    probe.spin_for(0.1)
    arm.plant.reset(start, brakes=True)  # no controller was active; another one took it back
    probe.spin_for(1.2)
    count = len(arm.commands)
    process.process.send_signal(signal.SIGCONT)
    probe.until(lambda: len(arm.commands) > count + 10, 'torques')
    settled(probe, arm, process)
    probe.spin_for(0.5)
    moved = np.abs(arm.q - start).max()
    assert moved < 0.05, 'it went on with the motion that it had lost'
    assert not logged(process, 'the goal is reached', since)
    # which of these is noticed first depends on the messages and the loop that wait for it
    probe.until(lambda: any(logged(process, words, since) for words in (
        'the motion is given up after a gap of states or torques', 'joint states: no good data',
        'stopped: the process of the controller does not react')), 'the reason')


def begun(probe, arm, process):
    """Wait until the controller holds the arm."""
    probe.until(lambda: ACTIVE in process.output, 'activity')
    probe.until(lambda: len(arm.commands) > 50, 'torques')


@pytest.mark.parametrize('loop', ['native', 'python'])
def test_a_second_publisher_of_states_does_not_move_the_arm(probe, loop):
    """Protects from a forgotten joint_state_publisher: zeros under fresh stamps, 200 times/s."""
    space = f'second_{loop}'
    with FakeArm(probe, f'{space}/') as arm, fake_controller(
            space, loop=loop, **PATIENT) as process:
        begun(probe, arm, process)
        place, since = arm.q, len(process.lines)
        publisher = probe.publisher(JointState, f'{space}/joint_states')
        for seconds in (0.2, 1.5 * PATIENT['stale.stop']):
            timer = probe.node.create_timer(0.005, lambda: publisher.publish(JointState(
                header=header_now(), name=['shoulder', 'elbow'], position=[0.0, 0.0],
                velocity=[0.0, 0.0])))
            top, end = 0.0, time.monotonic() + seconds
            while time.monotonic() < end:
                probe.spin()
                top = max(top, np.abs(arm.plant.qd).max())
            probe.node.destroy_timer(timer)
            probe.spin_for(0.2)
            assert top < 0.05 and np.abs(arm.q - place).max() < 5e-3
        probe.node.destroy_publisher(publisher)
        assert not logged(process, 'fault', since)
        assert logged(process, 'only since activation: they are not used', since) == 1


def test_an_arm_that_two_publishers_report_is_not_taken_over(probe):
    space = 'twice'
    with FakeArm(probe, f'{space}/') as arm, fake_controller(space, **PATIENT) as process:
        other = probe.publisher(JointState, f'{space}/joint_states')
        report, arm.report = arm.report, lambda message: other.publish(message) or [message]
        probe.until(lambda: "joint 'shoulder' is reported by several publishers" in process.output,
                    'refusal')
        assert ACTIVE not in process.output
        arm.report = report
        probe.until(lambda: ACTIVE in process.output, 'activity')
        probe.node.destroy_publisher(other)


def test_no_motion_begins_while_no_driver_receives_its_torques(probe):
    with FakeArm(probe, 'unheard/'), fake_controller(
            'unheard', effort_command_topic='nowhere', **PATIENT) as process:
        probe.until(lambda: ACTIVE in process.output, 'activity')
        send(probe, process, trajectory(MODEL.joint_names, START + 0.1), 'unheard/',
             'trajectory refused: no driver subscribes to /unheard/nowhere')
        probe.until(lambda: logged(process, f'{NODE}]: no driver subscribes'), 'the warning')


def test_a_driver_that_is_restarted_gets_no_torque_of_before(probe):
    space = 'restarted'
    with fake_controller(space, **PATIENT) as process:
        with FakeArm(probe, f'{space}/') as arm:
            begun(probe, arm, process)
        probe.until(lambda: logged(process, 'fault: joint states: no good data'), 'a fault')
        probe.until(lambda: logged(process, 'is gone: deactivated'), 'the end')
        with FakeArm(probe, f'{space}/') as arm:
            probe.until(lambda: probe.node.count_publishers(f'{space}/{COMMANDS}'), 'the topic')
            probe.spin_for(1.0)
            assert not arm.commands
        assert logged(process, 'is gone: deactivated') == 1


@pytest.mark.parametrize('loop', ['native', 'python'])
def test_silence_names_the_publisher_that_is_not_used(probe, loop):
    space = f'beside_{loop}'
    with FakeArm(probe, f'{space}/') as arm, fake_controller(
            space, loop=loop, **PATIENT) as process:
        probe.until(lambda: ACTIVE in process.output, 'activity')
        with FakeArm(probe, f'{space}/'):
            probe.until(lambda: logged(process, 'they are not used'), 'the name of the other')
            arm.report = None
            probe.until(lambda: logged(process, 'fault: joint states: no good data'), 'a fault')
            probe.until(lambda: 'deactivate and activate the controller' in probe.call(
                Trigger, f'{space}/{NODE}/reset_fault').message, 'the remedy')


@pytest.mark.parametrize('loop', ['native', 'python'])
def test_a_controller_that_ends_in_a_silence_sends_no_last_torque_to_a_new_driver(probe, loop):
    space = f'ended_{loop}'
    with FakeArm(probe, f'{space}/') as arm, fake_controller(
            space, loop=loop, **PATIENT) as process:
        begun(probe, arm, process)
        arm.report = None
        probe.until(lambda: logged(process, 'fault: joint states: no good data'), 'a fault')
        with FakeArm(probe, f'{space}/') as other:
            other.report = None  # its states are not there yet
            probe.until(lambda: logged(process, 'it may be a driver that was restarted'), 'a name')
            process.process.send_signal(signal.SIGTERM)
            probe.until(lambda: logged(process, 'deactivated: no further torque'), 'the end')
            probe.spin_for(0.5)
            assert not other.commands


@pytest.mark.parametrize('loop', ['native', 'python'])
def test_a_driver_that_was_killed_and_restarted_at_once_gets_no_torque_of_before(probe, loop):
    """Protects while the middleware still lists the publisher of the one that was killed."""
    space = f'killed_{loop}'
    with FakeArm(probe, f'{space}/') as arm, fake_controller(
            space, loop=loop, **PATIENT) as process:
        begun(probe, arm, process)
        arm.report = None  # its publisher stays listed
        probe.until(lambda: logged(process, 'fault: joint states: no good data'), 'a fault')
        with FakeArm(probe, f'{space}/') as other:
            probe.until(lambda: logged(process, 'deactivated: no further torque'), 'the end')
            probe.spin_for(1.0)
            assert not other.commands
        assert logged(process, 'is silent, and /') == 1
