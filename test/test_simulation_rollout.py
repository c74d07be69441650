"""Rollouts: the same motion as step by step, for one arm or many, whatever shares the work."""
import math
from pathlib import Path

import numpy as np
import pytest
from robodyn_ros.dynamics import algorithms, Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant, PlantRollout, Spread
from robodyn_ros.simulation.contacts import JointContacts
from robodyn_ros.simulation.spread import draw
from robodyn_ros.simulation.step import Constants, State

ARM = Path(__file__).resolve().parents[1] / 'urdf' / 'robodyn7.urdf'
MODEL = RobotModel.from_urdf(ARM)
HOME = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])


@pytest.fixture(scope='module')
def plant():
    made = Plant(MODEL)
    made.reset(HOME)
    return made


@pytest.fixture(scope='module')
def rollout(plant):
    return PlantRollout(plant)


def torques(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=(*shape, MODEL.nv)) * 20.0


def stepwise(torque, q=HOME):
    made = Plant(MODEL)
    made.reset(HOME)
    made.q[:] = q
    rows = []
    for each in torque:
        assert made.step(each), made.fault
        rows.append([made.q.copy(), made.qd.copy(), made.qdd.copy(), made.applied.copy()])
    return np.moveaxis(rows, 1, 0)


def test_a_rollout_is_what_steps_give(rollout):
    # thousands of steps with sticking, slipping and stops: a difference would not stay small
    torque = torques(3000)
    motion, expected = rollout(torque), stepwise(torque)
    assert motion.good.all()
    for found, rows in zip(motion, expected):
        np.testing.assert_allclose(found[0], rows, rtol=1e-9, atol=1e-9)


def test_every_arm_moves_as_if_it_were_alone(rollout):
    rng = np.random.default_rng(1)
    q, qd = HOME + 0.2 * rng.normal(size=(11, 7)), rng.normal(size=(11, 7))
    torque = torques(11, 100)
    together = rollout(torque, q, qd, every=10)
    assert together.q.shape == (11, 10, 7)
    for k in range(11):
        alone = rollout(torque[k], q[k], qd[k], every=10)
        for found, expected in zip(together, alone):
            np.testing.assert_array_equal(found[k], expected[0])


def test_threads_change_nothing(rollout):
    q = HOME + 0.1 * np.random.default_rng(2).normal(size=(30, 7))
    torque = torques(50)
    for found, expected in zip(rollout(torque, q, threads=4), rollout(torque, q)):
        np.testing.assert_array_equal(found, expected)


def test_records_are_every_so_many_steps(rollout):
    torque = torques(25)
    whole, some = rollout(torque), rollout(torque, every=7)
    assert some.q.shape == (1, 3, 7)
    np.testing.assert_array_equal(some.q, whole.q[:, 6::7])
    assert rollout(torques(0)).q.shape == (1, 0, 7)


def test_the_compiled_rollout_is_the_readable_one(plant):
    slow = Plant(MODEL, dynamics=Dynamics(MODEL, backend='python'))
    slow.reset(HOME)
    torque = torques(2, 30)
    for found, expected in zip(PlantRollout(slow)(torque), PlantRollout(plant)(torque)):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_joints_that_changed_roll_out_as_they_are_now():
    plant, rough = Plant(MODEL, friction=0.0, damping=0.0), Plant(MODEL)
    smooth = PlantRollout(plant)(torques(50))
    made = PlantRollout(plant)
    plant.change()
    changed = made(torques(50))
    np.testing.assert_array_equal(changed.q, PlantRollout(rough)(torques(50)).q)
    assert np.abs(changed.q - smooth.q).max() > 1e-3


def test_contacts_that_change_are_found_by_trial(plant):
    n = MODEL.nv

    def rows(values):
        return [values[k * n:(k + 1) * n] for k in range(len(values) // n)]

    def contacts(tree, runtime, state, force, constants):
        s, c = State(*rows(state)), Constants(*rows(constants))
        return JointContacts(algorithms.mass_matrix(tree, runtime, s.position), force, s, c, 1e-3)

    def both_ways(*given):
        step = contacts(*given)
        expected = step.predict_modes()
        _, v = step.solve(expected)
        return [v, step.solve_modes()[2], [step.modes_consistent(expected, v)] * n]

    sizes = {'state': 9 * n, 'force': n, 'constants': len(Constants._fields) * n}
    separate = Dynamics(MODEL).kernel(both_ways, sizes, (3, n))
    made = Dynamics(MODEL).kernel(lambda *given: contacts(*given).resolve()[2], sizes, (n,))
    rng = np.random.default_rng(3)
    state = np.tile([*HOME, *np.zeros(8 * n)], (60, 1))
    state[:, n:2 * n] = rng.normal(size=(60, n)) * rng.choice([0.0, 1.0], (60, 1), p=[0.8, 0.2])
    force = rng.normal(size=(60, n)) * 10.0 ** rng.uniform(-5.0, 1.0, (60, 1))
    given = state, force, np.tile(plant.constants[:-1], (60, 1))
    expected, trial, confirmed = np.moveaxis(separate(*given), 1, 0)
    assert 10 < confirmed[:, 0].sum() < 50
    right = np.where(confirmed, expected, trial)
    for found in (made(*given), [made(*row) for row in zip(*given)]):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-15)


def test_an_arm_that_diverges_stays_in_its_last_good_state():
    plant = Plant(MODEL, effort_limit=math.inf)
    torque = np.zeros((5, 200, 7))
    torque[2, 100, 3] = 1e12
    motion = PlantRollout(plant)(torque)
    assert motion.good.tolist() == [True, True, False, True, True]
    assert np.isfinite(motion.q).all()
    assert (motion.q[2, 100:] == motion.q[2, 99]).all()
    np.testing.assert_array_equal(motion.q[3], motion.q[4])


@pytest.mark.parametrize('arguments, word', [
    ({'torques': np.zeros((5, 6))}, 'torques'), ({'torques': np.full((5, 7), np.nan)}, 'torques'),
    ({'torques': np.zeros((2, 5, 7)), 'q': np.zeros((3, 7))}, 'numbers of arms'),
    ({'torques': np.zeros((5, 7)), 'q': np.zeros(6)}, 'q'),
    ({'torques': np.zeros((5, 7)), 'every': 0}, 'every'),
    ({'torques': np.zeros((5, 7)), 'threads': 0}, 'threads'),
    ({'torques': np.zeros(7)}, 'inputs')])
def test_bad_arguments_are_refused(rollout, arguments, word):
    with pytest.raises(ArgumentError, match=word):
        rollout(**arguments)


# --- arms that differ ----------------------------------------------------------------------------

def test_spreads_have_the_requested_size(plant):
    spread = Spread(mass=0.1, com=0.01, friction=0.2, start=0.05)
    nominal = plant.dynamics.parameters.reshape(-1, 10)
    samples = [draw(plant, spread, 0, k) for k in range(400)]
    scale = np.array([each.parameters[:, 0] for each in samples]) / nominal[:, 0]
    assert scale.std() == pytest.approx(0.1, rel=0.1)
    assert scale.mean() == pytest.approx(1.0, abs=0.02)
    assert np.log([each.friction for each in samples]).std() == pytest.approx(0.2, rel=0.1)
    assert np.std([each.start for each in samples]) == pytest.approx(0.05, rel=0.1)
    for each in samples[:50]:
        for m, hx, hy, hz, xx, yy, zz, xy, xz, yz in each.parameters:
            J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            h = np.array([hx, hy, hz])
            central = J - (h @ h * np.eye(3) - np.outer(h, h)) / m
            moments = np.linalg.eigvalsh(central)
            assert moments[0] > 0.0 and moments[0] + moments[1] > 0.999 * moments[2]


def test_a_negative_spread_is_refused():
    with pytest.raises(ArgumentError, match='mass'):
        Spread(mass=-0.1)
