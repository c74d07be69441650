"""The control loop in machine code: no torque waits for Python."""

import os
from pathlib import Path
import random
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, HOME, logged, MODEL, NODE, PATIENT, RATE, send, set_in_motion, simulator,
    trajectory)
from guarded_arm import guard, Scene  # noqa: E402
from lifecycle_msgs.msg import Transition  # noqa: E402
from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from robodyn_ros.nodes.native.rcl import NativeLoopError  # noqa: E402
from robodyn_ros.nodes.native.thread import check_platform  # noqa: E402
from ros_process import NodeProcess, PATIENCE, Probe  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

try:
    check_platform()
except NativeLoopError as error:
    pytest.skip(str(error), allow_module_level=True)

FAR = trajectory(MODEL.joint_names, HOME + 0.9, seconds=2.0)
STALLING = 'stalling_node'
# s for which the interpreter is kept; a torque that waits for it comes as late
KEPT, LATE = 1.0, 0.8


@pytest.fixture(scope='module')
def scene():
    with Probe('native_probe') as probe, simulator() as plant:
        yield Scene(probe, plant)


@pytest.fixture
def stalling(monkeypatch, scene):
    """Return a function that starts a controller whose Python can be held up."""
    here = str(Path(__file__).resolve().parents[1] / 'benchmark')
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(
        filter(None, [here, os.environ.get('PYTHONPATH')])))
    monkeypatch.setenv('STALLS', f'{KEPT} {2.0 * PATIENCE}')

    def start(**parameters):
        return NodeProcess(STALLING, {'urdf_file': str(ARM), **PATIENT, **parameters})
    return start


def stall(scene, process, number, begins, ends):
    """Hold up Python; return the times of the torques meanwhile."""
    since = len(process.lines)
    process.process.send_signal(number)
    process.wait_for_output(begins, since)
    scene.probe.until(lambda: logged(process, ends, since), ends)
    scene.catch_up()
    return np.array([time for time, _ in scene.sent])


@pytest.mark.realtime
def test_torques_go_on_while_another_keeps_the_interpreter(scene, stalling):
    """With a guard that would take over: there is one commander all the time."""
    with guard(timeout=LATE) as watch, stalling(loop_patience=2.0 * KEPT) as process:
        scene.begin(watch)
        process.wait_for_output('loop: native')
        process.wait_for_output(ACTIVE)
        scene.until_guard_state('armed')
        set_in_motion(scene.probe, process, scene, FAR, 0.4)
        for received in (scene.sent, scene.guard_states):
            received.clear()
        times = stall(scene, process, signal.SIGUSR1, 'interpreter kept', 'interpreter free')
        assert np.diff(times).max() < LATE, 'a torque has waited'
        assert len(times) > 0.2 * RATE
        assert {state.frame_id for state in scene.guard_states} == {'armed'}
        assert not logged(process, 'fault')
        assert scene.steps.max() < 1.5


def test_an_arm_whose_process_hangs_is_stopped_and_carried(scene, stalling):
    with stalling(loop_patience=LATE) as process:
        scene.begin(None)
        process.wait_for_output(ACTIVE)
        slow = trajectory(MODEL.joint_names, HOME + 0.9, seconds=10.0)
        set_in_motion(scene.probe, process, scene, slow, 0.05)
        since = len(process.lines)
        process.process.send_signal(signal.SIGUSR2)
        process.wait_for_output('hung', since)
        scene.until_rest()
        assert np.abs(scene.q - HOME - 0.9).max() > 0.1, 'the motion was not stopped'
        assert not logged(process, 'not hung', since)
        process.process.send_signal(signal.SIGUSR2)
        process.wait_for_output('not hung', since)
        scene.probe.until(lambda: logged(process, 'does not react', since), 'the reason')
        # it moves on after another request
        scene.probe.call(Trigger, f'{NODE}/hold')
        # Python hung for longer
        assert scene.gap < LATE and scene.steps.max() < 1.5


@pytest.mark.parametrize('lives', [3, pytest.param(200, marks=[
    pytest.mark.slow, pytest.mark.timeout(1500)])])
def test_lifecycles_while_requests_trajectories_and_parameters_come(scene, lives):
    """Handles are made and destroyed around the thread; whatever is under way."""
    choose, probe = random.Random(lives), scene.probe
    end = Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP
    begin = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE
    with NodeProcess('robodyn_ros.nodes.controller.node', {
            'urdf_file': str(ARM), 'stop_time': 0.05, **PATIENT}) as process:
        scene.begin(None)
        process.wait_for_output(ACTIVE)

        for life in range(lives):
            send(probe, process, trajectory(
                MODEL.joint_names, HOME + choose.uniform(-0.1, 0.1), seconds=0.4))
            for _ in range(choose.randrange(6)):
                value = Parameter('natural_frequency', value=[choose.uniform(10.0, 25.0)])
                assert probe.call(SetParameters, f'{NODE}/set_parameters',
                                  parameters=[value.to_parameter_msg()]).results[0].successful
            for transition in end[:choose.choice([1, 2])]:
                assert probe.change_state(NODE, transition), process.output[-2000:]
                last = transition
            since = len(process.lines)
            for transition in begin[last == end[0]:]:
                probe.until(lambda: probe.change_state(NODE, transition), 'the next life', 20.0)
            process.wait_for_output('loop: native', since)
        assert process.stop()[0] == 0
    # an activation before the first state is refused, and asked for again
    refused = 'no joint state on /joint_states yet: no message yet'
    lines = [line for line in process.lines if not line.rstrip().endswith(refused)]
    for word in ('Traceback', 'Fatal', 'fault', 'ERROR'):
        assert not [line for line in lines if word in line]
    assert scene.steps.max() < 1.5


def test_a_loop_that_is_to_be_native_and_cannot_be_is_refused(scene):
    with NodeProcess('robodyn_ros.nodes.controller.node', {
            'urdf_file': str(ARM), 'loop': 'native', 'publish_joint_commands': True}) as process:
        process.wait_for_output('loop: native is not possible: publish_joint_commands is set')
        assert process.wait() != 0


def test_python_runs_the_loop_on_request(scene, stalling):
    with stalling(loop='python') as process:
        scene.begin(None)
        process.wait_for_output('loop: python, because the parameter loop is python')
        set_in_motion(scene.probe, process, scene, FAR, 0.4)
        scene.probe.spin_for(0.2)
        assert not logged(process, 'fault')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_ends_with_an_arm_at_rest(scene, stalling, number):
    """Between states, programs and heartbeats of the loop."""
    choose = random.Random(int(number))
    for _ in range(3):
        with stalling() as process:
            scene.begin(None)
            process.wait_for_output(ACTIVE)
            set_in_motion(scene.probe, process, scene, FAR, 0.3)
            scene.probe.spin_for(choose.uniform(0.0, 0.01))
            assert process.stop(number)[0] == 0
            scene.catch_up()
            assert np.abs(scene.qd).max() < 0.03
        assert 'Traceback' not in process.output and 'Fatal' not in process.output
