"""Simulator and controller in lockstep, each in its process: the same run to the last bit."""
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, MODEL, send, SIMULATOR, trajectory)
from robodyn_ros.nodes import qos  # noqa: E402
from robodyn_ros.nodes.conversions import seconds  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

START = [f'{name}:{q}' for name, q in zip(MODEL.joint_names, HOME.tolist())]
GOAL = HOME + np.array([0.3, 0.2, -0.3, 0.3, -0.4, 0.3, 0.5])
STEPS, MORE = 1200, 50  # that are compared, and of which the last to arrive may be one


@pytest.fixture
def probe():
    with Probe() as made:
        yield made


def simulator(**parameters):
    return NodeProcess(SIMULATOR, {'urdf_file': str(ARM), 'initial_positions': START,
                                   'lockstep': True, 'start_paused': True, **parameters})


def controller():
    return NodeProcess(CONTROLLER, {'urdf_file': str(ARM), 'lockstep': True,
                                    'natural_frequency': [40.0]})


def record(probe, **parameters):
    """Return states by their stamps in ns, and the seconds that they took."""
    # as many as there are: the probe may be slower than the arm
    states = probe.subscribe(JointState, 'joint_states', qos.reliable(2 * STEPS))
    with simulator(steps_per_call=STEPS + MORE, **parameters) as simulated, (
            controller()) as controlled:
        commands = probe.subscribe(JointState, 'joint_commands', qos.reliable(10))
        controlled.wait_for_output(ACTIVE)
        probe.until(lambda: states and commands, 'the first state and its answer')
        send(probe, controlled, trajectory(MODEL.joint_names, GOAL, seconds=0.9))
        begun = time.monotonic()
        made = probe.call(Trigger, 'robot_simulator/step')
        assert made.success, made.message
        probe.until(lambda: seconds(states[-1].header.stamp) > 1e-3 * STEPS, 'the end')
        duration = time.monotonic() - begun
        probe.call(SetBool, 'robot_simulator/pause', data=False)  # without time none stops an arm
        for process in (controlled, simulated):
            assert process.stop()[0] == 0
    recorded = {}
    for state in states:
        stamp = 10**9 * state.header.stamp.sec + state.header.stamp.nanosec
        if stamp <= 10**6 * STEPS:
            recorded[stamp] = np.concatenate([state.position, state.velocity, state.effort])
    return recorded, duration


# every 5th state is lost by the sensors, and they are noisy: that as well is the same
WITH_ERRORS = {'sensors.position_noise': [1e-5], 'sensors.dropout': 0.2, 'seed': 7,
               'sensors.resolution': [1e-6], 'faults': [
                   '0.3 nan 0.02', '0.4 freeze joint3 0.01', '0.5 missing joint5 0.015',
                   '0.6 silence 0.03', '0.8 torque_loss joint2 0.01']}


@pytest.mark.parametrize('parameters', [{}, WITH_ERRORS], ids=['nominal', 'with errors'])
def test_two_runs_are_the_same_to_the_last_bit(parameters):
    runs = []
    for _ in range(2):
        with Probe() as probe:
            runs.append(record(probe, **parameters))
    (first, duration), (second, _) = runs
    print(f'{STEPS * 1e-3 / duration:.2f} simulated seconds per second')
    assert first.keys() == second.keys()
    for stamp, state in first.items():
        assert state.tobytes() == second[stamp].tobytes(), f'at {1e-9 * stamp:.3f} s'
    if parameters:
        assert 0.7 * STEPS < len(first) < 0.9 * STEPS
        return
    assert sorted(first) == [10**6 * k for k in range(STEPS + 1)]
    # and it was a motion that the arm has followed
    np.testing.assert_allclose(first[max(first)][:7], GOAL, atol=2e-3)


def test_time_waits_for_answers_and_steps_one_by_one(probe):
    states = probe.subscribe(JointState, 'joint_states', 100)
    with simulator(steps_per_call=5, publish_rate=500.0) as simulated:
        named = probe.publisher(JointState, 'joint_commands')
        probe.until(lambda: len(states) > 2, 'the first state, again and again')
        assert all(seconds(state.header.stamp) == 0.0 for state in states)
        refused = probe.call(Trigger, 'robot_simulator/step')
        assert not refused.success and 'no answer to the state' in refused.message
        assert probe.call(SetBool, 'robot_simulator/pause', data=False).success
        for k in range(5):
            answer = JointState(name=list(MODEL.joint_names), effort=[0.0] * 7)
            answer.header.stamp = states[-1].header.stamp
            named.publish(answer)
            # publish_rate determines the number of steps per answer
            probe.until(lambda: seconds(states[-1].header.stamp) == pytest.approx(2e-3 * (k + 1)),
                        'the next state')
            named.publish(answer)  # one too many: it answers another state
        simulated.wait_for_output('brakes released')
        probe.spin_for(0.3)
        assert seconds(states[-1].header.stamp) == pytest.approx(10e-3)
