"""
What holds for the dynamics of every robot, whatever its numbers.

Exact identities are held to 1e-12 of the size of the result (round-off of some hundred
operations); those that a finite difference stands in for, to 1e-7, what central differences with
a step of 1e-5 leave.
"""

from pathlib import Path

import numpy as np
import pytest
from random_trees import Mixture, random_inertial, random_tree, vector
from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.model import RobotModel
from tolerance import assert_close

EXACT = 1e-12
DIFFERENCE, STEP = 1e-7, 1e-5
ARM = (Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf').read_text()
TEXTS = {
    'robodyn7': ARM,
    'tree': random_tree(21, 6, Mixture(prismatic=0.4)),
    'tied': random_tree(22, 6, Mixture(mimic=0.4, branching=0.6)),
}
GRAVITY = (0.8, -2.0, -9.0)


@pytest.fixture(scope='module', params=TEXTS)
def text(request):
    return TEXTS[request.param]


@pytest.fixture(scope='module')
def dyn(text):
    return Dynamics(RobotModel.from_urdf(text, gravity=GRAVITY))


@pytest.fixture(scope='module')
def last(dyn):
    """Name of the last link, moved by most of the joints."""
    return list(dyn.model.links)[-1]


def states(dyn, count=20, seed=31):
    rng = np.random.default_rng(seed)
    lower, upper = np.clip(dyn.model.lower, -3, 3), np.clip(dyn.model.upper, -3, 3)
    for _ in range(count):
        yield rng.uniform(lower, upper), *rng.uniform(-2, 2, (2, dyn.nv))


def difference(function, q, direction):
    """Return the derivative of function(q) along a direction."""
    return (function(q + STEP * direction) - function(q - STEP * direction)) / (2 * STEP)


# --- the equation of motion -----------------------------------------------------------------

def test_mass_matrix_is_symmetric_and_positive_definite(dyn):
    for q, _, _ in states(dyn):
        mass_matrix = dyn.mass_matrix(q)
        np.testing.assert_array_equal(mass_matrix, mass_matrix.T)
        assert np.linalg.eigvalsh(mass_matrix)[0] > 0.0


def test_torque_is_affine_in_the_acceleration(dyn):
    for q, qd, qdd in states(dyn):
        bias = dyn.bias(q, qd)
        assert_close(dyn.inverse_dynamics(q, qd, 0 * qdd), bias, EXACT)
        assert_close(
            dyn.inverse_dynamics(q, qd, qdd), dyn.mass_matrix(q) @ qdd + bias, EXACT,
            np.max(np.abs(bias)))


def test_gravity_is_the_torque_at_rest(dyn):
    for q, qd, _ in states(dyn):
        assert_close(dyn.gravity(q), dyn.inverse_dynamics(q, 0 * q, 0 * q), EXACT)
        assert_close(dyn.gravity(q), dyn.bias(q, 0 * q), EXACT)


def test_velocity_terms_are_quadratic(dyn):
    for q, qd, _ in states(dyn):
        gravity = dyn.gravity(q)
        velocity = dyn.bias(q, qd) - gravity
        size = np.max(np.abs(gravity))
        assert_close(dyn.bias(q, -qd) - gravity, velocity, EXACT, size)
        assert_close(dyn.bias(q, 3 * qd) - gravity, 9 * velocity, EXACT, size)


def test_velocity_terms_do_no_work_beyond_the_change_of_mass_matrix(dyn):
    """Check qd^T (Mdot - 2 C) qd = 0."""
    for q, qd, _ in states(dyn):
        change = qd @ difference(dyn.mass_matrix, q, qd) @ qd
        work = 2 * qd @ (dyn.bias(q, qd) - dyn.gravity(q))
        assert_close(work, change, DIFFERENCE, dyn.kinetic_energy(q, qd))


def test_velocity_terms_are_those_of_lagrange(dyn):
    """Check V = Mdot qd - d/dq (1/2 qd^T M qd)."""
    for q, qd, _ in states(dyn, count=5):
        slope = [difference(lambda x: dyn.kinetic_energy(x, qd), q, e) for e in np.eye(dyn.nv)]
        expected = difference(dyn.mass_matrix, q, qd) @ qd - slope
        assert_close(dyn.bias(q, qd) - dyn.gravity(q), expected, DIFFERENCE, 1.0)


def test_forward_dynamics_undoes_inverse_dynamics(dyn):
    for q, qd, qdd in states(dyn):
        tau = dyn.inverse_dynamics(q, qd, qdd)
        # a solve amplifies round-off by the condition number of the mass matrix
        allowed = EXACT * max(1.0, 0.01 * np.linalg.cond(dyn.mass_matrix(q)))
        assert_close(dyn.forward_dynamics(q, qd, tau), qdd, allowed)
        assert_close(
            dyn.inverse_dynamics(q, qd, dyn.forward_dynamics(q, qd, tau)), tau, EXACT)


def test_forward_dynamics_of_a_large_tree():
    """Beyond some fifteen joints another algorithm serves, which has to be as right."""
    text = random_tree(23, 20, Mixture(prismatic=0.4))
    large = Dynamics(RobotModel.from_urdf(text, gravity=GRAVITY), backend='python')
    for q, qd, qdd in states(large):
        tau = large.inverse_dynamics(q, qd, qdd)
        actual = large.forward_dynamics(q, qd, tau)
        assert_close(large.inverse_dynamics(q, qd, actual), tau, EXACT)
        assert_close(actual, qdd, EXACT * max(1.0, 0.1 * np.linalg.cond(large.mass_matrix(q))))


@pytest.mark.parametrize('joints', [6, 20])
def test_rotor_inertia_counts_in_both_algorithms_of_forward_dynamics(joints):
    """
    Protects the armature of the articulated-body algorithm, which serves above 15 joints.

    Rotors take `armature qdd` of the torque: what is left moves the bodies.
    """
    model = RobotModel.from_urdf(random_tree(23, joints, Mixture(prismatic=0.4)), gravity=GRAVITY)
    dyn = Dynamics(model, backend='python')
    for q, qd, tau in states(dyn, count=3):
        armature = np.linspace(0.1, 2.0, joints)
        qdd = np.array(algorithms.forward_dynamics(
            dyn.tree, *(array.tolist() for array in (dyn.runtime, q, qd, tau, armature))))
        assert_close(dyn.inverse_dynamics(q, qd, qdd) + armature * qdd, tau, EXACT, 10.0)


# --- energy ---------------------------------------------------------------------------------

def test_kinetic_energy_is_half_the_square_under_the_mass_matrix(dyn):
    for q, qd, _ in states(dyn):
        assert_close(dyn.kinetic_energy(q, qd), qd @ dyn.mass_matrix(q) @ qd / 2, EXACT)


def test_gravity_is_the_slope_of_the_potential_energy(dyn):
    for q, _, _ in states(dyn):
        slope = [difference(dyn.potential_energy, q, e) for e in np.eye(dyn.nv)]
        assert_close(dyn.gravity(q), slope, DIFFERENCE)


def test_potential_energy_is_the_height_of_the_centre_of_mass(dyn):
    for q, _, _ in states(dyn):
        expected = -dyn.model.mass.sum() * dyn.model.gravity @ dyn.center_of_mass(q)
        assert_close(dyn.potential_energy(q), expected, EXACT, 1.0)


def rate(dyn, state, tau):
    """Return the derivative of (q, qd, work of tau)."""
    q, qd = state[:dyn.nv], state[dyn.nv:-1]
    return np.concatenate([qd, dyn.forward_dynamics(q, qd, tau), [tau @ qd]])


def runge_kutta(dyn, state, tau, step):
    a = rate(dyn, state, tau)
    b = rate(dyn, state + step / 2 * a, tau)
    c = rate(dyn, state + step / 2 * b, tau)
    d = rate(dyn, state + step * c, tau)
    return state + step / 6 * (a + 2 * b + 2 * c + d)


@pytest.mark.parametrize('push', [0.0, 3.0])
def test_energy_is_conserved_but_for_the_work_done(dyn, push):
    rng = np.random.default_rng(41)
    tau = push * rng.uniform(-1, 1, dyn.nv)
    q = next(states(dyn))[0]
    state = np.concatenate([q, np.zeros(dyn.nv + 1)])

    def balance():
        q, qd = state[:dyn.nv], state[dyn.nv:-1]
        return dyn.kinetic_energy(q, qd) + dyn.potential_energy(q) - state[-1]

    start, moved = balance(), 0.0
    for _ in range(2000):
        state = runge_kutta(dyn, state, tau, 2e-4)
        moved = max(moved, dyn.kinetic_energy(state[:dyn.nv], state[dyn.nv:-1]))
    # Fourth order: the error of the integration, not of the dynamics, is what remains.
    assert moved > 1.0
    assert abs(balance() - start) < 1e-8 * moved


# --- kinematics and wrenches ----------------------------------------------------------------

def test_jacobian_is_the_velocity_of_the_link(dyn, last):
    for q, qd, _ in states(dyn):
        pose = dyn.forward_kinematics(q, last)
        change = difference(lambda x: dyn.forward_kinematics(x, last), q, qd)
        spin = change[:3, :3] @ pose[:3, :3].T
        twist = [*change[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
        assert_close(dyn.jacobian(q, last) @ qd, twist, DIFFERENCE, 1.0)


def test_acceleration_of_the_link_at_constant_joint_velocity(dyn, last):
    for q, qd, _ in states(dyn):
        expected = difference(lambda x: dyn.jacobian(x, last) @ qd, q, qd)
        assert_close(dyn.jacobian_dot_qd(q, qd, last), expected, DIFFERENCE, 1.0)


def test_wrench_by_the_environment_relieves_the_motors(dyn, last):
    """The weight of a mass on a link is a wrench on it: both have the same joint torques."""
    mass = 1.7
    loaded = Dynamics(dyn.model.with_payload(last, mass))
    weight = {last: np.concatenate([mass * dyn.model.gravity, np.zeros(3)])}
    for q, _, _ in states(dyn):
        held = dyn.inverse_dynamics(q, 0 * q, 0 * q, wrenches=weight)
        assert_close(held, loaded.gravity(q), EXACT)


def test_wrenches_of_both_problems_cancel(dyn, last):
    rng = np.random.default_rng(42)
    for q, qd, qdd in states(dyn):
        wrenches = {last: rng.uniform(-5, 5, 6), dyn.model.body_names[0]: rng.uniform(-5, 5, 6)}
        tau = dyn.inverse_dynamics(q, qd, qdd, wrenches)
        push = sum(dyn.jacobian(q, link).T @ wrench for link, wrench in wrenches.items())
        assert_close(tau, dyn.inverse_dynamics(q, qd, qdd) - push, EXACT, np.max(np.abs(push)))
        allowed = EXACT * max(1.0, 0.1 * np.linalg.cond(dyn.mass_matrix(q)))
        assert_close(dyn.forward_dynamics(q, qd, tau, wrenches), qdd, allowed)


def test_wrench_on_the_base_changes_nothing(dyn):
    q, qd, qdd = next(states(dyn))
    wrenches = {dyn.model.base_link: np.ones(6)}
    assert_close(
        dyn.inverse_dynamics(q, qd, qdd, wrenches), dyn.inverse_dynamics(q, qd, qdd), EXACT)


# --- what may change at run time ------------------------------------------------------------

def welded(text, parent, inertial):
    """Return the URDF with one more link, fixed to `parent`."""
    more = (f'<link name="load">{inertial}</link><joint name="load_weld" type="fixed">'
            f'<parent link="{parent}"/><child link="load"/></joint></robot>')
    return text.replace('</robot>', more)


def payload_of(inertial):
    """Return mass, centre of mass and inertia of an inertial, through a one-link robot."""
    text = ('<robot name="one"><link name="root"/><link name="body"/><joint name="j" '
            'type="continuous"><parent link="root"/><child link="body"/></joint></robot>')
    model = RobotModel.from_urdf(welded(text, 'body', inertial))
    mass, com = model.mass[0], model.first_moment[0] / model.mass[0]
    return mass, com, model.inertia[0] - mass * (com @ com * np.eye(3) - np.outer(com, com))


def test_payload_equals_a_link_welded_on(dyn, text, last):
    inertial = random_inertial(np.random.default_rng(43))
    expected = Dynamics(RobotModel.from_urdf(welded(text, last, inertial), gravity=GRAVITY))
    loaded = Dynamics(dyn.model.with_payload(last, *payload_of(inertial)))
    for q, qd, qdd in states(dyn, count=10):
        assert_close(
            loaded.inverse_dynamics(q, qd, qdd), expected.inverse_dynamics(q, qd, qdd), EXACT)
        assert_close(loaded.mass_matrix(q), expected.mass_matrix(q), EXACT)
        assert_close(loaded.center_of_mass(q), expected.center_of_mass(q), EXACT)
        assert_close(loaded.kinetic_energy(q, qd), expected.kinetic_energy(q, qd), EXACT)


def test_payload_and_gravity_change_without_a_new_dynamics(dyn, last):
    light = dyn.model.with_payload(last, 0.5)
    heavy = dyn.model.with_payload(last, 2.0, (0.0, 0.1, 0.2)).with_gravity((0.0, 3.0, 1.0))
    changing, fixed = Dynamics(light), Dynamics(heavy)
    q, qd, qdd = next(states(dyn))
    before = changing.inverse_dynamics(q, qd, qdd)
    changing.update(heavy)
    np.testing.assert_array_equal(
        changing.inverse_dynamics(q, qd, qdd), fixed.inverse_dynamics(q, qd, qdd))
    changing.update(light)
    np.testing.assert_array_equal(changing.inverse_dynamics(q, qd, qdd), before)


def test_gravity_torque_is_linear_in_gravity(dyn):
    weightless = Dynamics(dyn.model.with_gravity((0.0, 0.0, 0.0)))
    axes = [Dynamics(dyn.model.with_gravity(axis)) for axis in np.eye(3)]
    for q, qd, _ in states(dyn):
        assert np.all(weightless.gravity(q) == 0.0)
        total = sum(g * each.gravity(q) for g, each in zip(GRAVITY, axes))
        assert_close(dyn.gravity(q), total, EXACT)
        assert_close(
            dyn.bias(q, qd), weightless.bias(q, qd) + dyn.gravity(q), EXACT,
            np.max(np.abs(weightless.bias(q, qd))))


def test_tilted_mounting_equals_tilted_gravity(text):
    level = RobotModel.from_urdf(text, gravity=GRAVITY)
    mount = (f'<link name="ground"/><joint name="mount" type="fixed"><parent link="ground"/>'
             f'<child link="{level.base_link}"/>'
             f'<origin xyz="1 2 3" rpy="{vector([0.4, -0.9, 2.0])}"/></joint></robot>')
    tilted = Dynamics(RobotModel.from_urdf(text.replace('</robot>', mount), gravity=GRAVITY))
    turn = tilted.forward_kinematics(np.zeros(level.nv), level.base_link)[:3, :3]
    turned = Dynamics(level.with_gravity(turn.T @ np.array(GRAVITY)))
    for q, qd, qdd in states(tilted, count=10):
        assert_close(
            turned.inverse_dynamics(q, qd, qdd), tilted.inverse_dynamics(q, qd, qdd), EXACT)
        assert_close(turned.mass_matrix(q), tilted.mass_matrix(q), EXACT)
