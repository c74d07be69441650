"""`robodyn excite --send`: a running controller makes the motion, or the reason is reported."""
import math
from threading import Thread
import time
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='a controller needs ROS 2')
pytest.importorskip('rosbags', reason='bags need the extra `record`')

from controller_node import ARM, CONTROLLER, NODE, PATIENT, RATE, SIMULATOR  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from robodyn_ros.cli import excite as command  # noqa: E402
from robodyn_ros.cli.main import main, USER_MISTAKE  # noqa: E402
from robodyn_ros.client import sender as client  # noqa: E402
from robodyn_ros.client.recorder import JointStream  # noqa: E402
from robodyn_ros.client.sender import Sender  # noqa: E402
from robodyn_ros.exceptions import StateError  # noqa: E402
from robodyn_ros.nodes import qos  # noqa: E402
from ros_process import NodeProcess, Probe  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

SHORT = ('--duration', '2', '--frequency', '0.6', '--search', '0', '--approach', '2',
         '--velocity', '0.2', '--send', '--yes', '--at-the-stop')
URDF = {'urdf_file': str(ARM)}
# friction that the model does not have keeps the arm from such a goal for ever
# a pause of the simulator ends no motion, whose goal is not met
STRICT = {'friction_scale': 0.0, 'constraints.goal': [1e-7], 'stale.hold': 1.0, 'stale.stop': 2.0}


@pytest.fixture
def excite(tmp_path, capsys, monkeypatch):
    """Return a function that runs the command; it returns exit code and output."""
    monkeypatch.setattr(command, 'set_priority', lambda _: None)  # of all tests after this one

    def run(*arguments):
        code = main(['excite', str(ARM), *SHORT, '--output', str(tmp_path / 'excitation.yaml'),
                     *arguments])
        return code, ''.join(capsys.readouterr())
    return run


def test_a_motion_that_was_ended_between_two_polls_has_begun():
    references = JointStream.__new__(JointStream)
    references.messages = []
    sender = Sender.__new__(Sender)
    sender._model, sender._refused = SimpleNamespace(joint_names=('joint',)), None
    sender.recorder = SimpleNamespace(references=references, recorded=[references],
                                      diagnostics=[], controller='/arm')
    sender.restart()

    def poll(*velocities):
        references.messages += [(0, serialize_message(JointState(
            name=['joint'], position=[0.0], velocity=[each]))) for each in velocities]
        assert not sender._is_over()
        return sender.moved

    sender._received = time.monotonic()
    assert not poll(0.0, 0.0)
    assert poll(0.0, 0.3, 0.0) and math.isfinite(sender._rested)


def test_an_interruption_holds_the_arm(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    sender, called = Sender.__new__(Sender), []
    sender._model, sender._refused = SimpleNamespace(joint_names=('joint',)), None
    sender.recorder = SimpleNamespace(
        references=SimpleNamespace(newest=lambda _: SimpleNamespace(stamp=[0])), recorded=[],
        send_motion=lambda *_: None, wait=interrupted, call=called.append)
    monkeypatch.setattr(sender, 'wait_for_controller', lambda: None)
    monkeypatch.setattr(sender, '_wait_for_diagnostics', dict)
    sender.restart()
    with pytest.raises(KeyboardInterrupt):
        sender.execute(([0.0, 1.0],))
    assert called == ['hold']


@pytest.mark.parametrize('after, reason', [
    ({'last motion': 'aborted: joint states: silent'}, 'aborted: joint states: silent'),
    ({'trajectories refused': '1', 'last refusal': 'too fast'}, 'too fast'),
    ({'fault': 'velocity of joint1'}, 'velocity of joint1'), ({}, 'see its log')])
def test_why_a_motion_does_not_begin(monkeypatch, after, reason):
    before = {'trajectories refused': '0', 'last motion': 'the goal is reached'}
    diagnostics = iter([before, {**before, **after}])
    sender = Sender.__new__(Sender)
    sender._model = SimpleNamespace(joint_names=('joint',))
    sender.recorder = SimpleNamespace(
        references=SimpleNamespace(newest=lambda _: SimpleNamespace(stamp=[0])), recorded=[],
        send_motion=lambda *_: None, wait=lambda *_: True)
    monkeypatch.setattr(sender, 'wait_for_controller', lambda: None)
    monkeypatch.setattr(sender, '_wait_for_diagnostics', lambda: next(diagnostics))
    sender.restart()
    with pytest.raises(StateError, match=f'does not begin the motion; {reason}$'):
        sender.execute(([0.0, 1.0],))


def test_a_motion_that_the_controller_did_not_receive_is_sent_again(monkeypatch):
    clock, sent = [0.0], []
    monkeypatch.setattr('robodyn_ros.client.sender.time',
                        SimpleNamespace(monotonic=lambda: clock[0]))
    sender = Sender.__new__(Sender)
    sender._model = SimpleNamespace(joint_names=('a',))
    sender._accepted, sender._refused, sender._points = '3', '0', ()
    sender.recorder = SimpleNamespace(
        references=[], recorded=[], diagnostics=[], controller='/arm',
        send_motion=lambda *_: sent.append(clock[0]))
    sender.restart()
    sender._sent = sender._repeated = sender._received = 0.0

    def says(second, accepted):
        clock[0] = second
        sender.recorder.diagnostics.append(('/arm: controller', {
            'mode': 'tracking', 'trajectories accepted': accepted, 'trajectories refused': '0'}))
        assert not sender._is_refused(second)

    says(1.0, '3')
    assert not sent, 'diagnostics come once a second'
    says(2.6, '3')
    says(3.0, '3')
    assert sent == [2.6]
    says(9.0, '4')
    assert sent == [2.6]


def test_a_paused_motion_is_not_over(monkeypatch):
    references, clock = JointStream.__new__(JointStream), [0.0]
    references.messages = []
    monkeypatch.setattr('robodyn_ros.client.sender.time',
                        SimpleNamespace(monotonic=lambda: clock[0]))
    sender = Sender.__new__(Sender)
    sender._model, sender._refused = SimpleNamespace(joint_names=('joint',)), None
    sender.recorder = SimpleNamespace(references=references, recorded=[references],
                                      diagnostics=[], controller='/arm')
    sender.restart()
    sender._end = 10**9

    def ends(second, velocity, speed):
        """Return whether it is over two seconds after a reference of a time."""
        sender.recorder.diagnostics.append(('/arm: controller', {
            'mode': 'tracking', 'speed along the path': speed}))
        for later in (0.0, 2.0):
            clock[0] += later
            message = JointState(name=['joint'], position=[0.0], velocity=[velocity], effort=[0.0])
            message.header.stamp.sec = second
            references.messages.append((0, serialize_message(message)))
            over = sender._is_over()
            sender._received = clock[0]
        return over

    assert not ends(0, 1.0, '100 %')
    assert not ends(5, 0.0, '0 % (paused)')
    assert not ends(6, 1.0, '100 %')
    assert ends(7, 0.0, '100 %')


def hold_in_motion(probe):
    """Return a thread that requests a hold as soon as the arm moves."""
    sent = probe.subscribe(JointState, f'{NODE}/reference', qos.newest())

    def hold():
        probe.until(lambda: sent and max(map(abs, sent[-1].velocity)) > 0.05, 'a motion')
        assert probe.call(Trigger, f'{NODE}/hold').success

    thread = Thread(target=hold, daemon=True)
    thread.start()
    return thread


def test_a_motion_is_made_or_the_reason_is_reported(tmp_path, excite, monkeypatch):
    with NodeProcess(SIMULATOR, {**URDF, 'publish_rate': RATE}), Probe() as probe, NodeProcess(
            CONTROLLER, {**URDF, **PATIENT, **STRICT}) as controller:
        controller.wait_for_output('active')
        code, output = excite('--bag', str(tmp_path / 'run'))
        assert code == 0, output + controller.output
        assert "does not meet its goal tolerance: joint 'joint" in output
        assert (tmp_path / 'run' / 'metadata.yaml').exists()
        controller.wait_for_output("s after the last point: joint 'joint")

        # the arm stands where the motion begins, and rests there for longer than it may hesitate
        monkeypatch.setattr(client, '_BEGIN', 3.0)
        thread = hold_in_motion(probe)
        code, output = excite('--bag', str(tmp_path / 'part'), '--approach', '4')
        thread.join()
        assert code == USER_MISTAKE
        assert 'the motion is not complete; hold was requested' in output
        assert (tmp_path / 'part' / 'metadata.yaml').exists()

        assert probe.call(SetBool, 'robot_simulator/pause', data=True).success
        controller.wait_for_output('fault')
        assert probe.call(SetBool, 'robot_simulator/pause', data=False).success
        code, output = excite()
        assert code == USER_MISTAKE
        assert 'does not begin the motion; a fault is latched: joint states' in output
        assert 'reset_fault' in output
