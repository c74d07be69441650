"""How the controller node starts: what it waits for, its lifecycle, and mistakes of the user."""

from contextlib import ExitStack
import json
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, COMMANDS, CONTROLLER, logged, NODE, PATIENT, send, trajectory)
from fake_arm import fake_controller, FakeArm, GRAVITY, MODEL, START, URDF  # noqa: E402
from lifecycle_msgs.msg import State, Transition  # noqa: E402
from lifecycle_msgs.srv import GetState  # noqa: E402
import rclpy  # noqa: E402
from robodyn_ros.exceptions import RobodynError  # noqa: E402
from robodyn_ros.nodes.controller.node import ControllerNode  # noqa: E402
from ros_process import NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402


def test_it_waits_for_what_is_missing_and_logs_that(probe):
    with FakeArm(probe, 'waiting/') as arm, fake_controller('waiting', **PATIENT) as process:
        arm.report = lambda m: [JointState(header=m.header, name=['elbow'], position=[0.0],
                                           velocity=[0.0])]
        waiting = ('waiting: no joint state on /waiting/joint_states yet: '
                   'joints not reported: shoulder')
        probe.until(lambda: logged(process, waiting), 'what is missing')
        arm.plant.reset([0.0, 2.4])

        def beyond(message):
            message.position[1] = 2.8
            return [message]

        arm.report = beyond
        probe.until(lambda: logged(process, "waiting: joint 'elbow' stands at 2.8000, 0.3 rad "
                                   'beyond its upper limit 2.5'), 'the limit')
        other = probe.node.create_publisher(Float64MultiArray, f'waiting/{COMMANDS}', 1)
        arm.plant.reset(START)
        arm.report = lambda m: [m]
        probe.until(lambda: logged(process, 'waiting: another node publishes on '
                                   f'/waiting/{COMMANDS}: '), 'the other one')
        assert not arm.commands and ACTIVE not in process.output
        refused = probe.call(Trigger, f'waiting/{NODE}/float')
        assert not refused.success and refused.message.startswith(
            f'the controller waits: another node publishes on /waiting/{COMMANDS}')
        probe.node.destroy_publisher(other)
        probe.until(lambda: ACTIVE in process.output, 'activity')
        probe.until(lambda: len(arm.commands) > 100, 'torques')
        np.testing.assert_allclose(arm.q, START, atol=0.01)
        code, _ = process.stop(signal.SIGTERM)
        assert code == 0


@pytest.mark.parametrize('given, words', [
    ({'driver_compensates_gravity': None}, 'who carries the arm? '),
    ({'tip': 'upper'}, "joint 'elbow' is cut off by the tip and gets no torque, but changes the "
                       "gravity torque of 'shoulder' by up to")])
def test_no_real_arm_is_taken_over_before_a_question_is_answered(probe, given, words):
    values = {'robot_description': URDF, **PATIENT, **given}
    known = {name: value for name, value in values.items() if value is not None}
    arguments = ['-r', '__ns:=/asked']
    with FakeArm(probe, 'asked/') as arm, NodeProcess(CONTROLLER, known, arguments) as process:
        probe.until(lambda: logged(process, f'waiting: {words}'), 'the question')
        assert ACTIVE not in process.output and not arm.commands


def test_limits_of_the_motors_replace_those_of_the_urdf(probe):
    with FakeArm(probe, 'stronger/'), fake_controller(
            'stronger', effort_limit=[60.0, 15.0], velocity_limit=[1.5, 3.0],
            **PATIENT) as process:
        probe.until(lambda: ACTIVE in process.output, 'activity')
        for name, change in (('effort', '40 -> 60'), ('velocity', '2 -> 1.5')):
            assert logged(process, f'{name}_limit of the parameters replaces that of the URDF: '
                          f"{change} ('shoulder')") == 1
        send(probe, process, trajectory(MODEL.joint_names, START + 0.5, seconds=0.4), 'stronger/',
             'above its velocity limit 1.5')


# --- lifecycle ----------------------------------------------------------------------------------


def test_the_lifecycle_twice(probe):
    def change(transition):
        return probe.change_state(f'steps/{NODE}', transition)

    def state():
        return probe.call(GetState, f'steps/{NODE}/get_state').current_state.id

    with FakeArm(probe, 'steps/') as arm, fake_controller(
            'steps', autostart=False, **PATIENT) as process:
        assert state() == State.PRIMARY_STATE_UNCONFIGURED
        assert not change(Transition.TRANSITION_ACTIVATE)
        for _ in range(2):
            arm.report = None
            assert change(Transition.TRANSITION_CONFIGURE)
            assert state() == State.PRIMARY_STATE_INACTIVE
            since = len(process.lines)
            assert not change(Transition.TRANSITION_ACTIVATE)
            probe.until(lambda: logged(process, 'no joint state on /steps/joint_states', since),
                        'the reason')
            arm.report = lambda m: [m]
            probe.until(lambda: change(Transition.TRANSITION_ACTIVATE), 'activation')
            assert state() == State.PRIMARY_STATE_ACTIVE
            probe.until(lambda: len(arm.commands) > 50, 'torques')
            assert change(Transition.TRANSITION_DEACTIVATE)
            end = time.time()
            probe.spin_for(0.3)
            np.testing.assert_allclose(arm.commands[-1], GRAVITY(arm.q), atol=0.05)
            assert arm.sent[-1] < end, 'an inactive controller commands'
            refused = probe.call(Trigger, f'steps/{NODE}/hold')
            assert 'not active; activate it first' in refused.message, 'what it waited for before'
            probe.until(lambda: change(Transition.TRANSITION_ACTIVATE), 'activation')
            assert change(Transition.TRANSITION_DEACTIVATE)
            assert change(Transition.TRANSITION_CLEANUP)
            probe.until(lambda: not probe.node.count_publishers(f'steps/{COMMANDS}'), 'no topic')
        assert probe.set_parameter(f'steps/{NODE}', 'natural_frequency', [1.0, 2.0, 3.0])[0]
        since = len(process.lines)
        assert not change(Transition.TRANSITION_CONFIGURE)
        probe.until(lambda: logged(process, 'natural_frequency has 3 values', since), 'the reason')
        assert state() == State.PRIMARY_STATE_UNCONFIGURED
        assert probe.set_parameter(f'steps/{NODE}', 'natural_frequency', [10.0])[0]
        assert change(Transition.TRANSITION_CONFIGURE)
        probe.until(lambda: change(Transition.TRANSITION_ACTIVATE), 'activation')
        assert change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
        assert state() == State.PRIMARY_STATE_FINALIZED
        code, _ = process.stop()
        assert code == 0 and 'Traceback' not in process.output


# --- mistakes -----------------------------------------------------------------------------------


MISTAKES = [
    ({'urdf_file': '/nowhere/arm.urdf'}, ['/nowhere/arm.urdf', 'No such file']),
    ({'robot_description': '<robot name="x">'}, ['robot']),
    ({'robot_description': URDF.replace('effort="20"', 'effort="0"')},
     ["joint 'elbow' has effort limit 0", '<limit effort>', 'parameter effort_limit']),
    ({'natural_frequency': [1.0, 2.0, 3.0]}, ['natural_frequency has 3 values', 'shoulder']),
    ({'natural_frequency': -1.0}, ["'natural_frequency'", '-1', 'least']),
    ({'torque_rate_limit': [1.0, 2.0, 3.0]}, ['torque_rate_limit has 3 values']),
    ({'constraints.goal': [0.1, 0.1, 0.1]}, ['constraints.goal', 'each of the 2 joints']),
    ({'command_joints': ['elbow']}, ['command_joints leaves out shoulder']),
    ({'command_joints': ['elbow', 'sholder']}, ["'sholder'", "'shoulder'"]),
    ({'effort_command_topic': 'not a topic'}, ['effort_command_topic', 'not a topic']),
    ({'stale.hold': 0.5, 'stale.stop': 0.1}, ['stale.hold is 0.5', '0.1']),
    ({'mode': 'pid'}, ["'mode'", "'pid'", 'gravity_compensation']),
    ({'natural_frequencies': 20.0}, ["'natural_frequencies'", "'natural_frequency'"]),
    ({'gravity': [0.0, -9.81]}, ['gravity'])]


def described(given):
    """Return parameters with a robot in them."""
    return given if 'urdf_file' in given else {'robot_description': URDF, **given}


@pytest.mark.parametrize('given, words', MISTAKES)
def test_a_mistake_is_named(given, words):
    arguments = [part for name, value in described(given).items()
                 for part in ('-p', f'{name}:={json.dumps(value)}')]
    node = None
    rclpy.init(args=['--ros-args', *arguments, '-r', '__ns:=/mistake'])
    try:
        with pytest.raises(RobodynError) as info:
            node = ControllerNode()
            node.start()
        assert node is None or not node.configured
        for word in words:
            assert word in str(info.value)
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.shutdown()


def test_a_mistake_is_one_message_and_an_exit_code():
    with ExitStack() as stack:
        # one that is found with the parameters, one with the robot, one when they come together
        for given, words in [MISTAKES[k] for k in (0, 2, 11)]:
            process = stack.enter_context(NodeProcess(CONTROLLER, described(given)))
            assert process.wait() == 2, process.output
            # without a cache it compiles first; the middleware may have a message of its own
            assert sum(all(each not in line for each in ('[WARN]', ': compiling', 'RTPS_'))
                       for line in process.lines) == 1, process.output
            for word in words:
                assert word in process.output


def test_a_signal_ends_the_wait_for_a_description():
    with NodeProcess(CONTROLLER, {'description_timeout': 100.0}, ['-r', '__ns:=/empty']) as node:
        node.wait_for_output('waiting for a robot description on /empty/robot_description')
        assert node.stop()[0] == 0
    assert 'Traceback' not in node.output


def test_tolerances_of_single_joints_are_named_as_in_joint_trajectory_controller(probe):
    named = {'constraints.elbow.goal': 0.02, 'constraints.shoulder.trajectory': 0.5}
    with FakeArm(probe, 'tolerant/'), fake_controller('tolerant', **named) as controller:
        probe.until(lambda: logged(controller, ACTIVE), 'activity')
        node = f'tolerant/{NODE}'
        assert probe.set_parameter(node, 'constraints.elbow.goal', 0.03) == (True, '')
        ok, reason = probe.set_parameter(node, 'constraints.elbow.goal', -0.03)
        assert not ok and 'constraints.elbow.goal' in reason


def test_a_tolerance_of_a_joint_that_is_not_there_is_refused():
    with fake_controller('strange', **{'constraints.wrist.goal': 0.02}) as controller:
        assert controller.wait() != 0
        assert "no parameter 'constraints.wrist.goal'" in controller.output
