"""The control cycle in a closed loop with a simulated arm: motions, modes, silence, refusals."""

from dataclasses import replace
import itertools
import math
from pathlib import Path

from closed_loop import Loop
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.control import ArmController, CycleSettings, make_gains, Mode
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, RobodynError, StateError, TrajectoryError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from robodyn_ros.trajectory import Tolerances, TrajectoryPoint

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
MODEL = RobotModel.from_urdf(ARM)
NAMES = MODEL.joint_names
BENT = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.6, -0.1])
STRETCHED = np.array([0.0, 1.57, 0.0, 0.0, 0.0, 0.0, 0.0])
HEAVY = MODEL.with_payload('link4', 1.5, (0.0, 0.0, 0.1))
ROUNDING = {'rtol': 1e-9, 'atol': 1e-9}
FLOATING = CycleSettings(start_floating=True)


def arm(**options):
    """Return a loop around the arm in a bent pose."""
    options.setdefault('q', BENT)
    return Loop(MODEL, **options)


def largest_change(loop):
    """Return the largest change of torque between cycles as a share of what is allowed."""
    changes = np.abs(np.diff(loop.torques, axis=0)).max(axis=0)
    return (changes / (20.0 * loop.plant.model.effort_limit * loop.period)).max()


# --- activation, hold, deactivation -------------------------------------------------------------


def test_the_first_torque_is_the_weight_and_the_arm_stays():
    loop = arm()
    loop.run(1.5)
    np.testing.assert_allclose(loop.torques[0], loop.dynamics.gravity(BENT), **ROUNDING)
    np.testing.assert_allclose(loop.q, np.tile(BENT, (1500, 1)), atol=1e-7)
    assert np.abs(np.diff(loop.torques, axis=0)).max() < 1e-3
    assert loop.control.mode is Mode.HOLD


def test_feedback_grows_smoothly_under_an_unknown_load():
    loop = arm(plant=HEAVY)
    loop.run(2.0)
    np.testing.assert_allclose(loop.torques[0], loop.dynamics.gravity(BENT), **ROUNDING)
    assert largest_change(loop) < 0.2
    steps = np.abs(np.diff(loop.q, axis=0))
    assert steps.max() < 1e-3
    assert steps[-100:].max() < 1e-6
    np.testing.assert_allclose(loop.torques[-1], Dynamics(HEAVY).gravity(loop.plant.q), rtol=1e-3,
                               atol=1e-3)


@pytest.mark.parametrize('law', ['computed_torque', 'feedforward_pd'])
def test_started_in_motion_it_comes_to_rest(law):
    speed = 0.5 * MODEL.velocity_limit * (1, -1, 1, -1, 1, -1, 1)
    loop = arm(qd=speed, settings=CycleSettings(tracking=law))
    weight = loop.dynamics.gravity(BENT)
    loop.run(4.0)
    np.testing.assert_allclose(loop.torques[0], weight, **ROUNDING)
    assert largest_change(loop) <= 1.0 + 1e-9
    assert np.abs(loop.plant.qd).max() < 1e-2
    # the way of a stop from this speed, and the error that the growing feedback lets by
    assert np.all(np.abs(loop.plant.q - BENT) < 0.5 * np.abs(speed) * 0.3 + 0.1)


def test_deactivated_it_refuses_and_can_be_activated_again():
    loop = arm()
    loop.moving()
    loop.control.deactivate()
    assert loop.control.mode is Mode.INACTIVE and loop.control.at_rest
    with pytest.raises(StateError, match='not active; activate it first'):
        loop.follow(BENT, 1.0)
    loop.plant.reset(BENT)
    loop.control.activate(loop.now, loop.plant.q, loop.plant.qd)
    loop.log.clear()
    loop.run(1.0)
    np.testing.assert_allclose(loop.torques[0], loop.dynamics.gravity(BENT), **ROUNDING)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-7)


def test_without_activation_a_state_is_answered_by_weight_and_damping():
    dyn = Dynamics(MODEL)
    control = ArmController(dyn, make_gains(dyn))
    for now in np.arange(0.001, 0.3, 0.001):  # from zero, as fast as the torque may grow
        torque, verdict = control.update(now, BENT, np.zeros(7))
    np.testing.assert_allclose(torque, dyn.gravity(BENT), **ROUNDING)
    assert verdict.ok and control.mode is Mode.INACTIVE
    np.testing.assert_allclose(control.coast(0.3)[0], dyn.gravity(BENT), **ROUNDING)


# --- following ----------------------------------------------------------------------------------


def test_a_fast_motion_is_tracked_to_half_a_milliradian():
    loop = arm()
    loop.run(0.7)
    goal = loop.swing(2.0)
    fastest = np.abs(goal - BENT) * 15 / 16 / MODEL.velocity_limit
    assert fastest.max() > 0.55, 'the motion is too slow to prove anything'
    assert loop.follow(goal, 2.0) == 2.0
    loop.run(2.3)
    assert np.abs(loop.error).max() < 5e-4
    assert loop.control.mode is Mode.HOLD and loop.control.message == 'the goal is reached'
    np.testing.assert_allclose(loop.control.reference.q, goal, rtol=1e-15)
    np.testing.assert_allclose(loop.plant.q, goal, atol=1e-5)


@pytest.mark.parametrize('seed', [3, 5, 8])
def test_any_tree_is_tracked(seed):
    mixture = Mixture(mimic=0.3 if seed == 8 else 0.0)
    model = RobotModel.from_urdf(random_tree(seed, 6, mixture))
    loop = Loop(model, CycleSettings(effort_limit=np.full(model.nv, 1e4)), effort_limit=1e4)
    loop.run(0.7)
    loop.follow(loop.swing(2.0, 0.5), 2.0)
    loop.run(2.3)
    assert np.abs(loop.error).max() < 5e-4
    assert loop.control.message == 'the goal is reached'


@pytest.mark.parametrize('law, period, allowed', [
    ('computed_torque', 0.001, 0.005), ('computed_torque', 0.005, 0.01),
    ('feedforward_pd', 0.001, 0.02)])
def test_friction_and_slow_states_cost_little(law, period, allowed):
    loop = arm(settings=CycleSettings(tracking=law), period=period, friction=True)
    loop.run(0.7)
    loop.follow(loop.swing(2.0), 2.0)
    loop.run(2.5)
    assert np.abs(loop.error).max() < allowed


def test_a_newer_trajectory_takes_over_without_a_step():
    loop = arm()
    loop.moving()
    loop.follow(BENT, 1.5)
    loop.run(1.8)
    assert np.abs(loop.error).max() < 5e-4
    steps = np.diff(loop.column(4), axis=0)
    assert np.abs(steps).max() < 0.05, 'the reference velocity jumps'
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-5)


def test_a_trajectory_of_some_joints_leaves_the_others():
    loop = arm(settings=CycleSettings(allow_partial_joints=True))
    loop.run(0.7)
    loop.follow([-0.5], 1.0, ['joint4'])
    loop.run(1.3)
    expected = BENT.copy()
    expected[3] = -0.5
    np.testing.assert_allclose(loop.plant.q, expected, atol=1e-4)


def test_a_continuous_joint_goes_on_counting_and_turns_the_short_way():
    model = RobotModel.from_urdf(random_tree(4, 3, Mixture(prismatic=0.0, continuous=1.0)))
    q = np.array([50.0, -31.0, 0.1])
    loop = Loop(model, CycleSettings(effort_limit=np.full(3, 1e3)), q=q, effort_limit=1e3)
    loop.run(0.7)
    loop.follow(np.array([50.0, -31.0, 0.1]) % math.tau - math.pi + 0.4, 4.0)
    loop.run(4.3)
    assert np.abs(loop.error).max() < 5e-4
    assert np.abs(loop.plant.q - q).max() < math.pi


def test_a_blocked_joint_aborts_the_trajectory_and_says_why():
    tolerances = Tolerances.from_defaults(7, 0.05)
    loop = arm(settings=CycleSettings(tolerances=tolerances), upper=BENT + 0.2)
    loop.run(0.7)
    goal = BENT.copy()
    goal[5] += 0.9
    loop.follow(goal, 2.0)
    loop.run(3.0)
    assert loop.control.mode is Mode.HOLD
    assert "joint 'joint6': position misses its reference by 0.05" in loop.control.message
    assert largest_change(loop) <= 1.0 + 1e-9
    assert loop.control.reference.q[5] < BENT[5] + 0.5, 'it goes on pushing'


def test_a_goal_out_of_reach_is_said():
    tolerances = Tolerances.from_defaults(7, goal=1e-4, goal_time=0.3)
    loop = arm(settings=CycleSettings(tolerances=tolerances), plant=HEAVY)
    loop.run(0.7)
    loop.follow(BENT, 1.0)
    loop.run(1.5)
    assert 'after the last point, goal_time 0.3' in loop.control.message
    loop.run(0.5)
    assert loop.control.mode is Mode.HOLD


# --- floating -----------------------------------------------------------------------------------


def test_floating_it_stays_and_follows_the_hand():
    loop = arm(settings=FLOATING)
    loop.run(1.0)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-6)
    loop.plant.push('tool0', [0.0, 20.0, 0.0, 0.0, 0.0, 0.0])
    loop.run(0.2)
    loop.plant.push('tool0', None)
    moved = np.abs(loop.plant.q - BENT).max()
    assert moved > 0.05
    np.testing.assert_array_equal(loop.control.reference.q, loop.q[-1])
    expected = loop.dynamics.gravity(loop.q[-1]) - loop.gains.damping * loop.column(2)[-1]
    np.testing.assert_allclose(loop.torque, expected, **ROUNDING)
    loop.control.hold(loop.now)
    loop.settle()
    assert np.abs(loop.plant.qd).max() < 1e-3
    assert loop.control.mode is Mode.HOLD


@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize('pose', [BENT, STRETCHED, np.zeros(7)], ids=['bent', 'stretched', 'up'])
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_joint_thrown_at_its_limit_is_stopped_in_any_pose(joint, pose, side):
    q, qd = pose.copy(), np.zeros(7)
    q[joint] = side * (MODEL.upper[joint] - 0.3)
    qd[joint] = side * 0.8 * MODEL.velocity_limit[joint]
    loop = Loop(MODEL, FLOATING, q=q, qd=qd, period=0.005, lower=-9.0, upper=9.0)
    loop.run(1.0)
    assert (side * loop.q[:, joint]).max() < MODEL.upper[joint] + 4e-3
    assert (side * loop.q[:, joint]).max() > MODEL.upper[joint] - 0.2, 'it never got there'
    assert np.abs(loop.torques).max() < 150.0


# --- stop ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('friction', [False, True])
def test_stopped_at_full_speed_it_decelerates_within_limits_and_stays(friction):
    loop = arm(friction=friction)
    loop.moving(share=0.95)
    begin, speed = len(loop.log), loop.column(4)[-1]
    loop.control.stop(loop.now, 'enough')
    assert loop.control.mode is Mode.STOP and loop.control.message == 'enough'
    loop.run(0.31)
    assert loop.control.mode is Mode.HOLD
    velocities = loop.column(4)[begin - 1:]
    decelerations = np.abs(np.diff(velocities, axis=0)) / loop.period
    assert np.all(decelerations <= 1.5 * MODEL.velocity_limit / 0.3 * 1.01)
    assert np.all(velocities * np.sign(speed) >= -1e-9), 'a joint turns back'
    stopped = loop.plant.q.copy()
    loop.run(1.0)
    assert np.abs(loop.plant.q - stopped).max() < 2e-3
    assert np.abs(loop.error).max() < (1e-2 if friction else 2e-3)
    assert np.all(np.abs(loop.torques) <= MODEL.effort_limit)


def test_stopped_in_front_of_a_limit_it_stays_inside():
    q = BENT.copy()
    q[3] = 1.2
    loop = arm(q=q)
    loop.run(0.7)
    goal = BENT.copy()
    goal[3] = 2.15
    loop.follow(goal, 1.2)
    while loop.plant.q[3] < 2.0:
        loop.cycle()
    loop.control.stop(loop.now, 'enough')
    loop.run(1.0)
    assert loop.q[:, 3].max() < MODEL.upper[3]
    assert loop.control.mode is Mode.HOLD


def test_a_stop_of_a_stop_is_a_stop():
    loop = arm()
    loop.moving(share=0.9)
    for _ in range(5):
        loop.control.stop(loop.now, 'again')
        loop.run(0.05)
    loop.run(0.3)
    assert loop.control.mode is Mode.HOLD
    assert np.abs(loop.error).max() < 2e-3


# --- silence ------------------------------------------------------------------------------------


@pytest.mark.parametrize('silence', [0.05, 0.1, 0.3])
def test_silence_in_motion_is_bridged_by_the_model(silence):
    loop = arm()
    loop.moving()
    begin = len(loop.log)
    loop.coast(silence)
    assert loop.control.message == 'the joint states are silent'
    # nobody looks, yet the arm does as the reference does: the model is right
    assert np.abs(loop.error[begin:]).max() < 0.01
    loop.control.resume(loop.now, loop.plant.q, loop.plant.qd)
    loop.run(1.0)
    assert largest_change(loop) <= 1.0 + 1e-9
    assert loop.control.mode is Mode.HOLD
    assert np.abs(loop.plant.qd).max() < 1e-2
    # without feedback at first what is left of the motion goes on a little
    assert np.abs(loop.error[begin:]).max() < 0.05
    loop.follow(BENT, 2.0)
    loop.run(2.3)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-4)


@pytest.mark.parametrize('friction', [False, True])
def test_after_long_silence_the_weight_is_what_remains(friction):
    loop = arm(settings=FLOATING, friction=friction)
    loop.run(0.2)
    loop.coast(1.5)
    assert loop.control.mode is Mode.HOLD
    np.testing.assert_allclose(loop.torque, loop.dynamics.gravity(BENT), **ROUNDING)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-5)


def test_silence_without_a_model_error_needs_no_feedback_to_hold_an_unknown_load():
    # the load pulls the arm down, but slowly enough for a stop; torques stay those of the model
    loop = arm(plant=HEAVY, friction=True)
    loop.run(1.0)
    loop.coast(0.3)
    reference = loop.control.reference.q
    np.testing.assert_allclose(loop.torque, loop.dynamics.gravity(reference), **ROUNDING)
    assert largest_change(loop) <= 1.0 + 1e-9


# --- faults -------------------------------------------------------------------------------------


def test_a_fault_is_latched_until_it_is_reset():
    loop = arm()
    loop.moving()
    loop.control.fail(loop.now, 'the first')
    loop.control.fail(loop.now, 'the second')
    assert loop.control.fault == 'the first' and loop.control.mode is Mode.STOP
    for request in (lambda: loop.follow(BENT, 2.0), lambda: loop.control.hold(loop.now),
                    lambda: loop.control.compensate_gravity(loop.now)):
        with pytest.raises(StateError, match='a fault is latched: the first; .*reset_fault'):
            request()
    loop.control.stop(loop.now, 'stop is always allowed')
    loop.run(0.8)
    assert loop.control.mode is Mode.HOLD and loop.control.fault == 'the first'
    assert np.abs(loop.error).max() < 5e-4
    loop.control.reset_fault()
    loop.follow(BENT, 2.0)
    loop.run(2.2)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-4)


def test_a_fault_while_holding_changes_no_torque():
    loop = arm()
    loop.run(1.0)
    before = loop.torque
    loop.control.fail(loop.now, 'odd')
    loop.run(0.1)
    np.testing.assert_allclose(loop.torque, before, **ROUNDING)
    assert loop.control.mode is Mode.HOLD


@pytest.mark.parametrize('mode', ['hold', 'float', 'track', 'stop'])
@pytest.mark.parametrize('value, which', [
    (np.nan, 'position'), (np.nan, 'velocity'), (-np.inf, 'position')])
def test_a_state_that_is_no_number_is_a_fault_and_the_torque_stays_safe(mode, value, which):
    loop = arm(settings=FLOATING if mode == 'float' else None)
    if mode in ('track', 'stop'):
        loop.moving()
    if mode == 'stop':
        loop.control.stop(loop.now, 'enough')
    loop.run(0.1)
    begin = len(loop.log)
    q, qd = loop.plant.q.copy(), loop.plant.qd.copy()
    (q if which == 'position' else qd)[4] = value
    for _ in range(100):
        loop.send(loop.control.update(loop.now, q, qd)[0])
    assert f"joint 'joint5' reports position {q[4]}" in loop.control.fault
    torques = loop.torques[begin - 1:]
    assert np.isfinite(torques).all() and np.isfinite(loop.control.weight()).all()
    assert np.all(np.abs(torques) <= MODEL.effort_limit)
    assert largest_change(loop) <= 1.0 + 1e-9
    loop.settle()
    loop.run(0.5)
    assert np.abs(loop.plant.qd).max() < 1e-2
    assert np.abs(loop.error[begin:]).max() < 0.02
    with pytest.raises(StateError, match='joint5'):
        loop.follow(BENT, 2.0)
    loop.control.reset_fault()
    loop.follow(BENT, 2.0)


# --- bounds of the torque -----------------------------------------------------------------------


def requests(loop):
    """Return all that can be asked of a controller, by name."""
    control = loop.control

    def swap_gains(frequency, ratio):
        control.set_gains(make_gains(loop.dynamics, frequency, ratio))

    return {
        'track': lambda: loop.follow(loop.swing(1.0, 0.4), 1.0),
        'hold': lambda: control.hold(loop.now),
        'float': lambda: control.compensate_gravity(loop.now),
        'stop': lambda: control.stop(loop.now, 'stop'),
        'fail': lambda: (control.fail(loop.now, 'x'), control.reset_fault()),
        'silence': lambda: loop.coast(0.03),
        'resume': lambda: (loop.coast(0.03),
                           control.resume(loop.now, loop.plant.q, loop.plant.qd)),
        'stiff': lambda: swap_gains(60.0, 1.0), 'soft': lambda: swap_gains(2.0, 0.1)}


@pytest.mark.parametrize('law', ['computed_torque', 'feedforward_pd'])
@pytest.mark.parametrize('rate', [None, 300.0])
def test_no_change_of_mode_or_gains_steps_the_torque_or_passes_the_limit(law, rate):
    settings = CycleSettings(tracking=law, torque_rate=rate, effort_margin=0.9,
                             activation_time=0.05)
    per_second = 20.0 * MODEL.effort_limit if rate is None else rate
    for first, second in itertools.product(requests(arm()), repeat=2):
        loop = arm(settings=settings, plant=HEAVY, friction=True)
        loop.run(0.1)
        requests(loop)[first]()
        loop.run(0.06)
        requests(loop)[second]()
        loop.run(0.06)
        torques = loop.torques
        assert np.isfinite(torques).all()
        assert np.all(np.abs(torques) <= 0.9 * MODEL.effort_limit * (1 + 1e-12))
        changes = np.abs(np.diff(torques, axis=0))
        assert np.all(changes <= per_second * loop.period * (1 + 1e-9) + 1e-12), (first, second)
        assert np.all((loop.q > MODEL.lower) & (loop.q < MODEL.upper)), (first, second)


def test_excessive_gains_saturate_and_it_is_told():
    loop = arm(gains={'natural_frequency': 200.0}, plant=HEAVY)
    loop.run(0.7)
    assert not loop.control.saturated_joints()
    loop.plant.q[1] += 0.1
    told = set()
    for _ in range(100):
        loop.cycle()
        told.update(loop.control.saturated_joints())
    assert 'joint2' in told and 'joint7' not in told
    assert np.all(np.abs(loop.torques) <= MODEL.effort_limit)


def test_gravity_scale_zero_commands_no_weight():
    loop = arm(gains={'gravity_scale': 0.0}, plant=MODEL.with_gravity((0, 0, 0)))
    loop.run(1.0)
    assert np.abs(loop.torques).max() < 1e-9
    assert not loop.control.weight().any()
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-9)


# --- the clock ----------------------------------------------------------------------------------


def test_irregular_periods_do_no_harm():
    loop = arm()
    rng = np.random.default_rng(1)
    loop.moving()
    begin, allowed = len(loop.log), []
    for _ in range(400):
        loop.period = 0.001 * rng.integers(1, 12)
        allowed.append(20.0 * MODEL.effort_limit * min(loop.period, 0.05))
        loop.cycle()
    changes = np.abs(np.diff(loop.torques[begin:], axis=0))
    assert np.all(changes <= np.array(allowed[:-1]) * (1 + 1e-6))
    assert np.abs(loop.error).max() < 0.02
    assert loop.control.message == 'the goal is reached'


@pytest.mark.parametrize('leap', [0.0, -0.5, math.nan, 2.0, 1e6])
@pytest.mark.parametrize('mode', ['hold', 'track', 'stop', 'float'])
def test_a_clock_that_stands_leaps_or_goes_back_moves_nothing(leap, mode):
    loop = arm(settings=FLOATING if mode == 'float' else None)
    if mode in ('track', 'stop'):
        loop.moving()
    if mode == 'stop':
        loop.control.stop(loop.now, 'enough')
        loop.run(0.1)
    loop.run(0.05)
    reference, torque = loop.control.reference.copy(), loop.torque
    after, _ = loop.control.update(loop.now - loop.period + leap, loop.plant.q, loop.plant.qd)
    most = 0.0 if not leap > 0.0 else 20.0 * 0.05 * MODEL.effort_limit
    assert np.all(np.abs(after - torque) <= most + 1e-12)
    moved = np.abs(loop.control.reference.q - reference.q)
    # no further than in 50 ms at this speed
    assert np.all(moved <= np.abs(reference.qd) * 0.051 + 1e-6)
    loop.now += leap if math.isfinite(leap) else 0.0
    loop.log.clear()
    loop.run(2.0)
    assert np.abs(loop.plant.qd).max() < 1e-2
    assert np.abs(loop.error).max() < 0.1
    assert not loop.control.fault or math.isnan(leap)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize('change, words', [
    ({0: 3.0}, r"joint 'joint1' stands at 3.0000, outside its limits \[-2.9, 2.9\]; move it"),
    ({3: -2.3}, r"joint 'joint4' stands at -2.3000, outside its limits \[-2.2, 2.2\]"),
    ({6: math.nan}, "joint 'joint7' reports position nan, velocity 0.0; both must be finite"),
    ({1: math.inf}, "joint 'joint2' reports position inf")])
def test_it_takes_over_no_arm_that_is_out_of_bounds(change, words):
    dyn = Dynamics(MODEL)
    control = ArmController(dyn, make_gains(dyn))
    q = BENT.copy()
    for joint, value in change.items():
        q[joint] = value
    with pytest.raises(StateError, match=words):
        control.activate(0.0, q, np.zeros(7))
    assert control.mode is Mode.INACTIVE
    qd = np.zeros(7)
    qd[2] = math.nan
    with pytest.raises(StateError, match="joint 'joint3' .*velocity nan"):
        control.activate(0.0, BENT, qd)
    control.activate(0.0, MODEL.upper + 5e-4, np.zeros(7))


@pytest.mark.parametrize('settings, words', [
    ({'effort_limit': [10.0] * 6}, 'effort_limit has 6 values.*7 joints'),
    ({'effort_limit': [10.0] * 6 + [0.0]}, "'joint7' has effort limit 0.*set the parameter"),
    ({'effort_limit': [-1.0]}, "'joint1' has effort limit -1"),
    ({'effort_limit': [math.inf]}, "'joint1' has effort limit inf.*must have a bound"),
    ({'effort_limit': [math.nan]}, "'joint1' has effort limit nan"),
    ({'effort_margin': 0.0}, 'margin is 0'), ({'effort_margin': 1.5}, 'margin is 1.5'),
    ({'torque_rate': 0.0}, "rate limit of joint 'joint1' is 0"),
    ({'torque_rate': [100.0, 200.0]}, 'torque_rate_limit has 2 values.*7 joints'),
    ({'torque_rate': [100.0] * 6 + [math.nan]}, "rate limit of joint 'joint7' is nan"),
    ({'tracking': 'pid'}, "no tracking law is called 'pid'")])
def test_settings_are_checked(settings, words):
    dyn = Dynamics(MODEL)
    with pytest.raises(ParameterError, match=f'(?s){words}'):
        ArmController(dyn, make_gains(dyn), CycleSettings(**settings))


def test_a_model_without_effort_limit_needs_one():
    text = ARM.read_text().replace('effort="40"', 'effort="0"')
    dyn = Dynamics(RobotModel.from_urdf(text))
    with pytest.raises(ParameterError, match="joint 'joint5' has effort limit 0.*<limit effort>"):
        ArmController(dyn, make_gains(dyn))
    limits = [150, 150, 90, 70, 40, 25, 12]
    ArmController(dyn, make_gains(dyn), CycleSettings(effort_limit=limits))


BAD_TRAJECTORIES = [
    (NAMES, BENT + 4.0, 2.0, 'point 0.*joint1.*above the upper limit 2.9'),
    (NAMES, BENT, 0.0, 'ends at time 0'),
    (NAMES, BENT * math.nan, 2.0, 'joint1.*nan'),
    (NAMES, BENT[:5], 2.0, '5 positions for 7 joints'),
    (NAMES[:5], BENT[:5], 2.0, 'joint6.*missing'),
    (('elbow', *NAMES[1:]), BENT, 2.0, "no joint 'elbow'"),
    ((NAMES[1], *NAMES[1:]), BENT, 2.0, "'joint2' is named twice"),
    (NAMES, np.full(7, 1.5), 0.2, 'would move at .* above its velocity limit .*stretch'),
    (NAMES, STRETCHED - 0.5, math.nan, 'time_from_start is nan')]


def test_a_bad_trajectory_is_refused_and_the_motion_goes_on():
    loop = arm()
    loop.moving()
    for joints, goal, time, words in BAD_TRAJECTORIES:
        zero = np.zeros(len(goal))
        with pytest.raises(TrajectoryError, match=words):
            loop.control.follow(loop.now, joints, [TrajectoryPoint(goal, zero, zero, (), time)])
        assert loop.control.mode is Mode.TRACK
        loop.run(0.01)
    with pytest.raises(TrajectoryError, match='no points'):
        loop.control.follow(loop.now, NAMES, [])
    with pytest.raises(TrajectoryError, match=r'ended (7.99\d|8.000) s ago'):
        loop.control.follow(loop.now, NAMES, [TrajectoryPoint(BENT, (), (), (), 2.0)], -10.0)
    loop.run(1.2)
    assert loop.control.message == 'the goal is reached'
    assert np.abs(loop.error).max() < 5e-4


def test_a_motion_that_no_motor_can_do_is_refused_with_the_numbers():
    weak = replace(CycleSettings(), effort_margin=0.3)
    loop = Loop(MODEL, weak, q=np.zeros(7))
    loop.run(0.7)
    with pytest.raises(TrajectoryError, match=r"'joint2' would need -?\d+.* motor has 45"):
        loop.follow(STRETCHED, 3.0)
    loop.run(0.1)
    assert loop.control.mode is Mode.HOLD


anything = st.floats() | st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, 0.5])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.lists(anything, min_size=7, max_size=7),
                          st.lists(anything, min_size=7, max_size=7) | st.just([]), anything),
                max_size=4), anything)
def test_whatever_comes_as_a_trajectory_is_followed_or_refused(points, delay):
    control = FUZZED.control
    given = [TrajectoryPoint(q, qd, (), (), t) for q, qd, t in points]
    try:
        with np.errstate(all='ignore'):
            duration = control.follow(FUZZED.now, NAMES, given, delay)
    except RobodynError:
        return
    assert 0.0 < duration < math.inf
    torque, _ = control.update(FUZZED.now, BENT, np.zeros(7))
    assert np.isfinite(torque).all() and np.isfinite(control.reference.q).all()
    control.stop(FUZZED.now, 'next')


FUZZED = arm()
FUZZED.run(0.1)


def test_the_plant_of_these_tests_is_the_model():
    # the tolerances above rest on this
    plant, dyn = Plant(MODEL, 1e-3, friction=0.0, damping=0.0), Dynamics(MODEL)
    plant.reset(BENT)
    plant.step(dyn.inverse_dynamics(BENT, np.zeros(7), np.ones(7)))
    np.testing.assert_allclose(plant.qdd, np.ones(7), rtol=1e-5)
