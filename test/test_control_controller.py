"""The control cycle in a closed loop with a simulated arm: it holds, follows, floats, stops."""

from dataclasses import replace
import math

from closed_loop import arm, BENT, FLOATING, HEAVY, Loop, MODEL, ROUNDING, STRETCHED
import numpy as np
import pytest
from design import settings_of
from random_trees import Mixture, random_tree
from robodyn_ros.control import ArmController, Mode
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError
from robodyn_ros.model import RobotModel


def test_the_first_torque_is_the_gravity_torque_and_the_arm_stays():
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
    assert loop.largest_change < 0.2
    steps = np.abs(np.diff(loop.q, axis=0))
    assert steps.max() < 1e-3
    assert steps[-100:].max() < 1e-6
    np.testing.assert_allclose(loop.torques[-1], Dynamics(HEAVY).gravity(loop.plant.q), rtol=1e-3,
                               atol=1e-3)


@pytest.mark.parametrize('law', ['computed_torque', 'feedforward_pd'])
def test_started_in_motion_it_comes_to_rest(law):
    speed = 0.5 * MODEL.velocity_limit * (1, -1, 1, -1, 1, -1, 1)
    loop = arm(qd=speed, settings=settings_of(mode=law))
    gravity_torque = loop.dynamics.gravity(BENT)
    loop.run(4.0)
    np.testing.assert_allclose(loop.torques[0], gravity_torque, **ROUNDING)
    assert loop.largest_change <= 1.0 + 1e-9
    assert np.abs(loop.plant.qd).max() < 1e-2
    # the way of a stop from this speed, and the error that the growing feedback lets by
    assert np.all(np.abs(loop.plant.q - BENT) < 0.5 * np.abs(speed) * 0.3 + 0.1)


def test_deactivated_it_refuses_and_can_be_activated_again():
    loop = arm()
    loop.moving()
    loop.control.activation.deactivate()
    assert loop.control.mode is Mode.INACTIVE and loop.control.status.at_rest
    with pytest.raises(StateError, match='not active; activate it first .*its log has'):
        loop.follow(BENT, 1.0)
    loop.start(BENT)
    loop.run(1.0)
    np.testing.assert_allclose(loop.torques[0], loop.dynamics.gravity(BENT), **ROUNDING)
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-7)


def test_without_activation_the_torque_is_gravity_and_damping():
    dyn = Dynamics(MODEL)
    control = ArmController(dyn)
    for now in np.arange(0.001, 0.3, 0.001):  # from zero, as fast as the torque may grow
        torque = control.update(now, BENT, np.zeros(7))
    np.testing.assert_allclose(torque, dyn.gravity(BENT), **ROUNDING)
    assert control.mode is Mode.INACTIVE
    np.testing.assert_allclose(control.cycle.coast(0.3), dyn.gravity(BENT), **ROUNDING)


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


def strong(model):
    """Return a robot whose motors are strong enough."""
    return replace(model, effort_limit=np.full(model.nv, 1e4))


@pytest.mark.parametrize('seed', [3, 5, 8])
def test_any_tree_is_tracked(seed):
    mixture = Mixture(mimic=0.3 if seed == 8 else 0.0)
    model = strong(RobotModel.from_urdf(random_tree(seed, 6, mixture)))
    loop = Loop(model)
    loop.run(0.7)
    loop.follow(loop.swing(2.0, 0.5), 2.0)
    loop.run(2.3)
    assert np.abs(loop.error).max() < 5e-4
    assert loop.control.message == 'the goal is reached'


@pytest.mark.parametrize('law, period, allowed', [
    ('computed_torque', 0.001, 0.005), ('computed_torque', 0.005, 0.01),
    ('feedforward_pd', 0.001, 0.02)])
def test_friction_and_slow_states_cost_little(law, period, allowed):
    loop = arm(settings=settings_of(mode=law), period=period, friction=True)
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


def test_a_trajectory_of_some_joints_does_not_move_the_others():
    loop = arm(settings=settings_of(allow_partial_joints_goal=True))
    loop.run(0.7)
    loop.follow([-0.5], 1.0, ['joint4'])
    loop.run(1.3)
    expected = BENT.copy()
    expected[3] = -0.5
    np.testing.assert_allclose(loop.plant.q, expected, atol=1e-4)


def test_a_continuous_joint_goes_on_counting_and_turns_the_short_way():
    model = strong(RobotModel.from_urdf(
        random_tree(4, 3, Mixture(prismatic=0.0, continuous=1.0))))
    q = np.array([50.0, -31.0, 0.1])
    loop = Loop(model, q=q)
    loop.run(0.7)
    loop.follow(np.array([50.0, -31.0, 0.1]) % math.tau - math.pi + 0.4, 4.0)
    loop.run(4.3)
    assert np.abs(loop.error).max() < 5e-4
    assert np.abs(loop.plant.q - q).max() < math.pi


def test_a_blocked_joint_aborts_the_trajectory_with_the_reason():
    loop = arm(settings=settings_of(constraints__trajectory=0.05), upper=BENT + 0.2)
    loop.run(0.7)
    goal = BENT.copy()
    goal[5] += 0.9
    loop.follow(goal, 2.0)
    loop.run(3.0)
    assert loop.control.mode is Mode.HOLD
    assert "joint 'joint6': position misses its reference by 0.05" in loop.control.message
    assert loop.largest_change <= 1.0 + 1e-9
    assert loop.control.reference.q[5] < BENT[5] + 0.5, 'it goes on pushing'


def test_a_goal_out_of_reach_is_reported():
    settings = settings_of(constraints__goal=1e-4, constraints__goal_time=0.3)
    loop = arm(settings=settings, plant=HEAVY)
    loop.run(0.7)
    loop.follow(BENT, 1.0)
    loop.run(1.5)
    assert 'after the last point, goal_time 0.3' in loop.control.message
    loop.run(0.5)
    assert loop.control.mode is Mode.HOLD


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
    loop.control.requests.hold()
    loop.settle()
    loop.run(0.2)  # wrists that were pushed beyond twice their velocity limit stop from rest
    assert np.abs(loop.plant.qd).max() < 1e-3
    assert loop.control.mode is Mode.HOLD


@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize('pose', [BENT, STRETCHED, np.zeros(7)], ids=['bent', 'stretched', 'up'])
@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_a_joint_thrown_at_its_limit_is_stopped_in_any_pose(joint, pose, side):
    q, qd = pose.copy(), np.zeros(7)
    q[joint] = side * (MODEL.upper[joint] - 0.3)
    qd[joint] = side * 0.8 * MODEL.velocity_limit[joint]
    # hardly damped, or some would never get there
    loop = Loop(MODEL, FLOATING, {'float_damping': 1e-4}, q=q, qd=qd, period=0.005, lower=-9.0,
                upper=9.0)
    loop.run(1.0)
    assert (side * loop.q[:, joint]).max() < MODEL.upper[joint] + 4e-3
    assert (side * loop.q[:, joint]).max() > MODEL.upper[joint] - 0.2, 'it never got there'
    assert np.abs(loop.torques).max() < 150.0


@pytest.mark.parametrize('friction', [False, True])
def test_stopped_at_full_speed_it_decelerates_within_limits_and_stays(friction):
    loop = arm(friction=friction)
    loop.moving(share=0.95)
    begin, speed = len(loop.log), loop.column(4)[-1]
    loop.control.requests.stop('enough')
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
    loop.control.requests.stop('enough')
    loop.run(1.0)
    assert loop.q[:, 3].max() < MODEL.upper[3]
    assert loop.control.mode is Mode.HOLD


def test_a_stop_of_a_stop_is_a_stop():
    loop = arm()
    loop.moving(share=0.9)
    for _ in range(5):
        loop.control.requests.stop('again')
        loop.run(0.05)
    loop.run(0.3)
    assert loop.control.mode is Mode.HOLD
    assert np.abs(loop.error).max() < 2e-3


@pytest.mark.parametrize('name', ['activation_time', 'transition_time', 'load_time',
                                  'impedance__energy_tank', 'external_wrench__timeout',
                                  'stop_time', 'stale__stop'])
@pytest.mark.parametrize('value', [-0.1, np.nan, np.inf])
def test_times_that_make_no_sense_are_refused_by_name(name, value):
    """Protects from an arm whose feedback never grows, or that never comes to rest."""
    words = f"'{name.replace('__', '.')}' is {value}: (the least allowed|it must be finite)"
    with pytest.raises(ParameterError, match=words):
        settings_of(**{name: value})


@pytest.mark.parametrize('name', ['stop_time', 'stale__stop'])
def test_times_in_which_something_has_to_happen_are_above_zero(name):
    with pytest.raises(ParameterError, match='is 0.0: the least allowed is'):
        settings_of(**{name: 0.0})
    settings_of(activation_time=0.0, transition_time=0.0, load_time=0.0)
