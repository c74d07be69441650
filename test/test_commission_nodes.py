"""The command `robodyn commission` through the nodes."""

import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

from robodyn_ros.cli.main import main
from robodyn_ros.commissioning.dry_run import true_urdf, Truth
from robodyn_ros.commissioning.folder import Folder
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.model.robot import Robot
from robodyn_ros.share import share_path
from robodyn_ros.simulation.motion import plan_motion

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from robodyn_ros.nodes.process import deferring_interrupt  # noqa: E402
from ros_process import NodeProcess  # noqa: E402

ARM = share_path('urdf', 'robodyn6.urdf')


def test_a_controller_that_runs_already_is_not_taken_for_our_own(tmp_path, monkeypatch):
    from robodyn_ros.commissioning import ros_arm
    recorder = SimpleNamespace(controllers=lambda: 1, wait=lambda until, _timeout: until(),
                               close=lambda: None)
    monkeypatch.setattr(ros_arm, 'Sender', lambda *_: SimpleNamespace(recorder=recorder))
    monkeypatch.setattr(ros_arm.Children, 'start', lambda *_: pytest.fail('it starts another'))
    arm = ros_arm.RosArm(Robot(ARM), Robot(ARM).load(), tmp_path, lambda: None)
    with pytest.raises(StateError, match='computed_torque_controller runs already: end it'):
        arm.start(ARM, {})
    assert not arm.hold()
    arm.stop()


def test_the_arm_of_a_namespace(tmp_path, monkeypatch):
    from robodyn_ros.commissioning import ros_arm
    started = []
    monkeypatch.setattr(ros_arm.Children, 'start', lambda _, name, module, arguments, log: (
        started.append(arguments) or SimpleNamespace(
            last_message=lambda: 'no state', messages=lambda: [])))
    monkeypatch.setattr(ros_arm, '_DISCOVERY', 0.0)
    monkeypatch.setattr(ros_arm, '_START', 0.0)
    arm = ros_arm.RosArm(Robot(ARM), Robot(ARM).load(), tmp_path, lambda: None, namespace='left')
    with pytest.raises(StateError, match='does not hold the arm'):
        arm.start(ARM, {})
    assert started[0][:3] == ['--ros-args', '-r', '__ns:=/left']
    sender = arm._sender
    assert sender.recorder.states.topic == '/left/joint_states'
    assert sender.recorder.references.topic == '/left/computed_torque_controller/reference'
    # diagnostics are of all arms
    sender.recorder.diagnostics += [
        ('/left/computed_torque_controller: controller', {'fault': 'ours'}),
        ('/right/computed_torque_controller: controller', {'fault': 'theirs'})]
    assert sender._newest() == {'fault': 'ours'}
    arm.stop()
    with pytest.raises(ParameterError, match='not a valid namespace'):
        ros_arm.RosArm(Robot(ARM), Robot(ARM).load(), tmp_path, lambda: None,
                       namespace='left arm').attach()


def test_a_controller_that_goes_on_refusing_the_arm_is_not_waited_for(tmp_path, monkeypatch):
    from robodyn_ros.commissioning import ros_arm
    log = [('INFO', "waiting: joint 'joint2' reports -9.42 at rest")] * 6
    monkeypatch.setattr(ros_arm.Children, 'start', lambda *_: SimpleNamespace(
        last_message=lambda: log[-1][1], messages=lambda: log))
    monkeypatch.setattr(ros_arm, '_DISCOVERY', 0.0)
    monkeypatch.setattr(ros_arm, '_START', 1e6)
    arm = ros_arm.RosArm(Robot(ARM), Robot(ARM).load(), tmp_path, lambda: None)
    with pytest.raises(StateError, match="does not hold the arm: waiting: joint 'joint2' reports"):
        arm.start(ARM, {})
    arm.stop()


class Controller:
    """A controller process whose log is given."""

    def __init__(self, text, order):
        self._text, self._order, self.may_end, self.exit_code = text, order, False, None

    def messages(self):
        return [('INFO', self._text)]

    def last_message(self):
        return self._text

    def stop(self):
        self._order.append(self._text)
        assert self.may_end
        self.exit_code = 0


@pytest.mark.parametrize('text, ends', [
    ('waiting: another node publishes on /commands: one commander', ['present']),
    ('waiting: no joint state yet', ['waiting: no joint state yet'])])
def test_the_present_controller_ends_when_the_next_one_is_ready(text, ends, tmp_path, monkeypatch):
    from robodyn_ros.commissioning import ros_arm
    ended, asked = [], []
    left = [Controller('present', ended), Controller(text, ended)]
    stream = SimpleNamespace(messages=[1], __len__=lambda: 1)
    counts = iter([0, 1, 1])
    recorder = SimpleNamespace(
        controllers=lambda: next(counts), wait=lambda until, _timeout: bool(until()),
        states=stream, references=stream, close=lambda: None, call=asked.append)
    monkeypatch.setattr(ros_arm, 'Sender', lambda *_: SimpleNamespace(
        recorder=recorder, wait_for_loop=lambda: None))
    monkeypatch.setattr(ros_arm.Children, 'start', lambda *_: left.pop(0))
    monkeypatch.setattr(ros_arm.Children, 'stop', lambda _: None)
    arm = ros_arm.RosArm(Robot(ARM), Robot(ARM).load(), tmp_path, lambda: None)
    arm.start(ARM, {})
    if ends == ['present']:
        arm.start(ARM, {})
    else:
        with pytest.raises(StateError, match='the present one holds the arm: .*no joint state'):
            arm.start(ARM, {})
    assert ended == ends
    assert arm.hold() and asked == ['hold']  # one of them holds the arm


def test_an_arm_does_not_fall_between_two_controllers(tmp_path):
    from robodyn_ros.commissioning.ros_arm import RosArm
    robot = Robot(ARM)
    dynamics = Dynamics(robot.load())
    truth = Truth.draw(dynamics, 1)
    path = tmp_path / 'true.urdf'
    path.write_text(true_urdf(robot, dynamics, truth))
    start = plan_motion(dynamics, 3.0, 0.3).start
    # a busy machine
    given = {'stale.hold': 0.6, 'stale.stop': 1.0, 'stale.max_skew': 5.0, 'measure_loop': False}
    arm = RosArm(robot, dynamics.model, tmp_path, lambda: None)
    with NodeProcess('robodyn_ros.nodes.simulator.node', {
            'urdf_file': str(path), 'armature': truth.armature.tolist(), 'initial_positions': [
                f'{name}:{q!r}' for name, q in zip(dynamics.model.joint_names, start.tolist())]}):
        try:
            arm.start(ARM, given)
            held = arm.watch(0.2).position[-1]
            arm.start(path, given)
            assert np.abs(arm.watch(0.2).position - held).max() < 0.05
        finally:
            arm.stop()
    first, second = ((tmp_path / f'{name}.log').read_text()
                     for name in ('controller', 'controller2'))
    assert 'deactivated: the last torque is the gravity torque' in first
    assert second.index('waiting: another node publishes') < second.index('active: the arm')


@pytest.fixture
def default_interrupt():
    """Python's handler of SIGINT; a background job of a shell ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interruption_does_not_fall_into_a_message(default_interrupt):
    """In rclpy's conversions KeyboardInterrupt becomes a TypeError."""
    passed = []

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        passed.append('after the signal')

    with pytest.raises(KeyboardInterrupt):
        deferring_interrupt(work)
    assert passed and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert deferring_interrupt(lambda: 1) == 1
    # a handler of the program's own is called at once
    own = []
    before = signal.signal(signal.SIGINT, lambda *_: own.append(len(passed)))
    try:
        deferring_interrupt(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert own == [1] and len(passed) == 2


@pytest.mark.slow
def test_the_dry_run_with_its_nodes(tmp_path, capsys):
    assert main(['commission', str(ARM), '--dry-run', '--yes', '--folder', str(tmp_path),
                 '--duration', '10', '--search', '2']) == 0
    done = Folder(tmp_path, [*Robot(ARM).options(), '--dry-run', '0']).done
    assert max(done['after']['rms']) < 1.0 < 0.1 * max(done['before']['rms'])
    assert (tmp_path / 'report.html').stat().st_size > 1000
