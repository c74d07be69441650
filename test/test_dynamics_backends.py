"""
One algorithm in all its forms: machine code or Python, one state or a batch, any finite number.

The forms differ by the order of a few sums, some 1e-15 of the size of the result.
"""

import gc
import sys
from threading import Thread

from dynamics_calls import arrays, CALLS, JOINTS, LINK, MODEL
import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit.trace import maximum, minimum, select
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from tolerance import assert_close

EXACT = 1e-12


@pytest.fixture(scope='module', params=['compiled', 'python'])
def dyn(request):
    return Dynamics(MODEL, backend=request.param)


@pytest.fixture
def q():
    return arrays(1)[0]


@pytest.mark.parametrize('mimic, joints', [(0.0, 1), (0.0, 5), (0.4, 6), (0.0, 17)])
def test_backends_agree(mimic, joints):
    text = random_tree(54, joints, Mixture(prismatic=0.3, mimic=mimic, branching=0.7))
    model = RobotModel.from_urdf(text).with_payload('link1', 0.7, (0.1, 0.0, 0.2))
    link = list(model.links)[-1]
    python, compiled = Dynamics(model, backend='python'), Dynamics(model, backend='compiled')
    rng = np.random.default_rng(55)
    for name, count, rest in CALLS:
        for _ in range(10):
            given = [*rng.uniform(-2, 2, (count, model.nv)), *(link for _ in rest)]
            expected = getattr(python, name)(*given)
            # a solve amplifies the round-off of two orders of summation
            allowed = 1e-9 if name == 'forward_dynamics' else EXACT
            assert_close(getattr(compiled, name)(*given), expected, allowed, what=name)


@pytest.mark.parametrize('name, count, rest', CALLS)
@pytest.mark.parametrize('rows', [1, 3, 4, 8, 13])
def test_batch_equals_single_calls(dyn, name, count, rest, rows):
    call, batch = getattr(dyn, name), arrays(count, rows)
    result = call(*batch, *rest)
    singles = [call(*(each[row] for each in batch), *rest) for row in range(rows)]
    assert_close(result, np.array(singles), EXACT if name != 'forward_dynamics' else 1e-10)


def test_batch_of_no_states(dyn):
    assert dyn.inverse_dynamics(*arrays(3, 0)).shape == (0, JOINTS)
    assert dyn.mass_matrix(*arrays(1, 0)).shape == (0, JOINTS, JOINTS)


def test_single_state_stands_for_every_row(dyn):
    q, qd, qdd = arrays(3, 6)
    expected = dyn.inverse_dynamics(q, np.tile(qd[0], (6, 1)), qdd)
    assert_close(dyn.inverse_dynamics(q, qd[0], qdd), expected, EXACT)


def test_batch_with_wrenches(dyn):
    q, qd, qdd = arrays(3, 4)
    wrench = np.arange(1.0, 7.0)
    result = dyn.inverse_dynamics(q, qd, qdd, {LINK: wrench})
    for row in range(4):
        single = dyn.inverse_dynamics(q[row], qd[row], qdd[row], {LINK: wrench})
        assert_close(result[row], single, EXACT)


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0])
@pytest.mark.parametrize('name, count, rest', CALLS)
def test_any_double_is_computed_with(dyn, value, name, count, rest):
    with np.errstate(all='ignore'):
        given = [np.full(JOINTS, value) for _ in range(count)]
        single = getattr(dyn, name)(*given, *rest)
        batch = getattr(dyn, name)(*(np.tile(each, (5, 1)) for each in given), *rest)
    assert np.shape(batch) == (5, *np.shape(single))


@pytest.mark.parametrize('a, b', [
    (1.0, 2.0), (2.0, 1.0), (np.nan, 1.0), (1.0, np.nan), (-np.inf, np.nan), (0.0, -0.0)])
def test_choices_are_the_same_in_all_forms(a, b):
    def choices(tree, runtime, x):
        return [minimum(x[0], x[1]), maximum(x[0], x[1]), select(x[0], x[1], 3.0)]

    found = [Dynamics(MODEL, backend=backend).kernel(choices, {'x': 2}, (3,))([a, b])
             for backend in ('compiled', 'python')]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize('size', [1e-300, 1e-8, 1.0, 1e3, 1e5, 1e9, 1e15, 1e22, 1e100, 1e300])
def test_sines_of_any_angle_are_accurate(size):
    text = ('<robot name="one"><link name="root"/><link name="body"><inertial><mass value="1"/>'
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            '<joint name="j" type="continuous"><parent link="root"/><child link="body"/>'
            '<axis xyz="0 0 1"/></joint></robot>')
    one = Dynamics(RobotModel.from_urdf(text))
    angles = size * np.random.default_rng(57).uniform(-1, 1, 400)
    batch = one.forward_kinematics(angles[:, None], 'body')
    single = np.array([one.forward_kinematics([angle], 'body') for angle in angles])
    for poses in (batch, single):
        np.testing.assert_allclose(poses[:, 1, 0], np.sin(angles), rtol=1e-15, atol=1e-16)
        np.testing.assert_allclose(poses[:, 0, 0], np.cos(angles), rtol=1e-15, atol=1e-16)


def test_no_reference_is_lost_or_kept(dyn, q):
    out = np.zeros(JOINTS)
    dyn.gravity(q, out=out)
    gc.collect()  # what earlier tests have left, which refers to None and to types
    counted = q, out, np.ndarray, np.dtype(np.float64), None
    before = np.array([sys.getrefcount(each) for each in counted])
    for _ in range(1000):
        dyn.gravity(q)
        dyn.gravity(q, out=out)
        with pytest.raises(ArgumentError):
            dyn.gravity(q, out=q[:-1])
        with pytest.raises(ArgumentError):
            dyn.gravity(q[:-1])
    change = np.array([sys.getrefcount(each) for each in counted]) - before
    # a few come and go with the caches of the interpreter; np.empty itself keeps its dtype
    assert np.all(change > -100), change
    assert np.all(change[:2] < 100), change


def test_instances_come_and_go(tmp_path, q):
    expected = Dynamics(MODEL, cache=False).gravity(q)
    for cache in (False, tmp_path):
        kept = []
        for turn in range(15):
            dyn = Dynamics(MODEL, cache=cache)
            np.testing.assert_array_equal(dyn.gravity(q), expected)
            if turn % 5 == 0:
                kept.append(dyn.gravity)
            del dyn
            gc.collect()
        for gravity in kept:
            np.testing.assert_array_equal(gravity(q), expected)


def test_calls_from_many_threads(q):
    dyn = Dynamics(MODEL)
    expected, results = Dynamics(MODEL, backend='python').gravity(q), []

    def work():
        for _ in range(200):
            results.append(dyn.gravity(q))

    threads = [Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 1200
    for result in results:
        assert_close(result, expected, EXACT)


def test_robot_without_mass_is_no_crash():
    text = ('<robot name="idle"><link name="root"/><link name="body"/><joint name="j" '
            'type="continuous"><parent link="root"/><child link="body"/></joint></robot>')
    for backend in ('compiled', 'python'):
        idle = Dynamics(RobotModel.from_urdf(text), backend=backend)
        assert idle.mass_matrix([0.3]) == idle.gravity([0.3]) == 0.0
        for result in (lambda: idle.forward_dynamics([0.3], [0.0], [1.0]),
                       lambda: idle.center_of_mass([0.3])):
            with pytest.raises(ArgumentError, match='<inertial>'):
                result()
