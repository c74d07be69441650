"""The simulator's loop in machine code: the same steps as in Python, and none waits for it."""

import ctypes
import math
import os
from pathlib import Path
import signal
import struct
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
import rclpy  # noqa: E402
from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from robodyn_ros.nodes.conversions import seconds  # noqa: E402
from robodyn_ros.nodes.native import rcl  # noqa: E402
from robodyn_ros.nodes.native.thread import check_platform  # noqa: E402
from robodyn_ros.nodes.simulator.node import SimulatorNode  # noqa: E402
from robodyn_ros.settings import with_values  # noqa: E402
from robodyn_ros.simulation.faults import Fault, KINDS as FAULTS  # noqa: E402
from ros_process import NodeProcess, PATIENCE, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402
from test_nodes_simulator import (  # noqa: E402
    ARM, COMMANDS, figures, GRIPPER, MODULE, START, WHEEL)

try:
    check_platform()
except rcl.NativeLoopError as error:
    pytest.skip(str(error), allow_module_level=True)

NAME = 'robot_simulator'
STEPS = 400
KINDS = {'arrays': Float64MultiArray, 'named': JointState, 'wrenches': WrenchStamped}


# --- step by step ---------------------------------------------------------------------------

class Script:
    """
    What comes before which step, and what goes out, in place of the middleware.

    Parameters
    ----------
    messages : list of (int, str, bytes)
        Step, input and message, in the order in which they come.

    """

    def __init__(self, messages):
        self._messages = {kind: [row for row in messages if row[1] == kind] for kind in KINDS}
        self._step = lambda: 0
        self.sent, self.native, self.until = [], 0, 0

    def pop(self, kind, step=None):
        """Return the next message that waits on an input; None if there is none."""
        waiting, step = self._messages[kind], self._step() if step is None else step
        return waiting.pop(0)[2] if waiting and waiting[0][0] <= step else None

    def steer(self, node):
        """Let the messages come to a node, and keep what it sends."""
        self._step = lambda: node.arm.total_steps
        for kind in KINDS:
            setattr(node.inputs, kind, _Wire(self, kind))
        for name in ('states', 'truth', 'clock'):
            setattr(node.states, name, _Topic(self, name))
        if node._native is not None:
            self._steer_loop(node._native._loop)

    def _steer_loop(self, loop):
        block = loop.block
        kinds = {block[f'{kind}_subscription']: kind for kind in KINDS}
        topics = {block[name]: name for name in ('states', 'truth', 'clock') if block[name]}

        def take(subscription, message, _allocation, _info):
            if block['total_steps'] >= self.until - 1:
                block['stop'] = 1
            data = self.pop(kinds[subscription], block['total_steps'])
            if data is None:
                return 401
            at = rcl.SerializedMessage.from_address(message)
            ctypes.memmove(at.buffer, data, len(data))
            at.length = len(data)
            return rcl.OK

        def publish(publisher, message, _allocation):
            at = rcl.SerializedMessage.from_address(message)
            self.native += 1
            self.sent.append((topics[publisher], ctypes.string_at(at.buffer, at.length)))
            return rcl.OK

        self._kept = []
        for name, function in (('take', take), ('publish', publish)):
            arguments = function.__code__.co_argcount
            kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * arguments)
            self._kept.append(kind(function))
            block[name] = ctypes.cast(self._kept[-1], ctypes.c_void_p).value


class _Wire:
    """A subscription whose messages a script has."""

    def __init__(self, script, kind):
        self._script, self._kind = script, kind

    def waiting(self):
        while (data := self._script.pop(self._kind)) is not None:
            yield deserialize_message(data, KINDS[self._kind])


class _Topic:
    """A publisher whose messages a script keeps."""

    def __init__(self, script, name):
        self._script, self._name = script, name

    def publish(self, message):
        data = message if isinstance(message, bytes) else serialize_message(message)
        self._script.sent.append((self._name, data))

    def get_subscription_count(self):
        return 1


def run(loop, messages, steps=STEPS, change=None, **parameters):
    """Return a node and its script after some steps."""
    script = Script(messages)
    values = {'real_time_factor': 0.0, 'loop': loop, **parameters}
    settings = [part for name, value in values.items() for part in (
        '-p', f'{name}:={value if isinstance(value, str) else str(value).lower()}')]
    rclpy.init(args=['--ros-args', *settings])
    try:
        node = SimulatorNode()
        try:
            script.steer(node)
            node.states.update_subscribers()
            for number in (steps // 2, steps) if change else (steps,):
                step(node, script, number)
                if change and number < steps:
                    change(node)
        finally:
            if node._native is not None:
                node._native.close()
            node.destroy_node()
    finally:
        rclpy.shutdown()
    return node, script


def step(node, script, steps):
    """Make steps as the node does in its work, up to a number of them."""
    script.until = steps
    while node.arm.total_steps < steps:
        if node._native is None or not node._native.run_once():
            node._step()
            continue
        thread = node._native._loop._thread._thread
        thread.join(PATIENCE)
        assert not thread.is_alive()
        if not node._native._loop.ended:  # it was stopped at the last step
            node._stop_native()


def array(values, labels=()):
    layout = MultiArrayLayout(dim=[MultiArrayDimension(label=each, size=len(values))
                                   for each in labels])
    return serialize_message(Float64MultiArray(layout=layout, data=list(values)))


def named(names, efforts, frame=''):
    message = JointState(name=list(names), effort=list(efforts))
    message.header.frame_id = frame
    return serialize_message(message)


def push(link, force):
    message = WrenchStamped()
    message.header.frame_id = link
    message.wrench.force.x = force
    return serialize_message(message)


def commands(nv, seed=1, steps=STEPS):
    """Return messages of random torques, in both forms, of all joints or of some."""
    random, names = np.random.default_rng(seed), [f'joint{j + 1}' for j in range(nv)]
    messages, forms = [], [random.permutation(nv)[:count] for count in (nv, 1, nv // 2)]
    for number in range(20, steps, 3):
        torque = random.normal(scale=20.0, size=nv)
        chosen = forms[random.integers(len(forms))]
        messages += [
            (number, 'arrays', array(torque)) if random.random() < 0.5 else
            (number, 'named', named([names[j] for j in chosen], torque[chosen]))]
    return messages


def same(messages, share=0.8, **options):
    """Run a script in both loops; return the nodes, after all was the same to the last bit."""
    ours, script = run('native', messages, **options)
    theirs, reference = run('python', messages, **options)
    assert script.sent == reference.sent
    assert ours.decimation == theirs.decimation
    plant, other = ours.arm.plant, theirs.arm.plant
    assert plant.state.tobytes() == other.state.tobytes()
    for name in ('total_steps', 'commanded_step', 'silences'):
        assert getattr(ours.arm, name) == getattr(theirs.arm, name), name
    assert (plant.steps, plant.brakes, plant.fault) == (other.steps, other.brakes, other.fault)
    assert ours.commands.received == theirs.commands.received
    assert ours.commands.refusals.counts == theirs.commands.refusals.counts
    assert ours.commands.torque.tobytes() == theirs.commands.torque.tobytes()
    assert script.native >= share * len(script.sent)
    assert reference.native == 0
    return ours, script


def test_steps_are_the_same_to_the_last_bit():
    node, script = same(commands(7), urdf_file=str(ARM), command_joints=str(
        [f'joint{j}' for j in (3, 1, 2, 7, 6, 5, 4)]))
    assert {name for name, _ in script.sent} == {'states', 'truth', 'clock'}
    assert np.abs(node.arm.plant.qd).max() > 0.1
    stamps = [seconds(deserialize_message(data, JointState).header.stamp)
              for name, data in script.sent if name == 'states']
    np.testing.assert_allclose(np.diff(stamps), 1e-3, atol=1e-9)


@pytest.mark.parametrize('parameters', [
    {'publish_rate': 100.0}, {'backlash': [0.01], 'armature': [0.1]}, {'integrator': 'rk4'},
    {'command_timeout': 0.02, 'friction_scale': 0.0}])
def test_variants_are_the_same(parameters):
    messages = [row for row in commands(7) if not 100 < row[0] < 200]
    node, _ = same(messages, urdf_file=str(ARM), share=0.75, **parameters)
    assert node.arm.silences == (1 if 'command_timeout' in parameters else 0)


def test_joints_that_mimic_others_are_the_same():
    same([(30, 'arrays', array([0.5]))], robot_description=GRIPPER)


def test_messages_of_other_forms_are_read_in_their_order():
    """Of forms to be learned; others are refused, for the same reasons, between good ones."""
    values = np.linspace(-3.0, 3.0, 7)
    names = [f'joint{j}' for j in range(1, 8)]
    odd = [(30, 'arrays', array(values, ['torques'])), (31, 'arrays', array(2.0 * values)),
           (31, 'arrays', array(values, ['torques'])), (32, 'named', named(names, values, 'base')),
           (33, 'named', named(names, -values, 'base')), (40, 'arrays', array(3.0 * values))]
    same(odd, urdf_file=str(ARM), share=0.7)
    wild = values.copy()
    wild[3] = math.inf
    bad = [(50, 'arrays', array(wild)), (50, 'arrays', array(values[:3])),
           (50, 'arrays', array(values)), (50, 'arrays', array([])),
           (51, 'named', named(['joint1', 'elbow'], [1.0, 2.0])),
           (51, 'named', named(['joint1', 'joint1'], [1.0, 2.0])),
           (51, 'named', named(['joint1'], [math.nan])), (51, 'named', named(['joint2'], [])),
           (51, 'named', named(['joint3'], [1.0]))]
    node, _ = same(odd + bad, urdf_file=str(ARM), share=0.05)
    assert node.commands.refusals.counts == {
        'not finite': 2, 'wrong length': 3, 'unknown joint': 1, 'joint named twice': 1}


def test_a_damaged_command_is_refused_and_nothing_ends():
    data = array(np.ones(7))
    for damaged in (data[:30], struct.pack('<4s20s', data[:4], b'\xff' * 20), b''):
        _, script = run('native', [(30, 'arrays', damaged), (60, 'arrays', data)], steps=100,
                        urdf_file=str(ARM))
        states = [deserialize_message(data, JointState) for name, data in script.sent
                  if name == 'states']
        assert not any(states[50].velocity) and any(states[80].velocity)


def test_faults_and_pushes_are_python_s_and_begin_at_the_same_step():
    faults = ['0.1 silence 0.05', '0.2 torque_loss joint2 0.03', '0.3 estop 0.02']
    messages = [*commands(7), (250, 'wrenches', push('link7', 5.0))]
    node, _ = same(sorted(messages, key=lambda row: row[0]), urdf_file=str(ARM), share=0.4,
                   faults=str(faults).replace("'", '"'), wrench_timeout=0.02)
    assert sum(node.arm.measurement._schedule.counts.values()) == 3


def test_faults_of_all_kinds_are_the_same():
    amounts = {'delay': 0.004, 'clock_jump': -0.2, 'velocity_scale': -1.0,
               'velocity_outliers': 10.0, 'second_arm': 0.02}
    joints = [f'joint{j}' for j in range(1, 8)]
    faults = [str(Fault(0.015 * (k + 1), name, joints[:kind.joints[0]], 0.01,
                        amounts.get(name, 0.0))) for k, (name, kind) in enumerate(FAULTS.items())]
    node, _ = same(commands(7), urdf_file=str(ARM), share=0.1,
                   faults=str(faults).replace("'", '"'))
    assert sum(node.arm.measurement._schedule.counts.values()) == len(FAULTS)


def test_a_plant_that_diverges_is_the_same():
    node, _ = same([(30, 'arrays', array([1e14])), (200, 'arrays', array([1.0]))],
                   robot_description=WHEEL, effort_limit=[1e15], step=0.01)
    assert 'diverged' in node.arm.plant.fault and node.arm.plant.brakes


def reset(node):
    node._on_reset(None, Trigger.Response())


def pause_and_step(node):
    node._on_pause(SetBool.Request(data=True), SetBool.Response())
    for _ in range(3):
        assert node._on_step(None, Trigger.Response()).success
    node._on_pause(SetBool.Request(data=False), SetBool.Response())


def soften(node):
    node._change(with_values(node.values, {'friction_scale': 0.1}), ['friction_scale'], None)


def load(node):
    values = with_values(node.values, {'payload.link': 'link7', 'payload.mass': 2.0})
    names = ['payload.link', 'payload.mass']
    node._change(values, names, node._check_change(values, names))
    node.arm._build.wait()
    node._replace_plant()
    assert node.arm.plant.model.payloads


@pytest.mark.parametrize('change', [reset, pause_and_step, soften, load])
def test_services_and_parameters_are_the_same(change):
    same(commands(7), urdf_file=str(ARM), change=change)


# --- in a process of its own ----------------------------------------------------------------

@pytest.fixture
def probe():
    with Probe() as made:
        yield made


def started(module=MODULE, **parameters):
    return NodeProcess(module, {'urdf_file': str(ARM), 'initial_positions': START, **parameters})


def test_states_go_on_while_another_keeps_the_interpreter(monkeypatch, probe):
    here = str(Path(__file__).resolve().parents[1] / 'benchmark')
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join(
        filter(None, [here, os.environ.get('PYTHONPATH')])))
    monkeypatch.setenv('STALLS', '1.0 1.0')
    with started('stalling_simulator') as process:
        states = probe.subscribe(JointState, 'joint_states', 1000)
        process.wait_for_output('loop: native')
        probe.until(lambda: len(states) > 100, '100 states')
        states.clear()
        process.process.send_signal(signal.SIGUSR1)
        probe.until(lambda: process.logged('interpreter free'), 'the end')
        count = len(states)
        probe.until(lambda: len(states) > count + 10, 'states after it')
        gaps = np.diff([seconds(state.header.stamp) for state in states])
        # Python was held up for 1 s
        assert len(gaps) > 200 and gaps.max() < 0.8, 'a state has waited'


@pytest.mark.parametrize('loop', ['auto', 'python'])
def test_states_after_a_pause_carry_the_times_of_their_steps(probe, loop):
    """Protects from states 20 us apart that carry 2 ms of motion."""
    with started(loop=loop) as process:
        states = probe.subscribe(JointState, 'joint_states', 1000)
        probe.until(lambda: len(states) > 20, '20 states')
        process.process.send_signal(signal.SIGSTOP)
        time.sleep(0.03)
        process.process.send_signal(signal.SIGCONT)
        count = len(states)
        probe.until(lambda: len(states) > count + 40, 'states after it')
        stamps = np.array([seconds(state.header.stamp) for state in states])
        period = np.median(np.diff(stamps))
        assert np.diff(stamps).min() > 0.6 * period


@pytest.mark.parametrize('loop, line, word', [
    ('auto', 'loop: native', 'native'),
    ('python', 'loop: python, because the parameter loop is python',
     'python: the parameter loop is python')])
def test_the_loop_is_reported_and_subscribes(probe, loop, line, word):
    with started(loop=loop) as process:
        process.wait_for_output(line)
        states = probe.subscribe(JointState, 'joint_states')
        diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')
        probe.publisher(Float64MultiArray, COMMANDS).publish(
            Float64MultiArray(data=[0.0] * 7))
        process.wait_for_output('brakes released')
        probe.until(lambda: states and np.abs(states[-1].velocity).max() > 0.01, 'motion')
        probe.until(lambda: diagnostics and figures(diagnostics)['commands'] == '1', 'figures')
        assert figures(diagnostics)['loop'] == word
        assert int(figures(diagnostics)['steps']) > 0


def test_a_loop_that_is_to_be_native_and_cannot_be_is_refused():
    with started(loop='native', lockstep=True) as process:
        assert process.wait() == 2
    assert 'loop: native is not possible: lockstep is set; set loop to auto' in process.output


def test_python_has_the_loop_in_lockstep():
    with started(lockstep=True) as process:
        process.wait_for_output('loop: python, because lockstep is set')


def test_faults_are_switched_on_and_off_while_it_runs(probe):
    with started() as process:
        states = probe.subscribe(JointState, 'joint_states', 1000)
        diagnostics = probe.subscribe(DiagnosticArray, '/diagnostics')
        probe.until(lambda: states, 'a state')

        def loops(begin):
            return bool(diagnostics) and figures(diagnostics)['loop'].startswith(begin)

        for fault, begin in ((['now silence inf'], 'python: faults'), ([], 'native')):
            assert probe.set_parameter(NAME, 'faults', fault)[0]
            probe.until(lambda: loops(begin), begin)
        count = len(states)
        probe.until(lambda: len(states) > count + 100, 'states after the fault')
        for noise, begin in (([0.01], 'python: sensors are not ideal'), ([0.0], 'native')):
            assert probe.set_parameter(NAME, 'sensors.position_noise', noise)[0]
            probe.until(lambda: loops(begin), begin)
        stamps = np.array([seconds(state.header.stamp) for state in states])
        assert np.all(np.diff(stamps) > 0.0)
        assert 'Traceback' not in process.output


def test_priority_is_that_of_who_makes_the_steps(probe):
    with started(**{'realtime.priority': 5}) as process:
        process.wait_for_output('loop: native')
        if not process.logged('real-time priority 5'):
            pytest.skip('no real-time priority here')
        main = process.process.pid

        def policies():
            return [os.sched_getscheduler(int(task)) for task in os.listdir(f'/proc/{main}/task')]

        probe.until(lambda: os.sched_getscheduler(main) == os.SCHED_OTHER, 'the native loop')
        assert policies().count(os.SCHED_FIFO) > 1
        assert probe.set_parameter(NAME, 'sensors.effort_bias', [1.0])[0]
        probe.until(lambda: os.sched_getscheduler(main) == os.SCHED_FIFO, 'the loop in Python')


def test_requests_at_any_moment(probe):
    """The plant changes hands hundreds of times while commands come."""
    choose = np.random.default_rng(1)
    with started(command_timeout=0.5) as process:
        torques = probe.publisher(Float64MultiArray, COMMANDS)
        states = probe.subscribe(JointState, 'joint_states')
        process.wait_for_output('loop: native')
        for _ in range(60):
            torques.publish(Float64MultiArray(data=choose.normal(size=7).tolist()))
            what = choose.integers(4)
            if what == 0:
                assert probe.call(Trigger, f'{NAME}/reset').success
            elif what == 1:
                for paused in (True, False):
                    assert probe.call(SetBool, f'{NAME}/pause', data=paused).success
            elif what == 2:
                assert probe.set_parameter(NAME, 'friction_scale', choose.uniform())[0]
            else:
                assert probe.set_parameter(NAME, 'payload.mass', choose.uniform())[0]
        states.clear()
        probe.until(lambda: len(states) > 100, 'states after all that')
        assert process.stop()[0] == 0
    for word in ('Traceback', 'Fatal', 'ERROR'):
        assert word not in process.output
