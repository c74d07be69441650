"""Linear feedback from elsewhere: a regulator holds the arm, and what is wrong ends in rest."""

from dataclasses import replace

from closed_loop import arm, BENT, Loop, MODEL
from design import change_settings, settings_of
from lqr import command, regulator
import numpy as np
import pytest
from robodyn_ros.control import LinearCommand, Mode, Term
from robodyn_ros.control.arm.linear_feedback import fastest_growth
from robodyn_ros.control.settings import LinearFeedbackSettings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, StateError
from robodyn_ros.model import RobotModel
from scipy.linalg import expm

LINEAR = settings_of(mode='linear_feedback', activation_time=0.1)
DYNAMICS = Dynamics(MODEL)
GAIN = regulator(DYNAMICS, BENT)
HELD = command(DYNAMICS, BENT, GAIN)
SMOOTH = 0.012  # of the effort limit and millisecond, see test_control_transitions


@pytest.fixture
def loop():
    """Return an arm that waits for messages."""
    loop = arm(settings=LINEAR)
    loop.run(0.4)
    assert loop.control.mode is Mode.HOLD and loop.control.status.law_at_work == 'computed_torque'
    return loop


def send(loop, seconds, what=lambda loop: HELD, every=10):
    """Send messages for a while."""
    for k in range(round(seconds / loop.period)):
        if k % every == 0:
            loop.control.inputs.take_linear_feedback(loop.now, what(loop))
        loop.cycle()


def largest_share(torques):
    return (np.abs(np.diff(torques, axis=0)) / MODEL.effort_limit).max()


# --- at work ------------------------------------------------------------------------------------


def test_the_torque_is_that_of_the_messages(loop):
    send(loop, 0.3)
    loop.plant.push('link5', [3.0, -2.0, 4.0, 0.0, 0.0, 0.0])
    send(loop, 0.1)
    q, qd = loop.plant.q.copy(), loop.plant.qd.copy()
    assert np.abs(q - BENT).max() > 1e-3
    send(loop, 0.001)
    assert loop.control.mode is Mode.LINEAR_FEEDBACK
    terms, feedback = loop.control.terms, GAIN @ np.concatenate((BENT - q, -qd))
    np.testing.assert_allclose(terms[Term.EFFORT], HELD.feedforward, atol=1e-12)
    np.testing.assert_allclose(terms[Term.FEEDBACK], feedback, atol=1e-12)
    np.testing.assert_allclose(loop.torque, HELD.feedforward + feedback, atol=1e-9)
    others = [term for term in Term if term not in (Term.EFFORT, Term.FEEDBACK, Term.TOTAL)]
    assert np.abs(terms[others]).max() < 1e-9


def test_a_pushed_arm_returns_as_computed_for_the_regulator(loop):
    send(loop, 0.3)
    loop.plant.qd[:] = [0.05, -0.05, 0.05, 0.05, 0.0, 0.0, 0.0]
    send(loop, 0.001)
    x = np.concatenate((loop.plant.q - BENT, loop.plant.qd))
    n, (by_q, _, M) = 7, DYNAMICS.inverse_dynamics_derivatives(BENT, np.zeros(7), np.zeros(7))
    A = np.block([[np.zeros((n, n)), np.eye(n)],
                  [-np.linalg.solve(M, GAIN + np.hstack((by_q, np.zeros((n, n)))))]])
    send(loop, 0.2, every=1)
    expected = expm(0.2 * A) @ x
    np.testing.assert_allclose(loop.plant.q - BENT, expected[:n], atol=1e-4)
    assert np.abs(loop.plant.q - BENT).max() > 1e-3, 'nothing moved'


def test_it_tracks_what_moves(loop):
    begin = loop.now + 0.3

    def swinging(loop):
        t = max(loop.now - begin, 0.0)
        angle, rate = 0.2 * (1.0 - np.cos(2.0 * t)), 0.4 * np.sin(2.0 * t)
        q, qd = BENT + angle, np.full(7, rate)
        torque = DYNAMICS.inverse_dynamics(q, qd, np.full(7, 0.8 * np.cos(2.0 * t)))
        return LinearCommand(torque, q, qd, GAIN)

    send(loop, 2.0, swinging)
    expected_command = swinging(loop)
    assert np.abs(expected_command.position - BENT).max() > 0.1
    assert np.abs(loop.plant.q - expected_command.position).max() < 0.02


def test_silence_ends_in_rest_and_messages_are_welcome_again(loop):
    send(loop, 0.3)
    loop.plant.qd[:] = 0.3
    send(loop, 0.02)
    begin, q = len(loop.log) - 1, loop.plant.q.copy()
    loop.run(0.085)
    assert loop.control.mode is Mode.LINEAR_FEEDBACK
    loop.run(0.02)
    assert loop.control.mode is Mode.STOP
    assert loop.control.message == 'no good message on ~/linear_feedback for 0.1 s'
    loop.run(0.5)
    assert loop.control.mode is Mode.HOLD and not loop.control.fault
    assert np.abs(loop.plant.q - q).max() < 0.1 and np.abs(loop.plant.qd).max() < 1e-3
    held = loop.plant.q.copy()
    loop.run(1.0)
    np.testing.assert_allclose(loop.plant.q, held, atol=1e-4)
    send(loop, 1.5)
    assert loop.control.mode is Mode.LINEAR_FEEDBACK
    np.testing.assert_allclose(loop.plant.q, BENT, atol=5e-3)
    assert largest_share(loop.torques[begin:]) < SMOOTH


@pytest.mark.parametrize('take', [
    lambda requests: requests.hold(), lambda requests: requests.stop('stop'),
    lambda requests: requests.compensate_gravity(), lambda requests: requests.fail('x')],
    ids=['hold', 'stop', 'float', 'fault'])
def test_what_takes_the_arm_away_keeps_it_until_the_mode_is_chosen_again(loop, take):
    send(loop, 0.3)
    take(loop.control.requests)
    assert loop.control.fault or loop.control.message.endswith(
        'linear feedback is disabled until mode is set to linear_feedback again')
    loop.run(0.5)
    with pytest.raises(StateError, match='set the parameter mode to linear_feedback, again'):
        loop.control.inputs.take_linear_feedback(loop.now, HELD)
    loop.control.reset_fault()
    floats = loop.control.mode is Mode.FLOAT
    loop.control.changes.enter('linear_feedback')
    assert loop.control.message == 'mode linear_feedback was selected' or not floats
    loop.run(0.4)
    send(loop, 0.2)
    assert loop.control.mode is Mode.LINEAR_FEEDBACK


def test_a_silent_arm_comes_to_rest_and_is_given_back(loop):
    send(loop, 0.3)
    loop.coast(0.2)
    assert loop.control.mode is not Mode.LINEAR_FEEDBACK
    loop.control.activation.resume(loop.now, loop.plant.q, loop.plant.qd)
    send(loop, 0.05)
    assert loop.control.status.law_at_work == 'computed_torque', 'feedback is not there yet'
    send(loop, 0.5)
    assert loop.control.mode is Mode.LINEAR_FEEDBACK


def test_trajectories_are_for_other_modes(loop):
    with pytest.raises(StateError, match='choose another mode, such as computed_torque'):
        loop.follow(loop.swing(1.0), 1.0)
    send(loop, 0.3)
    loop.control.changes.enter('computed_torque')
    begin = len(loop.log) - 1
    loop.run(0.5)
    assert loop.control.mode is Mode.HOLD and not loop.control.message
    loop.follow(loop.swing(1.0, 0.3), 1.0)
    loop.run(1.1)
    assert largest_share(loop.torques[begin:]) < SMOOTH


# --- what is refused ----------------------------------------------------------------------------


def changed(**parts):
    return replace(HELD, **parts)


def at(array, index, value):
    array = np.array(array)
    array[index] = value
    return array


BAD = {
    'nan': (changed(feedforward=at(HELD.feedforward, 2, np.nan)),
            "joint 'joint3': feedforward is not a finite number"),
    'infinite': (changed(gain=at(GAIN, (4, 9), np.inf)),
                 "joint 'joint5': gain is not a finite number"),
    'feedforward': (changed(feedforward=at(HELD.feedforward, 1, -151.0)),
                    "joint 'joint2': feedforward is -151 N m, its motor may give 150 N m"),
    'limits': (changed(position=at(BENT, 3, 9.0)),
               r"joint 'joint4': position is 9, outside its limits \["),
    'far': (changed(position=at(BENT, 0, 0.7)),
            "joint 'joint1': position is 0.7, the joint stands at 0.3:"
            ' further away than 0.3'),
    'torque': (changed(velocity=at(np.zeros(7), 1, 8.0)),
               "joint '.*': the torque would be .* N m here, its motor may give .* N m; more than "
               '1.5 times that is rejected'),
    'sign': (changed(gain=-GAIN),
             r'would grow by .* per second \(at most 5\)'
             r': check the sign, the torque is feedforward \+ K \(desired - measured\)')}


@pytest.mark.parametrize('bad, words', BAD.values(), ids=BAD)
def test_what_makes_no_sense_is_refused_and_what_was_before_counts(loop, bad, words):
    send(loop, 0.3)
    with pytest.raises(ArgumentError, match=words):
        loop.control.inputs.take_linear_feedback(loop.now, bad)
    loop.run(0.05)
    assert loop.control.mode is Mode.LINEAR_FEEDBACK
    np.testing.assert_allclose(loop.torque, HELD.feedforward, atol=1e-3)
    loop.run(0.05)
    assert loop.control.mode is Mode.STOP


def test_gains_are_judged_by_the_closed_loop_of_the_linear_model():
    # one joint: m s^2 + d s + k has its fastest growth at s = (-d + sqrt(d^2 - 4 m k)) / 2 m
    for m, d, k in ((2.0, 3.0, -5.0), (2.0, 3.0, 1.0), (0.5, -1.0, 2.0)):
        root = (-d + np.sqrt(complex(d * d - 4.0 * m * k))) / (2.0 * m)
        assert fastest_growth(np.array([[m]]), np.array([[k, d]])) == pytest.approx(root.real)
    assert fastest_growth(np.zeros((2, 2)), np.ones((2, 4))) == np.inf


def test_bounds_are_those_of_the_settings(loop):
    wide = LinearFeedbackSettings(timeout=0.5, largest_error=1.0, largest_growth=100.0)
    change_settings(loop.control, linear_feedback=wide)
    loop.control.inputs.take_linear_feedback(loop.now, changed(gain=-0.01 * GAIN))
    loop.control.inputs.take_linear_feedback(loop.now, changed(position=at(BENT, 0, 0.7)))
    loop.control.inputs.take_linear_feedback(loop.now, HELD)
    loop.run(0.45)
    assert loop.control.mode is Mode.LINEAR_FEEDBACK
    loop.run(0.1)
    assert loop.control.mode is not Mode.LINEAR_FEEDBACK


def test_a_continuous_joint_moves_the_short_way():
    urdf = """<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="axle" type="continuous"><parent link="base"/><child link="rim"/>
      <axis xyz="0 0 1"/><limit effort="10" velocity="5"/></joint></robot>"""
    loop = Loop(RobotModel.from_urdf(urdf), LINEAR, q=np.array([13.0]))
    loop.run(0.4)
    given = LinearCommand(np.zeros(1), np.array([13.1 - 4.0 * np.pi]), np.zeros(1),
                          np.array([[10.0, 2.0]]))
    send(loop, 2.0, lambda loop: given)
    assert loop.plant.q[0] == pytest.approx(13.1, abs=1e-3)
