"""The simulated arm against closed forms, and what must hold whatever the numbers are."""

import math

from analysed_robots import last_link
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, ModelError
from robodyn_ros.simulation import Plant
from scipy.special import ellipj, ellipk
from simulated_arm import ARM, energy, finish, G, NO_FRICTION, NO_STOPS, one_joint, run


def test_swinging_pendulum_follows_the_elliptic_functions():
    # sin(angle / 2) = k cd(w t): the pendulum released at `start`
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


def test_energy_of_a_frictionless_arm_stays_with_the_square_of_the_step():
    start = [0.0, 0.5, 0.0, -1.0, 0.0, 0.3, 0.0]

    def drift(step):
        plant = Plant(ARM, step, armature=0.05, **NO_FRICTION, **NO_STOPS)
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


def test_first_acceleration_is_that_of_forward_dynamics():
    # at rest the middle of a step is its beginning
    plant = Plant(ARM, 1e-3, **NO_FRICTION)
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    plant.reset(q)
    torque = np.array([1.0, -2.0, 3.0, -1.0, 0.5, 0.2, 0.1])
    plant.step(torque)
    expected = Dynamics(ARM).forward_dynamics(q, np.zeros(7), torque)
    # velocity is 0 in the predictor only; C of half a step's velocity is of the order of dt^2
    np.testing.assert_allclose(plant.qdd, expected, rtol=1e-3)
    np.testing.assert_array_equal(plant.qd, 1e-3 * plant.qdd)


def test_armature_is_inertia():
    plant = Plant(one_joint(inertia=0.2), armature=0.3, **NO_FRICTION)
    plant.step(np.array([1.0]))
    assert plant.qdd[0] == pytest.approx(1.0 / 0.5, rel=1e-12)


# --- motors, brakes, pushes ---------------------------------------------------------------------

def test_motors_give_no_more_than_their_limit():
    plant = Plant(ARM)
    plant.step(2.0 * ARM.effort_limit * np.array([1, -1, 1, -1, 1, -1, 0.1]))
    expected = ARM.effort_limit * np.array([1, -1, 1, -1, 1, -1, 0.2])
    np.testing.assert_allclose(plant.applied, expected, rtol=1e-15)


def test_a_zero_effort_limit_is_reported_and_can_be_overridden():
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


def test_brakes_hold_until_released():
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    plant = Plant(ARM, brakes=True)
    plant.reset(q)
    finish(plant, 0.1, 5.0)
    np.testing.assert_array_equal(plant.q, q)
    assert not plant.qd.any() and plant.steps == 100
    # what they hold is the gravity torque
    np.testing.assert_allclose(plant.applied, Dynamics(ARM).gravity(q), rtol=1e-12)
    plant.release()
    finish(plant, 0.1)
    moved = plant.q.copy()
    assert plant.qd.any()
    plant.engage()
    finish(plant, 0.1)
    np.testing.assert_array_equal(plant.q, moved)
    assert not plant.qd.any()


def test_gravity_torque_holds_the_arm():
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    plant = Plant(ARM, **NO_FRICTION)
    plant.reset(q)
    finish(plant, 1.0, Dynamics(ARM).gravity(q))
    # an unstable balance, in which rounding grows
    np.testing.assert_allclose(plant.q, q, atol=1e-9)


def test_a_push_is_a_joint_torque_through_the_jacobian():
    link, wrench = 'link7' if 'link7' in ARM.links else ARM.body_names[-1], np.arange(1.0, 7.0)
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    pushed, driven = Plant(ARM), Plant(ARM)
    torque = Dynamics(ARM).jacobian(q, link).T @ wrench
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


def test_brakes_hold_the_gravity_torque_less_the_external_torque():
    """Protects the sign of the external torque in what closed brakes report as their torque."""
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    wrench = np.array([10.0, -20.0, 30.0, 1.0, 2.0, -3.0])
    plant = Plant(ARM, brakes=True)
    plant.reset(q)
    plant.push('tool0', wrench)
    plant.step(np.zeros(7))
    held = plant.applied.copy()
    dynamics = Dynamics(ARM)
    np.testing.assert_allclose(
        held, dynamics.gravity(q) - dynamics.jacobian(q, 'tool0').T @ wrench, rtol=1e-12)
    # motors that give the same in place of the brakes keep the arm at rest
    plant.release()
    plant.step(held)
    np.testing.assert_allclose(plant.qdd, 0.0, atol=1e-9)


def test_a_reset_ends_all_pushes():
    """Protects from wrenches of an earlier run that go on pushing an arm after its reset."""
    q = np.array([0.3, 0.5, -0.2, -1.0, 0.4, 0.3, 0.1])
    pushed, fresh = Plant(ARM), Plant(ARM)
    pushed.push('tool0', np.full(6, 20.0))
    pushed.step(np.zeros(7))
    for plant in (pushed, fresh):
        plant.reset(q)
        assert not plant.external.any()
        finish(plant, 0.01)
        assert not plant.external.any()
    np.testing.assert_array_equal(pushed.q, fresh.q)


# --- starting, ending, mistakes -----------------------------------------------------------------

def test_starts_away_from_limits():
    def start(limits):
        return Plant(one_joint('revolute', limit=f'<limit {limits} effort="1" velocity="1"/>')).q
    assert start('lower="-1" upper="2"') == [0.0]
    assert start('lower="-3" upper="-0.1"') == [pytest.approx(-1.55)]
    assert start('lower="0" upper="1"') == [0.5]
    assert Plant(one_joint()).q == [0.0]


def test_two_runs_are_bit_identical():
    def trajectory():
        plant, generator = Plant(ARM), np.random.default_rng(5)
        for _ in range(300):
            plant.step(generator.uniform(-20, 20, 7))
        return plant.q.tobytes() + plant.qd.tobytes()
    assert trajectory() == trajectory()


def test_compiled_step_is_the_readable_one():
    fast = Plant(ARM)
    slow = Plant(ARM, dynamics=Dynamics(ARM, backend='python'))
    generator = np.random.default_rng(7)
    for plant in (fast, slow):
        plant.reset(0.99 * ARM.upper)
    for _ in range(100):
        torque = generator.uniform(-20, 20, 7)
        assert fast.step(torque) and slow.step(torque)
    np.testing.assert_allclose(fast.q, slow.q, rtol=1e-9)
    np.testing.assert_allclose(fast.qd, slow.qd, rtol=1e-7, atol=1e-9)


def test_divergence_is_a_verdict_that_names_the_joint_and_keeps_the_last_state():
    plant = Plant(ARM, 0.02, effort_limit=math.inf, **NO_FRICTION)
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
def test_bad_torques_are_refused_and_change_nothing(torque, word):
    plant = Plant(ARM)
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
def test_bad_physics_are_refused(arguments, word):
    with pytest.raises(ArgumentError, match=word):
        Plant(ARM, **arguments)


@pytest.mark.parametrize('q, word', [
    ([0.0] * 6, 'q'), ([0.0, 9.0] + [0.0] * 5, 'joint2.* 9'), ([math.nan] * 7, 'joint1')])
def test_bad_positions_are_refused(q, word):
    plant = Plant(ARM)
    with pytest.raises(ArgumentError, match=word):
        plant.reset(q)


def test_bad_pushes_are_refused():
    plant = Plant(ARM)
    with pytest.raises(ModelError, match='no link'):
        plant.push('unknown', [0.0] * 6)
    for wrench in ([1.0] * 3, [math.nan] * 6):
        with pytest.raises(ArgumentError, match=ARM.body_names[0]):
            plant.push(ARM.body_names[0], wrench)
    assert not plant.external.any()


# --- energy gained is the work of all that acts: motors, a push, friction, rotors ----------------

START = (0.1, 0.5, -0.2, -1.0, 0.3, 0.3, 0.0)
TORQUE = np.array([3.0, 10.0, 2.0, 4.0, 1.0, 0.5, 0.1])
PUSH = (5.0, -3.0, 8.0, 0.4, 0.2, -0.6)


def imbalance(step, **joints):
    """Return energy gained less work done in half a second, over the largest kinetic energy."""
    plant = Plant(ARM, step, friction=0.0, armature=0.05, **NO_STOPS, **joints)
    plant.reset(START)
    plant.push(last_link(ARM), PUSH)
    dynamics = plant.dynamics

    def kinetic():
        rotors = 0.5 * plant.joints.armature @ plant.qd**2
        return dynamics.kinetic_energy(plant.q, plant.qd) + rotors

    before, work, moved = dynamics.potential_energy(plant.q), 0.0, 0.0
    for k in range(round(0.5 / step)):
        start = plant.q.copy()
        # as it is in the middle of the step
        assert plant.step(TORQUE * np.cos(5.0 * (k + 0.5) * step)), plant.fault
        work += (plant.applied + plant.external + plant.friction) @ (plant.q - start)
        moved = max(moved, kinetic())
    gained = kinetic() + dynamics.potential_energy(plant.q) - before
    assert moved > 1.0
    return abs(gained - work) / moved


@pytest.mark.parametrize('damping', [0.0, 0.4])
def test_energy_gained_is_the_work_done(damping):
    coarse, fine = (imbalance(step, damping=damping) for step in (2e-3, 1e-3))
    assert fine < 1e-4
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.3)


def test_all_friction_takes_energy():
    """Check that with friction nothing that is left alone gains energy."""
    plant = Plant(ARM, friction=0.3, damping=0.1)
    plant.reset(START)
    dynamics, zero = plant.dynamics, np.zeros(ARM.nv)
    least = np.inf
    for _ in range(500):
        assert plant.step(zero), plant.fault
        assert plant.friction @ plant.qd <= 1e-12
        energy = (dynamics.kinetic_energy(plant.q, plant.qd)
                  + dynamics.potential_energy(plant.q))
        # what a step of second order may be wrong by
        assert energy < least + 1e-4
        least = min(least, energy)
