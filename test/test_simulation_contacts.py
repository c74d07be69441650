"""The equation of one step with friction and stops: its solution satisfies all laws at its end."""

import numpy as np
import pytest
from robodyn_ros.simulation.contacts import JointContacts
from robodyn_ros.simulation.step import Constants, State

DT = 1e-3


def drawn(n, seed):
    """Return a joint-space inertia, forces, a state and constants of joints near their stops."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, n))
    M = np.diag(rng.uniform(0.5, 2.0, n)) + 0.1 * factor @ factor.T
    coulomb, nothing = rng.uniform(0.5, 2.0, n), np.zeros(n)
    stiffness = {'bristle': 1e5 * coulomb, 'stop': 10.0 ** rng.uniform(3.0, 5.0, n)}
    constants = Constants(**dict.fromkeys(Constants._fields, nothing))._replace(
        damping=rng.uniform(0.0, 1.0, n), friction=coulomb,
        stiction=coulomb * rng.uniform(1.0, 2.0, n), stribeck_velocity=np.full(n, 0.05),
        lower=np.full(n, -1.0), upper=np.full(n, 1.0),
        **{f'{part}_stiffness': each for part, each in stiffness.items()},
        **{f'{part}_damping': 2.0 * np.sqrt(each * np.diag(M))
           for part, each in stiffness.items()})
    velocity = rng.choice([0.0, 0.01, 3.0], n) * rng.uniform(-1.0, 1.0, n)
    # of a joint that has slipped for a while, or of any
    bristle = np.where(rng.random(n) < 0.7, np.sign(velocity), rng.uniform(-1.0, 1.0, n))
    state = State(**dict.fromkeys(State._fields, nothing))._replace(
        position=rng.choice([-1.0, 0.0, 1.0], n) + rng.uniform(-0.004, 0.004, n),
        velocity=velocity, bristle=coulomb * bristle)
    return M, rng.uniform(-5.0, 5.0, n), state, constants


def laws(state, constants, v):
    """Return torques of friction and of stops, and bristle forces, joint by joint, from laws."""
    s = State(*map(np.array, state))
    c = Constants(*map(np.array, constants))
    most = c.friction + (c.stiction - c.friction) / (1.0 + (s.velocity / c.stribeck_velocity)**2)
    bristle = s.bristle + (c.bristle_damping + DT * c.bristle_stiffness) * v
    rubbing = -(c.damping * v + np.clip(bristle, -most, most))
    q = s.position + DT * v
    depth = np.maximum(q - c.upper, 0.0) - np.maximum(c.lower - q, 0.0)
    push = c.stop_stiffness * depth + c.stop_damping * v
    stopping = np.where(depth * push > 0.0, -push, 0.0)
    return rubbing, stopping, np.clip(s.bristle + DT * c.bristle_stiffness * v, -most, most)


def steps(n, count):
    """Return equations of steps, with what is needed to judge their solutions."""
    for seed in range(count):
        M, force, state, constants = drawn(n, seed)
        lists = (State(*(row.tolist() for row in state)),
                 Constants(*(row.tolist() for row in constants)))
        yield JointContacts(M.tolist(), force.tolist(), *lists, DT), M, force, state, constants


def assert_balanced(step, contacts, qdd, v, M, force):
    """Check that friction and stops are all that acts besides the force; return them."""
    rubbing, stopping, bristles = map(np.array, step.torques(contacts, v))
    np.testing.assert_allclose(M @ qdd, force + rubbing + stopping, rtol=1e-9, atol=1e-7)
    return rubbing, stopping, bristles


@pytest.mark.parametrize('n', [1, 2, 4])
def test_a_step_with_confirmed_contacts_satisfies_all_laws_and_no_other_is_confirmed(n):
    """
    Protects the short way of a step: contacts as the last step lets expect.

    It is taken if, and only if, its solution satisfies the laws of friction and stops. Then
    friction, stops and inertia balance the force.
    """
    kinds = set()
    for step, M, force, state, constants in steps(n, 200):
        contacts = step.predict_modes()
        qdd, v = step.solve(contacts)
        rubbing, stopping, bristles = assert_balanced(step, contacts, qdd, v, M, force)
        expected = laws(state, constants, np.array(v))
        satisfied = np.allclose([rubbing, stopping, bristles], expected, rtol=1e-9, atol=1e-9)
        assert bool(step.modes_consistent(contacts, v)) == satisfied
        if satisfied:
            kinds |= set(zip(contacts.stick, np.sign(contacts.slip),
                             contacts.touch * np.sign(contacts.x)))
            np.testing.assert_array_equal(step.resolve()[2], v)
    assert len(kinds) >= 6, 'sticking, and slipping both ways, in and out of the stops'


@pytest.mark.parametrize('find', [JointContacts.solve_modes, JointContacts.resolve])
def test_a_single_joint_satisfies_all_laws_in_any_state(find):
    """
    Protects the contacts that are found by trial: friction is right, and stops push only.

    A stop that is first met within the step may begin to push with the next one.
    """
    late = 0
    for step, M, force, state, constants in steps(1, 300):
        contacts, qdd, v = find(step)
        found = assert_balanced(step, contacts, qdd, v, M, force)
        rubbing, stopping, bristles = laws(state, constants, np.array(v))
        np.testing.assert_allclose(found[0], rubbing, rtol=1e-9)
        np.testing.assert_allclose(found[2], bristles, rtol=1e-9)
        if stopping.any() and not found[1].any():
            assert abs(state.position[0]) < 1.0
            late += 1
        else:
            np.testing.assert_allclose(found[1], stopping, rtol=1e-9, atol=1e-9)
    assert late <= 5


def test_in_a_pair_of_joints_no_bristle_bears_more_than_its_level_and_no_stop_pulls():
    """Protects joints that move each other from energy that friction or a stop would add."""
    for step, M, force, state, constants in steps(2, 150):
        contacts, qdd, v = step.solve_modes()
        rubbing, stopping, _ = assert_balanced(step, contacts, qdd, v, M, force)
        assert (np.abs(rubbing + constants.damping * v) <= np.array(step.level) * (1 + 1e-9)).all()
        assert (stopping * state.position <= 1e-9).all(), 'a stop pulls'
