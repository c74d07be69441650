"""The guard: motion of an arm whose controller is killed, hangs, ends, or returns."""

import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, HOME, logged, MODEL, NODE, PATIENT, send, wait_for_goal)
from fake_arm import fake_controller, FakeArm, URDF  # noqa: E402
from geometry_msgs.msg import InertiaStamped  # noqa: E402
from guarded_arm import (  # noqa: E402
    controller, FAR, GUARD, guard, in_motion, LARGEST_STEP, staged, STILL, TAKEN, TIMEOUT)
from lifecycle_msgs.msg import Transition  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from ros_process import NodeProcess, wait_until  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

SOFT = 2.5  # s after which the guard holds an arm whose loop was not measured


@pytest.fixture(scope='module')
def testbed():
    yield from staged()


@pytest.fixture
def scene(testbed):
    """Return the arm at home with a guard that has not seen a controller."""
    with guard() as process:
        process.wait_for_output('takes over after')
        testbed.begin(process)
        yield testbed


def test_an_arm_whose_controller_is_killed_at_speed_rests_until_another_takes_it(scene):
    with controller() as dying:
        in_motion(scene, dying)
        since, fastest = len(scene.sent), np.abs(scene.qd).max()
        dying.process.kill()
        scene.until_guard_state('commanding')
        scene.until_rest()
    scene.probe.spin_for(SOFT)
    scene.catch_up()
    rest = scene.q
    drift, steps = scene.drift, scene.steps
    scene.log(f'kill -9 at {fastest:.2f} rad/s: torques again after {1e3 * scene.gap:.0f} ms, '
              f'largest step {steps.max():.2f} of the rate, {len(scene.sent) - since} torques, '
              f'drift {1e3 * drift:.3f} mrad/s')
    assert scene.gap < TIMEOUT + 0.75, 'a busy machine included'
    assert drift < 2e-3
    assert steps.max() <= LARGEST_STEP
    assert all(np.isfinite(torque).all() for _, torque in scene.sent)
    np.testing.assert_allclose(scene.sent[-1][1], Dynamics(MODEL).gravity(rest), atol=0.5)
    assert logged(scene.guard, TAKEN) == 1
    assert not scene.reset_guard().success, 'no controller is there to take the arm'
    with controller(**{'guard.use': 'expected'}) as following:
        following.wait_for_output('waiting: the guard commands the arm')
        # the guard may discover its heartbeat later
        wait_until(lambda: scene.reset_guard().success, 'the reset')
        following.wait_for_output(ACTIVE)
        scene.until_guard_state('armed')
        scene.log(f'restarted: largest step {scene.steps.max():.2f} of the rate')
        assert scene.steps.max() <= LARGEST_STEP
        wait_for_goal(scene.probe, following, send(scene.probe, following, FAR))


def test_a_driver_that_is_restarted_while_the_guard_commands_gets_no_torque(probe):
    space = 'guarded'
    with FakeArm(probe, f'{space}/') as arm, NodeProcess(
            GUARD, {'robot_description': URDF, 'timeout': TIMEOUT},
            ['-r', f'__ns:=/{space}']) as watch, fake_controller(space, **PATIENT) as dying:
        probe.until(lambda: logged(watch, 'armed:'), 'a controller to guard')
        dying.process.kill()
        probe.until(lambda: logged(watch, TAKEN), 'the guard in command')
        arm.report = None  # its publisher and its subscription stay listed
        probe.spin_for(1.0)
        count = len(arm.commands)
        probe.spin_for(0.5)
        assert len(arm.commands) > count, 'it is held without states'
        with FakeArm(probe, f'{space}/') as other:
            probe.until(lambda: logged(watch, 'it may be a driver that was restarted'), 'its name')
            probe.spin_for(1.0)
            watch.process.send_signal(signal.SIGTERM)
            probe.until(lambda: watch.process.poll() is not None, 'the end of the guard')
            probe.spin_for(0.2)
            assert not other.commands


def test_a_controller_that_hung_does_not_fight_and_gets_the_arm_after_a_reset(scene):
    with controller() as hanging:
        in_motion(scene, hanging)
        hanging.process.send_signal(signal.SIGSTOP)
        scene.until_guard_state('commanding')
        scene.probe.spin_for(0.5)
        scene.beats.clear()
        hanging.process.send_signal(signal.SIGCONT)
        scene.until_phase('standby')
        scene.until_rest()
        hanging.wait_for_output('the guard has taken over the arm')
        begin = time.time()
        scene.probe.spin_for(0.5)
        torques = scene.torques_per_state(begin)
        assert torques < 1.2, 'only one of them commands'
        assert not any(beat.frame_id == 'active' for beat in scene.beats[1:]), 'it commanded'
        early = scene.probe.call(Trigger, f'{NODE}/reset_fault')
        assert not early.success and 'the guard' in early.message
        answer = scene.reset_guard()
        assert answer.success, answer.message
        scene.until_guard_state('armed')
        scene.until_phase('active')
        scene.log(f'hung: {torques:.2f} torques per state, '
                  f'largest step {scene.steps.max():.2f} of the rate, '
                  f'gap {1e3 * scene.gap:.0f} ms')
        assert scene.steps.max() <= LARGEST_STEP
        refused = send(scene.probe, hanging, FAR, words='fault')
        assert logged(hanging, 'the guard has taken over', refused)
        assert scene.probe.call(Trigger, f'{NODE}/reset_fault').success
        wait_for_goal(scene.probe, hanging, send(scene.probe, hanging, FAR))
        hanging.process.kill()  # and it is guarded again
        scene.until_guard_state('commanding')


def test_an_arm_is_taken_back_at_once_after_it_was_let_go(scene):
    with controller(**{'guard.use': 'required'}) as process:
        process.wait_for_output(ACTIVE)
        scene.until_guard_state('armed')
        for _ in range(4):  # the guard reports every 0.12 s
            assert scene.probe.change_state(NODE, Transition.TRANSITION_DEACTIVATE)
            assert scene.probe.change_state(NODE, Transition.TRANSITION_ACTIVATE), process.output
            scene.probe.spin_for(TIMEOUT)
        assert not logged(process, 'another controller commands')
        scene.until_guard_state('armed')


def test_a_controller_that_ends_in_good_order_is_not_missed(scene):
    for number, effort in enumerate(('hold', 'release'), start=1):
        with controller(shutdown_effort=effort, release_time=0.3) as leaving:
            in_motion(scene, leaving)
            assert leaving.stop()[0] == 0
            scene.until_guard_state('watching')
            scene.catch_up()
            count = len(scene.sent)
            scene.probe.spin_for(2 * TIMEOUT)
            assert len(scene.sent) == count
        assert not logged(scene.guard, TAKEN)
        assert logged(scene.guard, 'the controller has stopped commanding') == number
        scene.begin(scene.guard)
    assert not scene.reset_guard().success


def test_the_controller_reports_a_guard_that_ends_and_continues(scene):
    with controller() as guarded:
        since = in_motion(scene, guarded)
        scene.guard.process.kill()
        guarded.wait_for_output('the guard is silent')
        probe = scene.probe
        wait_for_goal(probe, guarded, since)
        assert logged(guarded, 'the guard is silent') == 1
        scene.catch_up()
        assert np.abs(scene.q - HOME - 0.9).max() < 0.02


def test_a_required_guard_is_waited_for_and_missed(scene):
    with controller(**{'guard.use': 'required'}) as guarded:
        in_motion(scene, guarded)
        scene.guard.process.kill()
        guarded.wait_for_output('fault: the guard is silent')
        scene.until_rest()
        # a busy machine may have silenced it before
        wait_until(lambda: not scene.probe.call(Trigger, f'{NODE}/reset_fault').success,
                   'a refusal')
        assert guarded.stop()[0] == 0
    with controller(**{'guard.use': 'required'}) as alone:
        alone.wait_for_output('waiting: no message of the guard')
        assert alone.stop()[0] == 0


def test_a_second_controller_waits_and_is_a_fault_where_a_guard_is_required(scene):
    with controller(**{'guard.use': 'required'}) as first:
        first.wait_for_output(ACTIVE)
        scene.until_guard_state('armed')
        with controller(**{'guard.use': 'expected'}) as second:
            second.wait_for_output('waiting: the guard is armed: another controller commands')
            first.wait_for_output('counts: stop all but one, and guard.use is required')
            first.process.kill()
            scene.until_guard_state('commanding')
        assert not logged(second, ACTIVE)


def test_a_second_guard_refuses(scene):
    with controller() as guarded:
        in_motion(scene, guarded)
        with guard() as second:
            second.wait_for_output('refusing: 2 guards publish on /guard/state: stop all but one')
            guarded.process.kill()
            scene.guard.wait_for_output(TAKEN)
            scene.until_rest()
        assert not logged(second, TAKEN)


def test_a_guard_that_would_not_take_over_is_named(testbed):
    with guard('-r', 'joint_states:=elsewhere') as blind:
        for use, words in (
                ('optional', 'the guard is watching only, see its log: no node would take over'),
                ('required', 'fault: the guard is watching only, and guard.use is required')):
            testbed.begin(blind)
            with controller(**{'guard.use': use}) as guarded:
                guarded.wait_for_output(words)


@pytest.fixture
def load(scene):
    """Attach 2 kg to the arm; return the message that reports them."""
    def carry(mass):
        for name, value in (('com', [0.0, 0.0, 0.05]), ('mass', mass), ('link', 'link7')):
            done, reason = scene.probe.set_parameter('robot_simulator', f'payload.{name}', value)
            assert done, reason

    carry(2.0)
    message = InertiaStamped()
    message.header.frame_id, message.inertia.m, message.inertia.com.z = 'link7', 2.0, 0.05
    yield message
    carry(0.0)


def test_a_load_that_is_reported_meanwhile_is_carried(scene, load):
    probe = scene.probe
    with controller(handshake=False) as dying:
        dying.wait_for_output(ACTIVE)
        scene.until_guard_state('armed')
        publisher = probe.publisher(InertiaStamped, f'{NODE}/payload')
        # controllers that were killed count as subscribers for a while
        wait_until(lambda: logged(dying, 'payload on link') and logged(scene.guard, ': 2 kg on'),
                   'both reckon with it', work=lambda: (publisher.publish(load),
                                                        probe.spin_for(0.3)))
        scene.until_rest()
        dying.process.kill()
        scene.until_guard_state('commanding')
    gravity_torque = Dynamics(MODEL.with_payload('link7', 2.0, (0.0, 0.0, 0.05))).gravity
    # the hold carries a part of it until the arm is still
    probe.until(lambda: np.abs(scene.qd).max() < STILL and np.abs(
        scene.sent[-1][1] - gravity_torque(scene.q)).max() < 0.5, 'the load is carried')
