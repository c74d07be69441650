"""Results written into a given array: the same object, the same numbers, nothing beside it."""

from itertools import product

from dynamics_calls import arrays, CALLS, JOINTS, LINK, MODEL, read_only, WITH_OUT
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError


@pytest.fixture(scope='module', params=['compiled', 'python'])
def dyn(request):
    return Dynamics(MODEL, backend=request.param)


@pytest.mark.parametrize('name, count, rest', WITH_OUT)
def test_out_receives_the_result(dyn, name, count, rest):
    call, given = getattr(dyn, name), arrays(count)
    expected = call(*given, *rest)
    out = np.full_like(expected, np.nan)
    assert call(*given, *rest, out=out) is out
    np.testing.assert_array_equal(out, expected)
    wide = np.full((*expected.shape, 2), np.nan)
    assert call(*given, *rest, out=wide[..., 0]) is not None
    np.testing.assert_array_equal(wide[..., 0], expected)
    assert np.all(np.isnan(wide[..., 1])), 'wrote beside the target'
    assert call(*given, *rest, out=None).base is None


@pytest.mark.parametrize('name, count, rest', WITH_OUT)
def test_out_of_a_batch(dyn, name, count, rest):
    call, given = getattr(dyn, name), arrays(count, 7)
    expected = call(*given, *rest)
    out = np.full_like(expected, np.nan)
    assert call(*given, *rest, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize('name, count, rest', WITH_OUT)
def test_unfit_out_is_refused_and_left_alone(dyn, name, count, rest):
    call, given = getattr(dyn, name), arrays(count)
    shape = call(*given, *rest).shape
    for out in (np.zeros((*shape, 1)), np.zeros(shape[:-1] + (shape[-1] + 1,)),
                np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype='>f8'),
                np.zeros(shape).tolist(), read_only(np.zeros(shape)), 'out', 3.0):
        with pytest.raises(ArgumentError, match='out'):
            call(*given, *rest, out=out)
        if isinstance(out, np.ndarray):
            assert not np.any(out)


@pytest.mark.parametrize('name', ['inverse_dynamics', 'bias', 'gravity', 'forward_dynamics'])
def test_out_may_be_an_argument(dyn, name):
    count = {name: count for name, count, _ in CALLS}[name]
    for shape, position in product([(), (6,)], range(count)):
        given = arrays(count, *shape)
        expected = getattr(dyn, name)(*given)
        assert getattr(dyn, name)(*given, out=given[position]) is given[position]
        np.testing.assert_array_equal(given[position], expected)


@pytest.mark.parametrize('shift', [1, 2, JOINTS - 1, JOINTS])
def test_out_may_overlap_an_argument(dyn, shift):
    for rows in ((), (4,)):
        size = int(np.prod((*rows, JOINTS)))
        memory = np.random.default_rng(56).uniform(-1, 1, size + shift)
        before, after = memory[:size], memory[shift:]
        q, qd = arrays(2, *rows)
        for source, target in ((before, after), (after, before)):
            qdd, out = source.reshape(q.shape), target.reshape(q.shape)
            expected = dyn.inverse_dynamics(q, qd, qdd.copy())
            dyn.inverse_dynamics(q, qd, qdd, out=out)
            np.testing.assert_array_equal(out, expected)


def test_out_with_wrenches(dyn):
    q, qd, qdd = arrays(3)
    wrenches = {LINK: np.arange(6.0)}
    expected = dyn.inverse_dynamics(q, qd, qdd, wrenches)
    out = np.zeros(JOINTS)
    assert dyn.inverse_dynamics(q, qd, qdd, wrenches, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert dyn.inverse_dynamics(q, qd, qdd, wrenches, out=q) is q
    np.testing.assert_array_equal(q, expected)


def test_arguments_are_left_alone(dyn):
    for name, count, rest in CALLS:
        given = arrays(count)
        copies = [each.copy() for each in given]
        getattr(dyn, name)(*given, *rest)
        np.testing.assert_array_equal(given, copies)
