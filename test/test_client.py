"""The client of a running controller: what a script sees of the arm, sends, and is refused."""

from threading import Condition, Thread
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the client needs ROS 2')

from controller_node import (  # noqa: E402
    ACTIVE, ARM, CONTROLLER, HOME, MODEL, PATIENT, RELEASED, simulator)
from robodyn_ros.cli.main import main  # noqa: E402
from robodyn_ros.client import Arm, recorder  # noqa: E402
from robodyn_ros.client.live import LiveConnection  # noqa: E402
from robodyn_ros.control.mode import Mode  # noqa: E402
from robodyn_ros.exceptions import ArgumentError, StateError, TrajectoryError  # noqa: E402
from ros_process import NodeProcess, PATIENCE, wait_until  # noqa: E402

NEAR = HOME + 0.05


def test_the_newest_of_states_of_several_sizes_is_the_last():
    received = SimpleNamespace(_news=Condition(), _states={}, _note=lambda what: None)
    for data in (b'arm 1', b'gripper', b'arm 2'):
        LiveConnection._on_state(received, data)
    assert list(received._states.values()) == [b'gripper', b'arm 2']


class Refusing:
    """A connection to a controller that refuses to hold, with its diagnostics or without."""

    def __init__(self, diagnostics):
        self._diagnostics, self.closed = diagnostics, False

    def call(self, name):
        raise StateError(f'the controller refused ~/{name}')

    def next_diagnostics(self):
        if self._diagnostics is None:
            raise StateError('no diagnostics')
        return self._diagnostics

    def close(self):
        self.closed = True


def arm_of(connection):
    arm = Arm.__new__(Arm)
    arm._connection = connection
    return arm


def test_the_end_of_a_block_in_a_fault_is_a_warning():
    connection = Refusing({'fault': 'joint states: silent'})
    with pytest.warns(UserWarning, match='joint states: silent; remove its cause') as found:
        with arm_of(connection):
            pass
    assert found[0].filename == __file__ and connection.closed


@pytest.mark.parametrize('diagnostics', [{}, {'fault': ''}, None])
def test_an_arm_that_is_not_held_for_another_reason_is_an_error(diagnostics):
    connection = Refusing(diagnostics)
    with pytest.raises(StateError, match='refused ~/hold'), arm_of(connection):
        pass
    assert connection.closed
    with pytest.raises(KeyError), arm_of(Refusing({'fault': 'x'})):
        raise KeyError  # the first error remains


@pytest.fixture(scope='module')
def controller():
    """Return the running controller of a simulated arm at home."""
    with simulator() as plant, NodeProcess(CONTROLLER, {
            'urdf_file': str(ARM), 'stream.timeout': 1.0, **PATIENT}) as process:
        process.wait_for_output(ACTIVE)
        plant.wait_for_output(RELEASED)
        yield process


@pytest.fixture(scope='module')
def arm(controller):
    """Return a client."""
    with Arm(timeout=PATIENCE) as arm:
        yield arm


def test_the_state_has_the_order_of_the_controller(arm):
    state = arm.state
    assert arm.joint_names == MODEL.joint_names
    assert state.q.shape == state.qd.shape == state.effort.shape == (MODEL.nv,)
    assert abs(state.stamp - time.time()) < PATIENCE
    arm.move(HOME)
    np.testing.assert_allclose(arm.state.reference, HOME, atol=1e-6)
    # the simulator has the friction that the controller compensates along the reference only
    np.testing.assert_allclose(arm.state.q, HOME, atol=0.01)


def test_a_motion_ends_at_its_goal(arm):
    arm.move(NEAR, duration=0.6)
    np.testing.assert_allclose(arm.state.reference, NEAR, atol=1e-3)


def test_a_chunk_is_followed(arm):
    start = arm.state.reference
    # at rest at its end: a stream that ends in motion runs on a little
    steps = start + np.minimum(np.arange(1, 16) / 10.0, 1.0)[:, None] * 0.05
    arm.stream(steps, dt=0.1)
    wait_until(lambda: np.abs(arm.state.reference - steps[-1]).max() < 2e-3, 'the last target')


def test_a_short_motion_right_after_a_stream_is_no_target_of_it(arm, controller):
    arm.move(HOME)
    arm.stream(HOME)
    arm.move(NEAR, duration=0.3)
    np.testing.assert_allclose(arm.state.reference, NEAR, atol=1e-6)
    assert controller.logged('replaced by a trajectory on ~/joint_trajectory')


def test_a_stream_that_is_not_followed_is_an_error(arm):
    def stream_until(condition):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not condition():
            arm.stream(HOME)
            time.sleep(0.05)

    arm.move(HOME)
    wait_until(lambda: arm.diagnostics['stream'] == 'none', 'the end of the stream before')
    stream_until(lambda: 'behind' in arm.diagnostics['stream'])
    arm.hold()
    with pytest.raises(StateError, match='not followed: hold was requested; .* a pause of 1 s'):
        stream_until(lambda: False)


def test_a_motion_that_something_else_ends_is_an_error(arm):
    arm.move(HOME)
    errors = []

    def move():
        try:
            arm.move(HOME + 0.5, duration=60.0)
        except StateError as error:
            errors.append(str(error))

    motion = Thread(target=move, daemon=True)
    motion.start()
    wait_until(lambda: arm.diagnostics['mode'] == 'tracking', 'motion')
    arm.hold()
    motion.join(PATIENCE)
    assert errors == ['the motion has ended elsewhere: hold was requested']


def test_a_motion_is_slowed_down_paused_and_resumed(arm):
    arm.move(HOME)
    arm.speed(0.1)
    motion = Thread(target=arm.move, args=(HOME + 0.3, 1.0), daemon=True)
    motion.start()
    wait_until(lambda: np.abs(arm.state.reference - HOME).max() > 0.02, 'motion')
    arm.pause()
    wait_until(lambda: _rests(arm), 'rest')
    at = arm.state.reference
    assert 0.02 < at[0] - HOME[0] < 0.28
    arm.resume()
    arm.speed(1.0)
    motion.join(PATIENCE)
    np.testing.assert_allclose(arm.state.reference, HOME + 0.3, atol=1e-3)
    arm.move(HOME)


def _rests(arm):
    before = arm.state
    wait_until(lambda: arm.state.stamp > before.stamp + 0.1, 'later states')
    return np.abs(arm.state.reference - before.reference).max() < 1e-6


def test_float_and_hold(arm):
    arm.float()
    wait_until(lambda: arm.diagnostics.get('mode') == 'gravity_compensation', 'float')
    arm.hold()
    wait_until(lambda: arm.diagnostics.get('mode') == 'hold', 'hold')


def test_the_shell_requests_the_same(arm, monkeypatch, capsys):
    monkeypatch.setattr('builtins.input', lambda _: 'y')
    goal = [f'{name}={x:.3f}' for name, x in zip(MODEL.joint_names, NEAR)]
    for command, mode in ((['move', *goal[:1]], Mode.HOLD), (['float'], Mode.FLOAT),
                          (['hold'], Mode.HOLD), (['stop'], Mode.HOLD)):
        assert main(command) == 0
        wait_until(lambda: arm.diagnostics['mode'] == mode.value, PATIENCE)
    assert arm.state.reference[0] == pytest.approx(NEAR[0], abs=2e-3)
    monkeypatch.setattr('builtins.input', lambda _: 'q')
    assert 'the reference is there; the arm is within' in capsys.readouterr().out
    assert main(['move', '--', *map(str, HOME)]) == 1 and main(['float']) == 1
    assert main(['float', '--yes']) == 2
    assert 'add --at-the-stop' in capsys.readouterr().err
    assert main(['reset']) == 0 and 'no fault is latched now' in capsys.readouterr().out
    monkeypatch.setattr(recorder, '_TIMEOUT', 0.5)
    assert main(['hold', '--namespace', 'nobody']) == 2
    assert 'nobody/computed_torque_controller/hold' in capsys.readouterr().err


def test_the_shell_lets_the_arm_go_and_takes_it_again(arm, monkeypatch, capsys):
    monkeypatch.setattr('builtins.input', lambda _: 'q')
    assert main(['deactivate']) == main(['activate']) == 1
    monkeypatch.setattr('builtins.input', lambda _: 'y')
    assert main(['deactivate']) == 0 and main(['deactivate']) == 0
    assert main(['hold']) == 2 and 'refused ~/hold' in capsys.readouterr().err
    assert main(['activate']) == 0 and main(['activate']) == 0 and main(['hold']) == 0


def test_what_cannot_be_done_names_the_reason(arm):
    with pytest.raises(ArgumentError, match=r'chunk must have shape \(7,\) or \(T, 7\)'):
        arm.stream(HOME[:-1])
    with pytest.raises(ArgumentError, match=f"row 0, joint '{MODEL.joint_names[2]}' is nan"):
        arm.stream(np.where(np.arange(MODEL.nv) == 2, np.nan, HOME))
    with pytest.raises(ArgumentError, match='dt is 0'):
        arm.stream(HOME, dt=0)
    for factor in (1.5, np.nan, 'fast', None):
        with pytest.raises(ArgumentError, match='speed factor'):
            arm.speed(factor)
    for stamp in (np.nan, -1.0, 1e300, '0'):
        with pytest.raises(ArgumentError, match='stamp is'):
            arm.stream(HOME, stamp=stamp)
    for name in ('speed', 'duration'):
        for value in (0.0, -1.0, np.nan, '1'):
            with pytest.raises(ArgumentError, match=f'{name} is'):
                arm.move(HOME, **{name: value})
    for q in ('home', {'joint1': 0.0}):
        with pytest.raises(ArgumentError, match=f'q is .*7 numbers.*{MODEL.joint_names[0]}'):
            arm.move(q)
    with pytest.raises(ArgumentError, match='the chunk has 201 rows'):
        arm.stream(np.tile(HOME, (201, 1)))
    with pytest.raises(ArgumentError, match='dt is 10'):
        arm.stream(np.tile(HOME, (7, 1)), dt=10.0)
    with pytest.raises(ArgumentError, match='q has 2 rows'):
        arm.move([HOME, HOME])
    beyond = np.where(np.arange(MODEL.nv) == 1, MODEL.upper[1] + 0.1, HOME)
    with pytest.raises(TrajectoryError, match=f"{MODEL.joint_names[1]}'.*limit"):
        arm.move(beyond)


def test_a_closed_client_says_so(controller):
    with Arm(timeout=PATIENCE) as arm:
        pass
    for use in (lambda: arm.state, arm.hold, lambda: arm.stream(HOME), lambda: arm.move(HOME),
                lambda: arm.speed(0.5)):
        with pytest.raises(StateError, match='the client is closed'):
            use()
    arm.close()


def test_without_an_arm_it_names_what_is_missing():
    with pytest.raises(StateError, match='no joint states received within 0.3 s'):
        Arm('elsewhere', timeout=0.3)


def test_without_messages_it_closes_at_once():
    begin = time.monotonic()
    with pytest.raises(StateError):
        Arm('elsewhere', timeout=2.0)
    assert time.monotonic() - begin < 3.5  # with a thread that did not end: 4 s
