"""The simulated arm against closed forms, and what must hold whatever the numbers are."""
import math
from pathlib import Path

from hypothesis import given, settings, strategies
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from scipy.special import ellipj, ellipk

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
G = 9.81
NO_STOPS = {'lower': -math.inf, 'upper': math.inf}
NO_FRICTION = {'damping': 0.0, 'friction': 0.0}


def one_joint(kind='continuous', mass=1.0, lever=0.0, inertia=1.0, axis='0 1 0', limit='',
              dynamics=''):
    """Return a robot with one joint; its body hangs `lever` below the joint."""
    return RobotModel.from_urdf(f"""
        <robot name="one"><link name="base"/>
          <link name="body"><inertial><origin xyz="0 0 {-lever}"/><mass value="{mass}"/>
            <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>
          </inertial></link>
          <joint name="joint" type="{kind}"><parent link="base"/><child link="body"/>
            <axis xyz="{axis}"/>{limit or '<limit effort="1000" velocity="100"/>'}{dynamics}
          </joint></robot>""")


@pytest.fixture(scope='module')
def arm():
    return RobotModel.from_urdf(ARM)


def run(plant, seconds, torque):
    """Step for a while; yield after every step."""
    torque = np.broadcast_to(np.asarray(torque, dtype=float), (plant.nv,)).copy()
    for _ in range(round(seconds / plant.step_size)):
        assert plant.step(torque), plant.fault
        yield plant


def finish(plant, seconds, torque=0.0):
    for _ in run(plant, seconds, torque):
        pass
    return plant


def energy(plant):
    dynamics = plant.dynamics
    return (dynamics.kinetic_energy(plant.q, plant.qd) + dynamics.potential_energy(plant.q)
            + 0.5 * plant.joints.armature @ plant.qd**2)


# --- motion against closed forms --------------------------------------------------------------

def test_swinging_pendulum_follows_the_elliptic_functions():
    # sin(angle / 2) = k cd(w t): the pendulum let go at `start`
    mass, lever, start = 2.0, 0.4, 2.0
    model = one_joint(mass=mass, lever=lever, inertia=1e-2)
    w = math.sqrt(mass * G * lever / (1e-2 + mass * lever**2))
    k = math.sin(start / 2)

    def deviation(step):
        plant = Plant(model, step, **NO_FRICTION)
        plant.reset([start])
        worst = 0.0
        for _ in run(plant, 4.0, 0.0):
            # cd(u) = sn(u + K)
            sn = ellipj(w * plant.time + ellipk(k**2), k**2)[0]
            worst = max(worst, abs(plant.q[0] - 2 * math.asin(k * sn)))
        return worst

    coarse, fine = deviation(2e-3), deviation(1e-3)
    assert fine < 1e-4
    assert math.log2(coarse / fine) == pytest.approx(2.0, abs=0.2)


def test_energy_of_a_frictionless_arm_stays_with_the_square_of_the_step(arm):
    start = [0.0, 0.5, 0.0, -1.0, 0.0, 0.3, 0.0]

    def drift(step):
        plant = Plant(arm, step, armature=0.05, **NO_FRICTION, **NO_STOPS)
        plant.reset(start)
        before = energy(plant)
        moving = max(plant.dynamics.kinetic_energy(plant.q, plant.qd)
                     for _ in run(plant, 0.5, 0.0))
        return abs(energy(plant) - before) / moving

    # what it oscillates by is of second order; after a while the arm is back in it
    coarse, fine = drift(4e-3), drift(1e-3)
    assert fine < 1e-6
    assert math.log2(coarse / fine) / 2.0 > 1.8


def test_pendulum_neither_gains_nor_loses_energy_in_a_minute():
    model = one_joint(lever=0.4, inertia=1e-3)
    plant = Plant(model, 1e-3, **NO_FRICTION)
    plant.reset([1.0])
    swing = G * 0.4 * (1 - math.cos(1.0))
    before = energy(plant)
    worst = max(abs(energy(plant) - before) for _ in run(plant, 60.0, 0.0))
    assert worst < 1e-4 * swing


def test_free_fall_is_exact():
    plant = Plant(one_joint('prismatic', axis='0 0 1', limit='<limit lower="-100" upper="100" '
                            'effort="1000" velocity="100"/>'), 1e-2, **NO_FRICTION)
    plant.reset([5.0])
    for _ in run(plant, 1.0, 0.0):
        assert plant.q[0] == pytest.approx(5.0 - 0.5 * G * plant.time**2, abs=1e-12)
        assert plant.qd[0] == pytest.approx(-G * plant.time, abs=1e-12)


def test_first_acceleration_is_that_of_forward_dynamics(arm):
    # at rest the middle of a step is its beginning
    plant = Plant(arm, 1e-3, **NO_FRICTION)
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    plant.reset(q)
    torque = np.array([1.0, -2.0, 3.0, -1.0, 0.5, 0.2, 0.1])
    plant.step(torque)
    expected = Dynamics(arm).forward_dynamics(q, np.zeros(7), torque)
    # velocity is 0 in the predictor only; C of half a step's velocity is of the order of dt^2
    np.testing.assert_allclose(plant.qdd, expected, rtol=1e-3)
    np.testing.assert_array_equal(plant.qd, 1e-3 * plant.qdd)


def test_armature_is_inertia():
    plant = Plant(one_joint(inertia=0.2), armature=0.3, **NO_FRICTION)
    plant.step(np.array([1.0]))
    assert plant.qdd[0] == pytest.approx(1.0 / 0.5, rel=1e-12)


# --- friction ---------------------------------------------------------------------------------

def test_terminal_velocity_is_where_friction_balances_the_torque():
    plant = Plant(one_joint(inertia=0.1, dynamics='<dynamics damping="0.5" friction="2"/>'))
    finish(plant, 4.0, 5.0)
    assert plant.qd[0] == pytest.approx((5.0 - 2.0) / 0.5, rel=1e-6)
    assert plant.friction[0] == pytest.approx(-5.0, rel=1e-6)


def test_coulomb_friction_stops_a_joint_in_time_and_for_good():
    inertia, friction, speed = 0.1, 0.5, 2.0
    plant = Plant(one_joint(inertia=inertia), damping=0.0, friction=friction)
    plant.qd[0] = speed
    duration = inertia * speed / friction
    finish(plant, duration / 2)
    assert plant.qd[0] == pytest.approx(speed / 2, rel=0.01)
    for _ in run(plant, 0.5, 0.0):
        # once it sticks, the bristle springs back by no more than it was bent
        assert plant.qd[0] >= -1e-5 / plant.step_size, 'friction drove the joint back'
    assert abs(plant.qd[0]) < 1e-9
    assert plant.q[0] == pytest.approx(speed * duration / 2, rel=0.01)


def test_stiction_holds_a_load_where_it_is():
    friction, load, presliding = 2.0, 1.5, 1e-5
    plant = Plant(one_joint(inertia=0.1), damping=0.0, friction=friction, presliding=presliding)
    finish(plant, 1.0, load)
    # the bristle bends in proportion to the load
    assert plant.q[0] == pytest.approx(presliding * load / friction, rel=1e-6)
    assert plant.friction[0] == pytest.approx(-load, rel=1e-9)
    held = plant.q[0]
    finish(plant, 60.0, load)
    assert abs(plant.q[0] - held) < 1e-12, 'it creeps'
    finish(plant, 0.2, friction + 1.0)
    assert plant.qd[0] > 0.5


def test_stiction_is_left_at_its_level_and_falls_to_coulomb_friction():
    stiction, friction = 3.0, 1.0
    plant = Plant(one_joint(inertia=0.1), damping=0.2, friction=friction, stiction=stiction,
                  stribeck_velocity=0.05)
    finish(plant, 0.5, 0.95 * stiction)
    assert abs(plant.q[0]) < 2e-5, 'it slipped'
    finish(plant, 90.0, 1.01 * stiction)
    # where viscous and Stribeck friction balance the torque
    v = plant.qd[0]
    curve = friction + (stiction - friction) / (1.0 + (v / 0.05)**2)
    assert 0.2 * v + curve == pytest.approx(1.01 * stiction, rel=1e-6)
    assert v > 5.0


def test_an_arm_at_rest_in_stiction_does_not_creep(arm):
    plant = Plant(arm, damping=1.0, friction=5.0)
    torque = plant.dynamics.gravity(plant.q) + np.array([3, -3, 3, -3, 3, -3, 3])
    finish(plant, 0.5, torque)
    held = plant.q.copy()
    finish(plant, 5.0, torque)
    np.testing.assert_allclose(plant.q, held, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(inertia=strategies.floats(1e-7, 1e-2), damping=strategies.floats(0.0, 100.0),
       friction=strategies.floats(0.0, 100.0), speed=strategies.floats(-50.0, 50.0))
def test_friction_slows_down_whatever_the_inertia(inertia, damping, friction, speed):
    plant = Plant(one_joint(inertia=0.0, mass=0.0), armature=inertia, damping=damping,
                  friction=friction)
    plant.qd[0] = before = speed
    for _ in run(plant, 0.02, 0.0):
        # but for what a bent bristle gives back
        spring = plant.joints.presliding[0] / plant.step_size
        assert abs(plant.qd[0]) <= abs(before) + spring
        assert plant.qd[0] * np.sign(speed) >= -spring
        before = plant.qd[0]


# --- stops ------------------------------------------------------------------------------------

def test_a_pressed_stop_yields_by_torque_over_stiffness():
    plant = Plant(one_joint('revolute', limit='<limit lower="-1" upper="0.5" effort="50" '
                            'velocity="10"/>'), **NO_FRICTION)
    finish(plant, 3.0, 50.0)
    assert plant.q[0] - 0.5 == pytest.approx(0.01, rel=1e-6)
    assert plant.stop[0] == pytest.approx(-50.0, rel=1e-6)
    assert abs(plant.qd[0]) < 1e-9
    finish(plant, 3.0, -25.0)
    assert -1.0 - plant.q[0] == pytest.approx(0.005, rel=1e-6)


@pytest.mark.parametrize('side', [1, -1])
def test_a_stop_is_left_with_the_velocity_of_one_that_pushes_only(side):
    # A critically damped spring that lets go when it begins to pull: exp(-2) of the impact.
    plant = Plant(one_joint('revolute', limit='<limit lower="-1" upper="1" effort="50" '
                            'velocity="10"/>'), 2e-5, **NO_FRICTION)
    plant.reset([0.99 * side])
    plant.qd[0] = 2.0 * side
    finish(plant, 0.1)
    assert plant.qd[0] == pytest.approx(-2.0 * side * math.exp(-2.0), rel=0.02)


def test_stops_only_push_and_take_energy(arm):
    plant = Plant(arm, **NO_FRICTION)
    plant.reset([0.0, 0.2, 0.0, -1.0, 0.0, 0.3, 0.0])
    before = energy(plant)
    touched = np.zeros(7, dtype=bool)
    for _ in run(plant, 5.0, 0.0):
        outward = np.where(plant.stop < 0.0, plant.q - arm.upper, arm.lower - plant.q)
        pushing = plant.stop != 0.0
        touched |= pushing
        # met at up to 20 rad/s, at the end of the step
        assert np.all(outward[pushing] > -0.02)
    assert touched.sum() >= 3, 'the arm never fell into its stops'
    assert energy(plant) < before + 1e-3 * abs(before)


@settings(max_examples=25, deadline=None)
@given(inertia=strategies.floats(1e-6, 1.0), speed=strategies.floats(0.0, 50.0),
       stiffness=strategies.floats(1.0, 1e7), damping=strategies.floats(0.0, 1e5))
def test_a_stop_never_returns_more_than_it_got(inertia, speed, stiffness, damping):
    plant = Plant(one_joint('revolute', mass=0.0, inertia=0.0, limit='<limit lower="-1e9" '
                            'upper="1" effort="50" velocity="10"/>'),
                  armature=inertia, stop_stiffness=stiffness, stop_damping=damping,
                  **NO_FRICTION)
    plant.reset([0.999])
    plant.qd[0] = speed
    for _ in range(200):
        assert plant.step(np.zeros(1)), plant.fault
        # an undamped stop that is met within a step may miss by as much as the step is coarse
        assert plant.qd[0] >= -1.2 * speed - 1e-9
        assert plant.stop[0] <= 1e-9


def test_a_joint_started_between_tight_stops_stays_there():
    plant = Plant(one_joint('revolute', lever=0.3, limit='<limit lower="0.1" upper="0.1001" '
                            'effort="50" velocity="10"/>'))
    finish(plant, 2.0, 20.0)
    assert 0.09 < plant.q[0] < 0.11


# --- motors, brakes, pushes -------------------------------------------------------------------

def test_motors_give_no_more_than_their_limit(arm):
    plant = Plant(arm)
    plant.step(2.0 * arm.effort_limit * np.array([1, -1, 1, -1, 1, -1, 0.1]))
    expected = arm.effort_limit * np.array([1, -1, 1, -1, 1, -1, 0.2])
    np.testing.assert_allclose(plant.applied, expected, rtol=1e-15)


def test_a_zero_effort_limit_is_told_and_can_be_overridden():
    model = one_joint(limit='<limit effort="0" velocity="1"/>')
    plant = Plant(model)
    assert "'joint'" in plant.warnings[0]
    plant.step(np.array([5.0]))
    assert plant.applied[0] == 0.0
    plant = Plant(model, effort_limit=math.inf)
    assert plant.warnings == ()
    plant.step(np.array([1e6]))
    assert plant.applied[0] == 1e6


def test_a_plant_goes_on_where_another_one_is():
    before, after = (Plant(one_joint('revolute', inertia=1.0, mass=0.0), friction=2.0)
                     for _ in range(2))
    finish(before, 0.1, 1.5)  # stiction holds, bent
    after.follow(before)
    for plant in (before, after):
        finish(plant, 0.1, 1.5)
        finish(plant, 0.1, 3.0)
    np.testing.assert_array_equal([after.q, after.qd, after.friction],
                                  [before.q, before.qd, before.friction])
    assert after.time == before.time


def test_brakes_hold_until_released(arm):
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    plant = Plant(arm, brakes=True)
    plant.reset(q)
    finish(plant, 0.1, 5.0)
    np.testing.assert_array_equal(plant.q, q)
    assert not plant.qd.any() and plant.steps == 100
    # what they hold is the weight
    np.testing.assert_allclose(plant.applied, Dynamics(arm).gravity(q), rtol=1e-12)
    plant.release()
    finish(plant, 0.1)
    moved = plant.q.copy()
    assert plant.qd.any()
    plant.engage()
    finish(plant, 0.1)
    np.testing.assert_array_equal(plant.q, moved)
    assert not plant.qd.any()


def test_gravity_torque_holds_the_arm(arm):
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    plant = Plant(arm, **NO_FRICTION)
    plant.reset(q)
    finish(plant, 1.0, Dynamics(arm).gravity(q))
    # an unstable balance, in which rounding grows
    np.testing.assert_allclose(plant.q, q, atol=1e-9)


def test_a_push_is_a_joint_torque_through_the_jacobian(arm):
    link, wrench = 'link7' if 'link7' in arm.links else arm.body_names[-1], np.arange(1.0, 7.0)
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    pushed, driven = Plant(arm), Plant(arm)
    torque = Dynamics(arm).jacobian(q, link).T @ wrench
    for plant in (pushed, driven):
        plant.reset(q)
    pushed.push(link, wrench)
    pushed.step(np.zeros(7))
    driven.step(torque)
    np.testing.assert_allclose(pushed.qdd, driven.qdd, rtol=1e-12)
    np.testing.assert_allclose(pushed.external, torque, rtol=1e-12)
    pushed.push(link, None)
    assert not pushed.external.any()


def test_continuous_joints_keep_counting():
    plant = Plant(one_joint(inertia=0.1), **NO_FRICTION)
    finish(plant, 2.0, 5.0)
    assert plant.q[0] == pytest.approx(100.0, rel=1e-9)


# --- starting, ending, mistakes ---------------------------------------------------------------

def test_starts_away_from_limits():
    def start(limits):
        return Plant(one_joint('revolute', limit=f'<limit {limits} effort="1" velocity="1"/>')).q
    assert start('lower="-1" upper="2"') == [0.0]
    assert start('lower="-3" upper="-0.1"') == [pytest.approx(-1.55)]
    assert start('lower="0" upper="1"') == [0.5]
    assert Plant(one_joint()).q == [0.0]


def test_two_runs_are_bit_identical(arm):
    def trajectory():
        plant, generator = Plant(arm), np.random.default_rng(5)
        for _ in range(300):
            plant.step(generator.uniform(-20, 20, 7))
        return plant.q.tobytes() + plant.qd.tobytes()
    assert trajectory() == trajectory()


def test_compiled_step_is_the_readable_one(arm):
    fast = Plant(arm)
    slow = Plant(arm, dynamics=Dynamics(arm, backend='python'))
    generator = np.random.default_rng(7)
    for plant in (fast, slow):
        plant.reset(0.99 * arm.upper)
    for _ in range(100):
        torque = generator.uniform(-20, 20, 7)
        assert fast.step(torque) and slow.step(torque)
    np.testing.assert_allclose(fast.q, slow.q, rtol=1e-9)
    np.testing.assert_allclose(fast.qd, slow.qd, rtol=1e-7, atol=1e-9)


def test_divergence_is_a_verdict_that_names_the_joint_and_keeps_the_last_state(arm):
    plant = Plant(arm, 0.02, effort_limit=math.inf, **NO_FRICTION)
    torque = np.zeros(7)
    torque[3] = 1e12
    plant.step(np.zeros(7))
    q = plant.q.copy()
    assert plant.step(torque) is False
    assert 'diverged' in plant.fault and "joint 'joint" in plant.fault
    assert plant.brakes
    np.testing.assert_array_equal(plant.q, q)
    assert np.isfinite(plant.applied).all() and not plant.qd.any()
    plant.release()
    assert plant.brakes, 'brakes are released after a fault'
    assert plant.step(np.zeros(7)) is False
    plant.reset(brakes=False)
    assert plant.fault == '' and plant.step(np.zeros(7)) and plant.time == 0.02


@pytest.mark.parametrize('torque, word', [
    ([1.0] * 6, 'torque'), ([[1.0] * 7], 'torque'), (3.0, 'torque'), (['a'] * 7, 'torque'),
    ([0, 0, math.nan, 0, 0, 0, 0], 'joint3'), ([0, 0, 0, 0, 0, 0, math.inf], 'joint7')])
def test_bad_torques_are_refused_and_change_nothing(arm, torque, word):
    plant = Plant(arm)
    plant.step(np.ones(7))
    before = plant._state.copy()
    for given_torque in (torque, np.asarray(torque)):
        with pytest.raises(ArgumentError, match=word):
            plant.step(given_torque)
    np.testing.assert_array_equal(plant._state, before)
    assert plant.steps == 1
    assert plant.step([0.0] * 7) and plant.step(np.zeros(14)[::2]) and plant.step(range(7))


@pytest.mark.parametrize('arguments, word', [
    ({'step': 0.0}, 'step'), ({'step': -1e-3}, 'step'), ({'step': math.nan}, 'step'),
    ({'effort_limit': -1.0}, 'joint1'), ({'damping': [1.0] * 3}, 'damping'),
    ({'friction': [0, 0, math.nan, 0, 0, 0, 0]}, 'joint3'), ({'armature': math.inf}, 'finite'),
    ({'stop_stiffness': 'hard'}, 'stop_stiffness')])
def test_bad_physics_are_refused(arm, arguments, word):
    with pytest.raises(ArgumentError, match=word):
        Plant(arm, **arguments)


@pytest.mark.parametrize('q, word', [
    ([0.0] * 6, 'q'), ([0.0, 9.0] + [0.0] * 5, 'joint2.* 9'), ([math.nan] * 7, 'joint1')])
def test_bad_positions_are_refused(arm, q, word):
    plant = Plant(arm)
    with pytest.raises(ArgumentError, match=word):
        plant.reset(q)


def test_bad_pushes_are_refused(arm):
    plant = Plant(arm)
    with pytest.raises(ModelError, match='no link'):
        plant.push('hand of nobody', [0.0] * 6)
    for wrench in ([1.0] * 3, [math.nan] * 6):
        with pytest.raises(ArgumentError, match=arm.body_names[0]):
            plant.push(arm.body_names[0], wrench)
    assert not plant.external.any()
