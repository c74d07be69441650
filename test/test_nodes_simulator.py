"""The simulator node as a process: what it takes, what it publishes, how it ends."""
import math
from pathlib import Path
import re
import signal
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.model import RobotModel  # noqa: E402
from robodyn_ros.nodes.conversions import seconds  # noqa: E402
from robodyn_ros.nodes.qos import latched  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

MODULE = 'robodyn_ros.nodes.simulator.node'
ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
START = ['joint2:0.5', 'joint4:-1.0']
COMMANDS = 'effort_controller/commands'

# A slider that a mimic joint follows at twice its speed.
GRIPPER = """
<robot name="gripper">
  <link name="base"/>
  <link name="left"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="finger" type="prismatic"><parent link="base"/><child link="left"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="1" effort="10" velocity="1"/></joint>
  <joint name="other_finger" type="prismatic"><parent link="base"/><child link="right"/>
    <axis xyz="0 1 0"/><mimic joint="finger" multiplier="-2" offset="0.25"/>
    <limit lower="-3" upper="3" effort="10" velocity="1"/></joint>
</robot>
"""

# Nothing but its inertia keeps it from any speed.
WHEEL = """
<robot name="wheel">
  <link name="base"/>
  <link name="wheel"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="axle" type="continuous"><parent link="base"/><child link="wheel"/>
    <axis xyz="0 0 1"/><limit effort="10" velocity="100"/></joint>
</robot>
"""


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf(ARM)


@pytest.fixture(scope='module')
def gravity(model):
    """Return the torque that holds the arm where it starts."""
    return Dynamics(model).gravity(start_of(model))


@pytest.fixture
def probe():
    with Probe() as made:
        yield made


@pytest.fixture
def simulator():
    with NodeProcess(MODULE, {'urdf_file': str(ARM), 'initial_positions': START}) as process:
        yield process


@pytest.fixture
def states(simulator, probe):
    """Return the list of states that the running simulator publishes; it has one already."""
    received = probe.subscribe(JointState, 'joint_states', 100)
    probe.until(lambda: received, 'a state')
    return received


@pytest.fixture
def floating(simulator, probe, states, gravity):
    """Return the publisher of commands of an arm that gravity torques hold, brakes released."""
    commands = probe.publisher(Float64MultiArray, COMMANDS)
    commands.publish(Float64MultiArray(data=gravity.tolist()))
    simulator.wait_for_output('brakes released')
    return commands


def start_of(model):
    q = np.zeros(model.nv)
    for entry in START:
        joint, position = entry.split(':')
        q[model.joint_names.index(joint)] = float(position)
    return q


def newest(states):
    return np.array(states[-1].position)


def figures(diagnostics):
    return {pair.key: pair.value for pair in diagnostics[-1].status[0].values}


def test_brakes_hold_until_the_first_command_and_gravity_torque_holds_after(
        simulator, probe, states, model, gravity):
    probe.until(lambda: len(states) > 200, '200 states')
    start = start_of(model)
    assert list(states[-1].name) == list(model.joint_names)
    assert all(list(state.position) == list(start) for state in states)
    assert all(not any(state.velocity) for state in states)
    # what the brakes hold is what a torque sensor measures
    np.testing.assert_allclose(states[-1].effort, gravity, rtol=1e-12, atol=1e-12)

    commands = probe.publisher(Float64MultiArray, COMMANDS)
    commands.publish(Float64MultiArray(data=gravity.tolist()))
    simulator.wait_for_output('brakes released')
    count = len(states)
    probe.until(lambda: len(states) > count + 500, '500 states with gravity torque')
    # in balance but for rounding
    np.testing.assert_allclose(newest(states), start, atol=1e-6)
    np.testing.assert_allclose(states[-1].effort, gravity, rtol=1e-12, atol=1e-12)

    commands.publish(Float64MultiArray(data=[0.0] * model.nv))
    probe.until(lambda: np.max(abs(newest(states) - start)) > 0.1, 'the arm to fall')


def test_a_second_arm_keeps_its_brakes_while_the_first_one_is_there(
        simulator, probe, states, floating, gravity):
    with NodeProcess(MODULE, {'urdf_file': str(ARM)}, ['-r', '__node:=second']) as second:
        truth = probe.subscribe(JointState, 'second/ground_truth', 100)

        def commanding(condition, what):
            probe.until(lambda: floating.publish(Float64MultiArray(data=gravity.tolist()))
                        or condition(), what)

        commanding(lambda: second.logged('the brakes stay on. Stop the other one'), 'a refusal')
        assert second.logged('/robot_simulator') == second.logged('/second') == 1
        count = len(truth)
        commanding(lambda: len(truth) > count + 1000, '1000 states')
        assert all(not any(state.position) and not any(state.velocity) for state in truth)
        # the first one is not concerned
        first = [state for state in states if any(state.position)][-1]
        np.testing.assert_allclose(first.effort, gravity, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(first.position, start_of(RobotModel.from_urdf(ARM)), atol=1e-6)
        simulator.stop()
        commanding(lambda: second.logged('brakes released'), 'an arm that is alone')
        assert second.logged('the brakes stay on') == 1


@pytest.mark.realtime
def test_states_are_stamped_and_come_at_the_rate_of_the_steps(probe, states):
    probe.spin_for(1.0)
    stamps = np.array([seconds(state.header.stamp) for state in states])
    assert abs(stamps[-1] - time.time()) < 1.0
    assert np.all(np.diff(stamps) > 0.0)
    # on a busy machine steps come in bursts, and this process loses some states
    assert 0.7e-3 < np.mean(np.diff(stamps)) < 3e-3


@pytest.mark.parametrize('factor', [5.0, 0.0])
def test_other_than_real_time_has_a_clock_of_its_own(probe, factor):
    parameters = {'urdf_file': str(ARM), 'real_time_factor': factor, 'step': 0.01}
    with NodeProcess(MODULE, parameters):
        states = probe.subscribe(JointState, 'joint_states', 1000)
        clocks = probe.subscribe(Clock, '/clock', 1000)
        probe.until(lambda: len(states) > 5 and len(clocks) > 5, 'states and clocks')
        begun, first = time.monotonic(), seconds(states[-1].header.stamp)

        def passed():
            return seconds(states[-1].header.stamp) - first, time.monotonic() - begun

        # how fast it is depends on the machine
        probe.until(lambda: passed()[0] > passed()[1] + 3.0, 'time that passes faster')
        if factor:  # what was published before may have come late
            simulated, real = passed()
            assert simulated < factor * (real + 1.0)
            probe.until(lambda: abs(seconds(clocks[-1].clock) - seconds(states[-1].header.stamp))
                        < 0.1, 'a clock that is that of the states')


def test_bad_commands_are_dropped_counted_and_reported(
        simulator, probe, states, floating, model, gravity):
    diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')
    named = probe.publisher(JointState, 'joint_commands')
    good = gravity.tolist()
    for data in (good[:-1], [], good + [0.0], [*good[:-1], math.nan], [math.inf, *good[1:]]):
        floating.publish(Float64MultiArray(data=data))
    named.publish(JointState(name=['joint1', 'elbow'], effort=[1.0, 1.0]))
    named.publish(JointState(name=['joint1', 'joint1'], effort=[1.0, 1.0]))
    named.publish(JointState(name=['joint1', 'joint2'], effort=[1.0]))
    expected = {'dropped: wrong length': '4', 'dropped: not finite': '2',
                'dropped: unknown joint': '1', 'dropped: joint named twice': '1', 'commands': '1'}
    probe.until(lambda: diagnostics and expected.items() <= figures(diagnostics).items(),
                'the drops in the diagnostics')
    simulator.wait_for_output("joint 'elbow'")
    simulator.wait_for_output("effort inf for joint 'joint1'")
    simulator.wait_for_output('length 1 for 2 joints (joint1, joint2)')
    # the last good torque goes on
    np.testing.assert_allclose(newest(states), start_of(model), atol=1e-5)
    assert np.isfinite(states[-1].effort).all()


def test_named_efforts_move_the_named_joint_only_by_their_name(
        simulator, probe, states, gravity, model):
    named = probe.publisher(JointState, 'joint_commands')
    names = list(model.joint_names)
    named.publish(JointState(name=names[::-1], effort=gravity[::-1].tolist()))
    simulator.wait_for_output('brakes released')
    named.publish(JointState(name=['joint7'], effort=[gravity[6] + 0.5]))
    probe.until(lambda: newest(states)[6] > 0.2, 'joint7 to turn')
    probe.until(lambda: abs(states[-1].effort[6] - gravity[6] - 0.5) < 1e-12, 'its effort')
    np.testing.assert_allclose(states[-1].effort[:6], gravity[:6], rtol=1e-12, atol=1e-12)


def test_a_wrench_pushes_its_link_and_times_out(simulator, probe, states, floating, model):
    link = model.body_names[-1]
    message = WrenchStamped()
    message.header.frame_id = link
    message.wrench.torque.z = 0.2  # about the axis of joint7, not enough to reach its stop
    assert np.allclose(model.axis[-1], [0, 0, 1])
    wrenches = probe.publisher(WrenchStamped, 'robot_simulator/wrench')
    wrenches.publish(message)
    probe.until(lambda: newest(states)[6] > 0.01, 'the push to show')
    # pushed for half a second, then friction has it
    probe.until(lambda: abs(states[-1].velocity[6]) < 1e-3, 'joint7 to come to rest')
    message.header.frame_id = 'nothing'
    wrenches.publish(message)
    simulator.wait_for_output("no link 'nothing'")


def test_reset_pause_and_step(probe, gravity, model):
    parameters = {'urdf_file': str(ARM), 'initial_positions': START, 'steps_per_call': 10}
    with NodeProcess(MODULE, parameters) as simulator:
        states = probe.subscribe(JointState, 'joint_states')
        refused = probe.call(Trigger, 'robot_simulator/step')
        assert not refused.success and 'pause' in refused.message
        commands = probe.publisher(Float64MultiArray, COMMANDS)
        commands.publish(Float64MultiArray(data=[0.0] * model.nv))
        simulator.wait_for_output('brakes released')
        assert probe.call(SetBool, 'robot_simulator/pause', data=True).success
        probe.spin_for(0.2)
        count, before = len(states), newest(states)
        probe.spin_for(0.2)
        assert len(states) == count, 'states are published while paused'
        assert probe.call(Trigger, 'robot_simulator/step').success
        probe.until(lambda: len(states) == count + 10, 'the states of ten steps')
        assert np.any(newest(states) != before)
        assert probe.call(Trigger, 'robot_simulator/reset').success
        probe.until(lambda: np.all(newest(states) == start_of(model)), 'the initial positions')
        assert not probe.call(SetBool, 'robot_simulator/pause', data=False).message.count('paused')
        probe.until(lambda: len(states) > count + 100, 'states after the pause')
        assert np.all(newest(states) == start_of(model)), 'the brakes do not hold after reset'


def test_parameters_change_live_or_the_reason_is_reported(probe, states):
    assert probe.set_parameter('robot_simulator', 'publish_rate', 100) == (True, '')
    probe.spin_for(0.3)
    states.clear()
    probe.until(lambda: len(states) > 50, 'states')
    stamps = [seconds(state.header.stamp) for state in states]
    assert np.median(np.diff(stamps)) == pytest.approx(0.01, abs=1e-3)
    accepted, reason = probe.set_parameter('robot_simulator', 'friction_scale', -1.0)
    assert not accepted and 'friction_scale' in reason
    accepted, reason = probe.set_parameter('robot_simulator', 'step', 0.01)
    assert not accepted and 'read-only' in reason


def test_mimic_joints_are_published_and_never_commanded(probe):
    with NodeProcess(MODULE, {'robot_description': GRIPPER}) as simulator:
        states = probe.subscribe(JointState, 'joint_states')
        probe.until(lambda: states, 'a state')
        assert list(states[-1].name) == ['finger', 'other_finger']
        probe.publisher(Float64MultiArray, COMMANDS).publish(Float64MultiArray(data=[0.5]))
        simulator.wait_for_output('brakes released')
        probe.until(lambda: states[-1].velocity[0] > 0.01, 'the fingers to move')
        state = states[-1]
        assert state.position[1] == pytest.approx(0.25 - 2.0 * state.position[0], abs=1e-12)
        assert state.velocity[1] == pytest.approx(-2.0 * state.velocity[0], abs=1e-12)
        assert list(state.effort) == [0.5, 0.0]


def test_description_is_published_for_late_joiners_and_taken_from_the_topic(simulator, probe):
    descriptions = probe.subscribe(String, 'robot_description', latched())
    probe.until(lambda: descriptions, 'the description')
    assert descriptions[0].data == ARM.read_text()
    with NodeProcess(MODULE, arguments=['-r', '__node:=second']) as second:
        second.wait_for_output('held by brakes')
    assert len(descriptions) == 1


def test_a_diverging_plant_stops_with_brakes_and_logs_that(probe):
    parameters = {'robot_description': WHEEL, 'effort_limit': [1e15], 'step': 0.01}
    with NodeProcess(MODULE, parameters) as simulator:
        states = probe.subscribe(JointState, 'joint_states')
        commands = probe.publisher(Float64MultiArray, COMMANDS)
        commands.publish(Float64MultiArray(data=[1e14]))
        simulator.wait_for_output('diverged')
        assert re.search(r"diverged .* joint 'axle'", simulator.output)
        count = len(states)
        probe.until(lambda: len(states) > count + 20, 'states after the fault')
        for state in states:
            assert np.isfinite([*state.position, *state.velocity, *state.effort]).all()
        assert not any(states[-1].velocity)
        assert probe.call(Trigger, 'robot_simulator/reset').success
        commands.publish(Float64MultiArray(data=[1.0]))
        probe.until(lambda: any(states[-1].velocity), 'motion after the reset')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly(simulator, number):
    simulator.wait_for_output('held by brakes')
    assert simulator.stop(number)[0] == 0
    assert 'Traceback' not in simulator.output


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_wait_for_a_description(number):
    with NodeProcess(MODULE, {'description_timeout': 100.0}) as simulator:
        simulator.wait_for_output('waiting for a robot description on /robot_description')
        assert simulator.stop(number)[0] == 0
    assert 'Traceback' not in simulator.output


@pytest.mark.parametrize('parameters, words', [
    ({'urdf_file': '/nowhere/arm.urdf'}, ['/nowhere/arm.urdf', 'No such file']),
    ({'robot_description': '<robot name="x">'}, ['robot_simulator']),
    ({'robot_description': '/tmp/arm.urdf'}, ['robot_description', 'urdf_file']),
    ({'urdf_file': str(ARM), 'locked': ['joint9:0']}, ['joint9']),
    ({'urdf_file': str(ARM), 'locked': ['joint1']}, ['joint:position', 'joint1']),
    ({'urdf_file': str(ARM), 'initial_positions': ['joint1:99']}, ['joint1', '99', 'stops']),
    ({'urdf_file': str(ARM), 'initial_positions': ['jiont1:0']}, ['jiont1', 'joint1']),
    ({'urdf_file': str(ARM), 'command_joints': ['joint1']}, ['command_joints', 'joint2']),
    ({'urdf_file': str(ARM), 'effort_limit': [1.0, 2.0]}, ['effort_limit', '2 values', '7']),
    ({'urdf_file': str(ARM), 'stp': 1e-3}, ["'stp'", "'step'"]),
    ({'urdf_file': str(ARM), 'step': 'fast'}, ["'step'", "'fast'", 'number']),
    ({'urdf_file': str(ARM), 'step': -1.0}, ["'step'", '-1', 'least']),
    ({'description_timeout': 0.2}, ['/robot_description', 'urdf_file']),
])
def test_a_mistake_is_a_message_and_an_exit_code(parameters, words):
    with NodeProcess(MODULE, parameters) as simulator:
        assert simulator.wait() == 2
    assert 'Traceback' not in simulator.output
    for word in words:
        assert word in simulator.output
