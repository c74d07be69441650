"""A bridge to a library: its torques, silence, faults and end; the library is an invented one."""

import os
from pathlib import Path
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

import rclpy  # noqa: E402
from robodyn_ros.cli import bridge as command  # noqa: E402
from robodyn_ros.cli.main import main  # noqa: E402
from robodyn_ros.exceptions import ParameterError  # noqa: E402
from robodyn_ros.nodes.bridge import loop  # noqa: E402
from robodyn_ros.nodes.bridge.franka import FrankaArm  # noqa: E402
from robodyn_ros.nodes.bridge.loop import Bridge, Fault, Gone  # noqa: E402
from ros_process import Probe, wait_until  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
JOINTS = [f'fr3_joint{k}' for k in range(1, 8)]
COMMANDS = 'effort_controller/commands'


class Library:
    """An invented pylibfranka: seven wheels of 1 kg m^2, and its own check of torque steps."""

    def __init__(self):
        self.q, self.qd, self.torque = np.zeros(7), np.zeros(7), np.zeros(7)
        self.sent, self.controls, self.fails, self.gone = [], 0, '', False
        self.finished = self.recovered = 0
        self.now = 0.0
        for name in ('ControlException', 'CommandException', 'InvalidOperationException',
                     'NetworkException'):
            setattr(self, name, type(name, (self.FrankaException,), {}))

    class FrankaException(RuntimeError):
        pass

    RealtimeConfig = SimpleNamespace(kEnforce=1, kIgnore=0)

    def Torques(self, values):  # noqa: N802
        return SimpleNamespace(tau_J=values, motion_finished=False)

    def Robot(self, address, _config):  # noqa: N802
        if address == 'nowhere':
            raise self.NetworkException('no route')
        return self

    def automatic_error_recovery(self):
        self.recovered += 1

    def read_once(self):
        time.sleep(1e-3)
        self.now += 1e-3
        if self.gone:
            raise self.NetworkException('UDP receive: Timeout')
        self.qd += 1e-3 * self.torque
        self.q += 1e-3 * self.qd
        now = self.now
        return SimpleNamespace(time=SimpleNamespace(to_sec=lambda: now),
                               q=self.q.tolist(), dq=self.qd.tolist(),
                               tau_J=(self.torque + 5.0).tolist(),
                               control_command_success_rate=0.99)

    def start_torque_control(self):
        self.controls += 1
        self.torque[:] = 0.0
        return self

    def readOnce(self):  # noqa: N802
        if self.fails:
            text, self.fails = self.fails, ''
            self.torque[:] = 0.0
            raise self.ControlException(text)
        return self.read_once(), None

    def writeOnce(self, torque):  # noqa: N802
        after = np.array(torque.tau_J)
        assert np.abs(after - self.torque).max() <= 1.0, 'a torque step that the robot refuses'
        self.torque = np.zeros(7) if torque.motion_finished else after
        self.finished += torque.motion_finished
        self.sent.append(after)


@pytest.fixture
def library(monkeypatch):
    made = Library()
    monkeypatch.setitem(sys.modules, 'pylibfranka', made)
    return made


@pytest.fixture
def bridge(library, monkeypatch):
    """Return a bridge that runs, and what talks to it."""
    monkeypatch.setattr(loop, 'configure_realtime', lambda *_, **__: None)
    rclpy.init()
    with Probe() as probe:
        node = Bridge('franka_bridge', FrankaArm('robot', JOINTS, False))
        stop = SimpleNamespace(requested=False)
        thread = threading.Thread(target=node.work, args=(stop,))
        thread.start()
        made = SimpleNamespace(
            node=node, stop=stop, thread=thread, probe=probe,
            states=probe.subscribe(JointState, 'joint_states'),
            commands=probe.publisher(Float64MultiArray, COMMANDS))
        probe.until(lambda: made.states and made.commands.get_subscription_count(), 'states')

        def command(torque, until, what):
            def sent():
                made.commands.publish(Float64MultiArray(data=[float(each) for each in torque]))
                return until()
            probe.until(sent, what)

        made.command = command
        yield made
        stop.requested = True
        thread.join(10.0)
        assert not thread.is_alive()
        node.destroy_node()
    rclpy.shutdown()


def test_torques_reach_the_robot_within_its_rate(bridge, library):
    wanted = np.array([20.0, -200.0, 3.0, 0.0, 0.0, 0.0, 30.0])
    bridge.command(wanted, lambda: library.sent and abs(library.sent[-1][0] - 20.0) < 1e-9
                   and abs(library.sent[-1][1] + 87.0) < 1e-9, 'the torque, and the limit of 87')
    assert library.sent[-1].tolist() == [20.0, -87.0, 3.0, 0.0, 0.0, 0.0, 12.0]
    steps = np.diff([np.zeros(7), *library.sent], axis=0)
    assert np.abs(steps).max() <= 0.99 + 1e-9 and library.controls == 1
    state = bridge.states[-1]
    assert list(state.name) == JOINTS and state.effort[3] == pytest.approx(5.0)


def test_stamps_are_as_even_as_the_time_of_the_robot():
    """The clock of the computer is as uneven as the network, and goes on differently."""
    rng, late, stamps = np.random.default_rng(0), SimpleNamespace(clock=0), []
    part = SimpleNamespace(_stamp=0.0, _arm_time=0.0, get_clock=lambda: SimpleNamespace(
        now=lambda: SimpleNamespace(nanoseconds=late.clock)))
    for k in range(3000):
        late.clock = 10**9 * 7 + round(1e6 * k * 1.001) + round(rng.uniform(0.0, 3e6))
        stamps.append(Bridge._stamped(part, 50.0 + 1e-3 * k))
    steps = np.diff(stamps[200:])
    assert 0.9e6 < steps.mean() < 1.1e6 and steps.std() < 0.15e6
    assert abs(stamps[-1] - late.clock) < 3e6
    # a clock that was set is followed at once
    late.clock += 10**10
    assert Bridge._stamped(part, 53.0) == late.clock


def test_a_robot_without_commands_is_damped_and_given_back(bridge, library):
    bridge.command([5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], lambda: library.qd[0] > 0.3, 'motion')
    begin = len(library.sent)
    bridge.probe.until(lambda: library.finished, 'the end of control')
    damped = np.array(library.sent[begin + 60:-1])
    assert (damped[-100:, 0] < 0.0).all() and library.qd[0] < 0.06
    assert not bridge.node.driven
    # states go on, and commands begin anew
    count = len(bridge.states)
    bridge.probe.until(lambda: len(bridge.states) > count, 'states of a robot that holds itself')
    bridge.command(np.zeros(7), lambda: library.controls == 2, 'control again')


def test_after_a_fault_commands_must_have_ended(bridge, library):
    zero = np.zeros(7)
    bridge.command(zero, lambda: bridge.node.driven, 'control')
    library.fails = 'Move command aborted: joint_reflex'
    bridge.command(zero, lambda: bridge.node.fault, 'the fault')
    assert 'joint_reflex' in bridge.node.fault and not bridge.node.driven
    end = time.monotonic() + 1.0
    bridge.command(zero, lambda: time.monotonic() > end, 'commands that go on')
    assert not bridge.node.driven and library.recovered == 1
    end = time.monotonic() + 0.7
    wait_until(lambda: time.monotonic() > end, 'silence')
    bridge.command(zero, lambda: bridge.node.driven, 'control after the activation')
    assert library.recovered == 2 and not bridge.node.fault


def test_the_end_gives_a_moving_robot_back_slowly(bridge, library):
    bridge.command([5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], lambda: library.qd[0] > 0.3, 'motion')
    bridge.stop.requested = True
    bridge.thread.join(10.0)
    assert library.finished == 1 and library.qd[0] < 0.06


def test_what_is_not_there_is_said(library, monkeypatch):
    with pytest.raises(ParameterError, match='no robot at nowhere: no route; is FCI active'):
        FrankaArm('nowhere', JOINTS)
    arm = FrankaArm('robot', JOINTS)
    library.fails = 'power_limit_violation'
    with pytest.raises(Fault, match='power_limit'):
        arm.begin()
    library.gone = True
    with pytest.raises(Gone, match='the robot is gone: UDP receive'):
        arm.read()
    monkeypatch.setitem(sys.modules, 'pylibfranka', None)
    with pytest.raises(ParameterError, match=r'pip install robodyn_ros\[franka\]'):
        FrankaArm('robot', JOINTS)
    assert command.EXAMPLES and main(['bridge', 'franka', 'nowhere', '--arm', 'fr4']) == 2


@pytest.mark.slow
def test_franka_s_library_against_a_simulator_of_its_protocol():
    """Minutes of motions and kills: FRANKA_SIM names a python, a URDF and an MJCF of an FR3."""
    given = os.environ.get('FRANKA_SIM', '').split()
    if len(given) != 3:
        pytest.skip('FRANKA_SIM is not set')
    pytest.importorskip('pylibfranka')
    python, urdf, mjcf = given
    done = subprocess.run([sys.executable, 'tools/franka_soak.py', urdf, '300', '--server', python,
                           '--mjcf', mjcf], cwd=ROOT, capture_output=True, text=True, timeout=480)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rpartition('under control, ')[2].startswith('0 faults,')
    assert not done.stdout.splitlines()[-1].startswith('0 motions')
