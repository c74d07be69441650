"""Sensor errors, faults and mismatch of the simulator on its topics, and its reports."""
import math

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from controller_node import ARM, COMMANDS, HOME, MODEL, SIMULATOR  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from robodyn_ros.dynamics import Dynamics  # noqa: E402
from robodyn_ros.nodes.conversions import seconds  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

START = [f'{name}:{q}' for name, q in zip(MODEL.joint_names, HOME.tolist())]
HOLDING = Dynamics(MODEL).gravity(HOME)
NODE = 'robot_simulator'


@pytest.fixture
def probe():
    with Probe() as made:
        yield made


class Bench:
    """A simulator of the arm at home, and its messages."""

    def __init__(self, probe, **parameters):
        self.probe = probe
        self.process = NodeProcess(SIMULATOR, {
            'urdf_file': str(ARM), 'initial_positions': START, **parameters})

    def __enter__(self):
        self.states = self.probe.subscribe(JointState, 'joint_states', 200)
        self.truth = self.probe.subscribe(JointState, f'{NODE}/ground_truth', 200)
        self.diagnostics = self.probe.subscribe(DiagnosticArray, '/diagnostics')
        self.process.__enter__()
        try:
            self.process.wait_for_output('held by brakes')
            self.commands = self.probe.publisher(Float64MultiArray, COMMANDS)
        except BaseException:
            self.process.__exit__()
            raise
        return self

    def __exit__(self, *error):
        self.process.__exit__(*error)

    def change(self, name, value):
        return self.probe.set_parameter(NODE, name, value)

    def command(self, torque):
        self.commands.publish(Float64MultiArray(data=np.asarray(torque).tolist()))

    def lift(self):
        """Release the brakes with the gravity torque."""
        self.command(HOLDING)
        self.process.wait_for_output('brakes released')

    def until_reported(self, key, text):
        """Wait until the diagnostics have a figure that holds a text."""
        self.until_figure(key, lambda value: text in value, repr(text))

    def until_figure(self, key, good, what):
        """Wait until the diagnostics have a figure that is good."""
        self.probe.until(lambda: any(
            key == pair.key and good(pair.value) for array in self.diagnostics[-2:]
            for pair in array.status[0].values), f'{what} as {key!r} in the diagnostics')

    def until(self, condition, what, since=None):
        """Wait for a state that comes from now on and meets a condition; return it."""
        begin = len(self.states) if since is None else since

        def found():
            return next((state for state in self.states[begin:] if condition(state)), None)
        return self.probe.until(found, what)


def test_sensors_err_and_the_truth_is_beside(probe):
    parameters = {'sensors.resolution': [1e-3], 'sensors.effort_noise': [0.5],
                  'sensors.position_bias': [0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                  'sensors.dropout': 0.5, 'publish_rate': 200.0, 'seed': 3}
    with Bench(probe, **parameters) as bench:
        probe.until(lambda: len(bench.states) > 100 and len(bench.truth) > 100, 'states')
        truth = {seconds(state.header.stamp): state for state in bench.truth}
        pairs = [(state, truth[seconds(state.header.stamp)]) for state in bench.states
                 if seconds(state.header.stamp) in truth]
        assert len(pairs) > 20
        for sensed, true in pairs:
            np.testing.assert_allclose(true.position, HOME, atol=1e-12)
            np.testing.assert_allclose(true.effort, HOLDING, atol=1e-12)
            np.testing.assert_allclose(sensed.position, HOME + [0.01, 0, 0, 0, 0, 0, 0],
                                       atol=5.1e-4)
        errors = np.array([np.subtract(sensed.effort, true.effort) for sensed, true in pairs])
        assert 0.3 < errors.std() < 0.7
        bench.until_reported(
            'sensors differ in', 'resolution, position_bias, effort_noise, dropout')
        # half of the states are lost; and at run time none is
        assert bench.change('sensors.dropout', 0.0) == (True, '')
        assert bench.change('sensors.position_bias', [0.0]) == (True, '')
        bench.until(lambda state: abs(state.position[0] - HOME[0]) < 6e-4, 'no bias')


def test_faults_by_hand(probe):
    with Bench(probe) as bench:
        bench.lift()
        given = ['now freeze joint2 0.5', 'now nan joint1 0.3']
        assert bench.change('faults', given) == (True, '')
        faulty = bench.until(lambda state: math.isnan(state.position[0]), 'a NaN')
        assert np.isfinite(faulty.position[1:]).all()
        bench.process.wait_for_output('nan joint1 0.3')
        bench.until(lambda state: math.isfinite(state.position[0]), 'the end of it')
        bench.change('faults', ['now swap joint1 joint3 0.3', 'now clock_jump 0.3 5.0'])
        swapped = bench.until(lambda state: state.name[0] == 'joint3', 'a swap')
        assert seconds(swapped.header.stamp) - seconds(bench.truth[-1].header.stamp) > 4.0
        bench.change('faults', ['now missing joint4 0.2'])
        bench.until(lambda state: 'joint4' not in state.name, 'joint4 to be missing')
        bench.change('faults', ['now silence 30'])
        bench.until_reported('faults now', 'silence')
        probe.spin_for(0.1)  # what is on its way
        count = len(bench.states)
        probe.spin_for(0.3)
        assert len(bench.states) == count
        # the truth goes on; and an empty list ends all faults
        assert bench.change('faults', ['']) == (True, '')
        bench.until(lambda state: True, 'a state')
        bench.until_reported('faults now', 'none')
        bench.until_reported('faults so far: silence', '1')
        # faults requested by parameter do not occur again
        assert probe.call(Trigger, f'{NODE}/reset').success
        bench.until(lambda state: not any(state.velocity), 'rest')


def test_a_schedule_begins_again_after_a_reset(probe):
    with Bench(probe, faults=['0.3 missing joint1 0.2']) as bench:
        bench.process.wait_for_output('fault: 0.300 missing joint1')
        # a late subscriber receives it after a reset
        assert probe.call(Trigger, f'{NODE}/reset').success
        bench.until(lambda state: 'joint1' not in state.name, 'joint1 to be missing')
        bench.until_reported('faults so far: missing', '2')


def test_a_motor_without_torque_and_an_emergency_stop(probe):
    with Bench(probe) as bench:
        bench.lift()
        assert bench.change('faults', ['now torque_loss joint2 inf']) == (True, '')
        fallen = bench.until(lambda state: abs(state.position[1] - HOME[1]) > 0.05, 'joint2')
        assert fallen.effort[1] == 0.0 and fallen.effort[3] != 0.0
        bench.change('faults', ['now estop inf'])
        bench.until(lambda state: not any(state.velocity), 'the brakes')
        bench.command(HOLDING)  # in vain
        bench.until_reported('brakes', 'true')
        assert bench.change('faults', ['']) == (True, '')
        bench.until_reported('faults now', 'none')
        probe.spin_for(0.1)
        assert not any(bench.states[-1].velocity)
        bench.command(0.0 * HOLDING)
        bench.until(lambda state: any(state.velocity), 'motion after the emergency stop')


def test_an_arm_that_differs_from_its_model(probe):
    link = MODEL.body_names[-1]
    # slow enough for the probe to receive all messages
    parameters = {'mismatch.mass_scale': 1.1, 'payload.link': link, 'payload.mass': 0.5,
                  'publish_rate': 100.0}
    heavy = Dynamics(MODEL.with_payload(link, 0.5)).gravity(HOME) + 0.1 * HOLDING
    with Bench(probe, **parameters) as bench:
        held = bench.until(lambda state: True, 'a state', since=0)
        np.testing.assert_allclose(held.effort, heavy, atol=1e-9)
        bench.until_reported('arm differs in', 'link3: 1.1 of its mass')
        bench.until_reported('arm differs in', 'payload of 0.5 kg')
        # payload and mounting change at once
        assert bench.change('payload.mass', 0.0) == (True, '')
        bench.until(lambda state: np.allclose(state.effort, 1.1 * HOLDING, atol=1e-9), 'less')
        assert bench.change('mismatch.base_tilt', [math.pi, 0.0, 0.0]) == (True, '')
        bench.until(lambda state: np.allclose(state.effort, -1.1 * HOLDING, atol=1e-9), 'ceiling')
        assert bench.change('mismatch.base_tilt', [0.0, 0.0, 0.0]) == (True, '')
        # other masses are compiled first, while the arm goes on
        assert bench.change('mismatch.mass_scale', 1.0) == (True, '')
        bench.process.wait_for_output('the arm has changed')
        bench.until(lambda state: np.allclose(state.effort, HOLDING, atol=1e-9), 'the model')
        stamps = np.array([seconds(state.header.stamp) for state in bench.truth])
        assert np.diff(stamps).max() < 1.0, 'the arm fell silent'
        np.testing.assert_allclose(bench.states[-1].position, HOME, atol=1e-12)


def test_two_commanders_and_none(probe):
    with Bench(probe, command_timeout=0.5) as bench, Probe('rival') as rival:
        bench.lift()
        rival.publisher(Float64MultiArray, COMMANDS)
        bench.process.wait_for_output('2 nodes publish commands (/probe, /rival)')
        bench.until_reported('commanders', '/probe, /rival')
        bench.process.wait_for_output('s: brakes on')
        bench.until_reported('silences ended by brakes', '1')
        bench.command(0.0 * HOLDING)
        bench.until(lambda state: any(state.velocity), 'motion')


def test_mistakes_at_run_time_change_nothing(probe):
    with Bench(probe) as bench:
        for name, value, words in [
                ('faults', ['1.0 silence 0.1', '2.0 freeze joint9 0.1'], ["'joint9'", 'did you']),
                ('faults', ['soon'], ["'soon'", 'START KIND']),
                ('faults', ['now freez joint2 0.1'], ["'freez'", 'freeze']),
                ('mismatch.link_mass_scale', ['link9:1.1'], ["'link9'"]),
                ('mismatch.link_mass_scale', ['link3'], ["'link3'", 'link:factor']),
                ('mismatch.com_shift', ['link3:1,2'], ["'link3:1,2'", 'link:x,y,z']),
                ('mismatch.base_tilt', [0.1], ['1 numbers', 'roll']),
                ('payload.link', 'nothing', ["'nothing'"]),
                ('sensors.resolution', [0.1, 0.1], ['2 values', '7']),
                ('sensors.dropout', 2.0, ['sensors.dropout', '2']),
                ('real_time_factor', 0.5, ['wall clock']),
                ('lockstep', True, ['read-only'])]:
            accepted, reason = bench.change(name, value)
            assert not accepted, name
            for word in words:
                assert word in reason
        bench.until_reported('arm differs in', 'nothing')
        bench.until_reported('sensors differ in', 'nothing')
        bench.until_reported('faults now', 'none')


@pytest.mark.parametrize('parameters, words', [
    ({'faults': ['2.0 freez joint2 0.5']}, ["'freez'", "'freeze'"]),
    ({'mismatch.com_shift': ['link99:0,0,1']}, ["'link99'"]),
    ({'sensors.velocity_noise': [0.1, 0.1]}, ['sensors.velocity_noise', '2 values', '7']),
    ({'lockstep': True, 'real_time_factor': 2.0}, ['lockstep', 'real_time_factor', '2']),
])
def test_a_mistake_at_start_is_a_message_and_an_exit_code(parameters, words):
    with NodeProcess(SIMULATOR, {'urdf_file': str(ARM), **parameters}) as simulator:
        assert simulator.wait() == 2
    assert 'Traceback' not in simulator.output
    for word in words:
        assert word in simulator.output


def test_slow_motion_becomes_fast(probe):
    with Bench(probe, real_time_factor=0.2) as bench:
        assert bench.change('real_time_factor', 3.0) == (True, '')
        bench.until_figure('real time factor', lambda value: float(value) > 1.0, 'more than 1')
