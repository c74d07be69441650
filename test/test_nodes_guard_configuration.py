"""The guard in bad company: other parameters, late starts, pauses of its own."""

from importlib.util import find_spec
from pathlib import Path
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import ACTIVE, ARM, logged, MODEL, NODE, wait_for_goal  # noqa: E402
from geometry_msgs.msg import InertiaStamped, Vector3Stamped  # noqa: E402
from guarded_arm import (  # noqa: E402
    controller, GUARD, guard, in_motion, LARGEST_STEP, staged, TIMEOUT)
from rcl_interfaces.srv import ListParameters  # noqa: E402
from ros_process import NodeProcess, wait_until  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402


@pytest.fixture(scope='module')
def testbed():
    yield from staged()


def begun(testbed, process):
    process.wait_for_output('takes over after')
    testbed.begin(process)
    return testbed


@pytest.fixture
def scene(testbed):
    """Return the arm at home with a guard that has not seen a controller."""
    with guard() as process:
        yield begun(testbed, process)


def test_a_guard_that_would_command_otherwise_is_refused_with_the_reason(testbed):
    testbed.begin(None)
    with controller(**{'guard.use': 'expected'}) as waiting:
        for different, words in (
                ({'effort_margin': 0.5}, 'effort_limit x effort_margin of joint'),
                ({'command_joints': list(MODEL.joint_names[::-1])}, 'command_joints differs')):
            with guard(**different) as refusing:
                since = len(waiting.lines)
                refusing.wait_for_output(words)
                assert 'refusing: ' in refusing.output
                waiting.wait_for_output('the guard refuses to guard this controller', since)
                testbed.probe.spin_for(0.2)
                assert not logged(refusing, 'armed')
        waiting.wait_for_output('waiting: the guard refuses')
        assert not logged(waiting, ACTIVE)
        with guard() as fitting:
            waiting.wait_for_output(ACTIVE)
            fitting.wait_for_output('armed: ')
            assert testbed.probe.set_parameter(NODE, 'effort_margin', 0.9)[0]
            fitting.wait_for_output('armed nevertheless: effort_limit x effort_margin')
            since = len(fitting.lines)
            waiting.process.kill()
            wait_until(lambda: logged(fitting, 'the guard commands the arm', since), 'take-over')


def test_a_guard_that_starts_late_receives_the_payload(testbed):
    probe = testbed.probe
    testbed.begin(None)
    load, down = InertiaStamped(), Vector3Stamped()
    load.header.frame_id, load.inertia.m, load.inertia.com.z = 'link7', 2.0, 0.05
    down.vector.x, down.vector.z = 0.5, -9.8
    for name, value in (('com', [0.0, 0.0, 0.05]), ('mass', 2.0), ('link', 'link7')):
        assert probe.set_parameter('robot_simulator', f'payload.{name}', value)[0]
    try:
        # it waits for states until it knows the load, which would fall from a light wrist
        assert probe.call(SetBool, 'robot_simulator/pause', data=True).success
        with controller(handshake=False) as dying:
            for topic, message, words in (('payload', load, 'payload on link'),
                                          ('gravity', down, 'gravity is')):
                publisher = probe.publisher(type(message), f'{NODE}/{topic}')
                wait_until(lambda: logged(dying, words), words,
                           work=lambda: (publisher.publish(message), probe.spin_for(0.3)))
            down.vector.x, down.vector.z = 0.0, -9.81  # that of the simulator
            wait_until(lambda: logged(dying, 'gravity is') > 1, 'gravity', work=lambda: (
                publisher.publish(down), probe.spin_for(0.3)))
            assert not logged(dying, ACTIVE)
            assert probe.call(SetBool, 'robot_simulator/pause', data=False).success
            dying.wait_for_output(ACTIVE)
            with guard(timeout=1.0) as late:
                late.wait_for_output('the payload is that of the controller: 2 kg on link7')
                testbed.until_guard_state('armed')
                testbed.until_rest()
                testbed.catch_up()
                assert not logged(dying, 'fault: ')
                before = testbed.q
                dying.process.kill()
                testbed.until_guard_state('commanding')
                probe.spin_for(1.5)
                away = np.abs(testbed.q - before).max()
                testbed.log(f'2 kg that a late guard learned of: sunk by {1e3 * away:.2f} mrad')
                assert away < 0.02, 'a busy machine included'
    finally:
        assert probe.call(SetBool, 'robot_simulator/pause', data=False).success
        assert probe.set_parameter('robot_simulator', 'payload.mass', 0.0)[0]


def test_an_armed_guard_that_was_held_up_takes_nothing_and_guards_on(scene):
    with controller() as guarded:
        since = in_motion(scene, guarded)
        scene.guard.process.send_signal(signal.SIGSTOP)
        guarded.wait_for_output('the guard is silent')
        wait_for_goal(scene.probe, guarded, since)
        scene.guard.process.send_signal(signal.SIGCONT)
        scene.guard_states.clear()
        scene.until_guard_state('armed')
        scene.probe.spin_for(2 * TIMEOUT)
        assert not logged(scene.guard, 'the guard commands the arm')
        wait_until(lambda: logged(guarded, 'there is a guard') == 2, 'the guard is back',
                   work=scene.probe.spin)
        guarded.process.kill()
        scene.until_guard_state('commanding')
        scene.until_rest()


def test_a_commanding_guard_that_hangs_loses_the_arm_to_the_controller(scene):
    with controller() as hanging:
        in_motion(scene, hanging)
        hanging.process.send_signal(signal.SIGSTOP)
        scene.until_guard_state('commanding')
        scene.until_rest()
        hanging.process.send_signal(signal.SIGCONT)
        scene.until_phase('standby')
        scene.guard.process.send_signal(signal.SIGSTOP)
        scene.until_phase('active')
        scene.probe.spin_for(0.3)
        scene.guard_states.clear()
        begin = time.time()
        scene.guard.process.send_signal(signal.SIGCONT)
        scene.guard.wait_for_output('armed: the controller commanded while the guard was held up')
        scene.probe.spin_for(0.5)
        torques = scene.torques_per_state(begin)
        scene.log(f'hung guard: {torques:.2f} torques per state, '
                  f'largest step {scene.steps.max():.2f}')
        assert torques < 1.2, 'only one of them commands'
        assert scene.steps.max() <= LARGEST_STEP
        assert scene.guard_states[-1].frame_id == 'armed'


def test_a_fallback_controller_is_requested_once(testbed, monkeypatch):
    monkeypatch.setenv('PYTHONPATH', str(Path(__file__).parent))
    requests = []

    def switch(request, response):
        requests.append((list(request.prefixes), request.depth))
        response.result.names = ['done']
        return response

    service = testbed.probe.node.create_service(
        ListParameters, 'arm/controller_manager/switch_controller', switch)
    try:
        with NodeProcess('guard_with_fallback', {
                'urdf_file': str(ARM), 'timeout': TIMEOUT, 'fallback_controllers': ['gravity'],
                'replaced_controllers': ['torques'],
                'controller_manager': 'arm/controller_manager'}) as process:
            begun(testbed, process)
            with controller() as dying:
                dying.wait_for_output(ACTIVE)
                testbed.until_guard_state('armed')
                testbed.probe.spin_for(1.0)  # until service and guard have found each other
                dying.process.kill()
                testbed.until_guard_state('commanding')
                testbed.probe.until(lambda: requests, 'a request')
            wait_until(lambda: logged(process, 'fallback gravity: active'), 'the answer',
                       work=testbed.probe.spin)
            assert requests == [(['gravity', '', 'torques'], 1)]
    finally:
        testbed.probe.node.destroy_service(service)


@pytest.mark.skipif(find_spec('controller_manager_msgs') is not None, reason='it is installed')
def test_a_fallback_that_cannot_be_requested_is_refused_at_the_start():
    with NodeProcess(GUARD, {'urdf_file': str(ARM), 'fallback_controllers': ['x']}) as process:
        assert process.wait() == 2
        assert 'fallback_controllers needs controller_manager_msgs' in process.output
