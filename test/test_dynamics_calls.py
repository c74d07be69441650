"""
How calls of the dynamics take arguments and give results.

Every way to pass the same numbers gives the same result; a wrong argument is an error that names
it, never a crash. What is given as `out` is the result. Methods are built-in functions.
"""

from copy import copy
import inspect
from itertools import product
import sys
from types import BuiltinFunctionType, MethodType

from dynamics_calls import (
    ALL, arrays, CALLS, JOINTS, LINK, MODEL, read_only, SOLVED, WITH_OUT)
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, RobodynError


@pytest.fixture(scope='module', params=['compiled', 'python'])
def dyn(request):
    return Dynamics(MODEL, backend=request.param)


@pytest.fixture
def q():
    return arrays(1)[0]


def strided(x):
    wide = np.full(3 * x.size, np.nan)
    wide[::3] = x
    return wide[::3]


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64)
    view[:] = x
    return view


FORMS = {
    'list': list, 'tuple': tuple, 'strided': strided, 'reversed': lambda x: x[::-1].copy()[::-1],
    'read_only': read_only, 'misaligned': misaligned,
    'swapped': lambda x: x.astype('>f8'), 'long_double': lambda x: x.astype(np.longdouble),
    'scalars': lambda x: [*x], 'column': lambda x: np.column_stack([x, x])[:, 1],
    'subclass': lambda x: x.view(np.recarray), 'memory': lambda x: memoryview(x.copy()),
}


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('name, count, rest', CALLS)
def test_forms_of_an_array_are_all_the_same(dyn, form, name, count, rest):
    call, given = getattr(dyn, name), arrays(count)
    expected = call(*given, *rest)
    for position in range(count):
        mixed = [FORMS[form](x) if k == position else x for k, x in enumerate(given)]
        np.testing.assert_array_equal(call(*mixed, *rest), expected)


@pytest.mark.parametrize('dtype', [np.float32, np.float16, np.int64, np.int8, np.uint16, bool])
def test_other_number_types_are_converted(dyn, dtype):
    given = [(2 * each + 2).astype(dtype) for each in arrays(3)]
    expected = dyn.inverse_dynamics(*(each.astype(float) for each in given))
    np.testing.assert_array_equal(dyn.inverse_dynamics(*given), expected)


def test_strided_batches(dyn):
    q, qd, qdd = arrays(3, 12)
    expected = dyn.inverse_dynamics(q, qd, qdd)
    fortran = [np.asfortranarray(each) for each in (q, qd, qdd)]
    np.testing.assert_array_equal(dyn.inverse_dynamics(*fortran), expected)
    np.testing.assert_array_equal(
        dyn.inverse_dynamics(q[::2], qd[::2], qdd[::2]), dyn.inverse_dynamics(
            q[::2].copy(), qd[::2].copy(), qdd[::2].copy()))


def test_arguments_by_name(dyn):
    q, qd, qdd = arrays(3)
    expected = dyn.inverse_dynamics(q, qd, qdd)
    np.testing.assert_array_equal(dyn.inverse_dynamics(q=q, qd=qd, qdd=qdd), expected)
    np.testing.assert_array_equal(dyn.inverse_dynamics(q, qdd=qdd, qd=qd, wrenches=None), expected)
    np.testing.assert_array_equal(dyn.jacobian(q=q, link=LINK), dyn.jacobian(q, LINK))


BAD = {
    'too long': np.zeros(JOINTS + 1), 'too short': np.zeros(JOINTS - 1), 'empty': [],
    'scalar': 1.0, 'three axes': np.zeros((2, 2, JOINTS)), 'transposed': np.zeros((JOINTS, 2)),
    'complex': np.zeros(JOINTS, dtype=complex), 'text': 'zeros', 'texts': ['0'] * JOINTS,
    'none': None, 'nones': [None] * JOINTS, 'objects': [object()] * JOINTS,
    'ragged': [[0.0], [0.0, 1.0]], 'mapping': {'joint0': 0.0}, 'iterator': iter([0.0] * JOINTS),
    'times': np.zeros(JOINTS, dtype='datetime64[s]'), 'class': float,
}


@pytest.mark.parametrize('bad', BAD)
@pytest.mark.parametrize('name, count, rest', ALL)
def test_wrong_arrays_are_named(dyn, bad, name, count, rest):
    for position in range(count):
        given = arrays(count)
        given[position] = BAD[bad]
        with pytest.raises(ArgumentError) as raised:
            getattr(dyn, name)(*given, *rest)
        names = ('q', 'qd', 'tau') if name in SOLVED else ('q', 'qd', 'qdd')
        assert str(raised.value).startswith(f'{names[position]} '), raised.value


def test_batches_of_different_length(dyn):
    with pytest.raises(ArgumentError, match='different lengths'):
        dyn.bias(*arrays(1, 3), *arrays(1, 4))


def test_wrong_calls_raise_type_errors(dyn, q):
    for call in (lambda: dyn.gravity(), lambda: dyn.gravity(q, q, q, q),
                 lambda: dyn.gravity(q, speed=q), lambda: dyn.gravity(q, q=q),
                 lambda: dyn.inverse_dynamics(q, q), lambda: dyn.jacobian(q)):
        with pytest.raises((TypeError, ArgumentError)):
            call()


def test_unknown_links(dyn, q):
    with pytest.raises(RobodynError, match='no_such_link'):
        dyn.jacobian(q, 'no_such_link')
    with pytest.raises(RobodynError, match='no_such_link'):
        dyn.inverse_dynamics(q, q, q, {'no_such_link': np.zeros(6)})
    with pytest.raises(ArgumentError):
        Dynamics(MODEL, backend='fortran')


@pytest.mark.parametrize('link', [None, 3, ['link1'], b'link1'])
def test_links_that_are_no_names(dyn, q, link):
    for call in (dyn.forward_kinematics, dyn.jacobian):
        with pytest.raises(RobodynError):
            call(q, link)
    with pytest.raises(RobodynError):
        dyn.jacobian_dot_qd(q, q, link)


@pytest.mark.parametrize('wrench', [
    np.zeros(5), np.zeros(3), 1.0, None, 'up', np.zeros((2, 2, 6)), np.zeros(6, dtype=complex)])
def test_wrenches_of_wrong_shape(dyn, q, wrench):
    for call in (dyn.inverse_dynamics, dyn.forward_dynamics):
        with pytest.raises(ArgumentError, match=LINK):
            call(q, q, q, {LINK: wrench})


@pytest.mark.parametrize('wrenches', [np.zeros(6), [1.0] * 6, 'push', 5.0, [(LINK, np.zeros(6))]])
def test_wrenches_that_are_no_mapping(dyn, q, wrenches):
    for call in (dyn.inverse_dynamics, dyn.forward_dynamics):
        with pytest.raises(ArgumentError, match='wrenches'):
            call(q, q, q, wrenches)


# --- results in a given array --------------------------------------------------------------------


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


# --- methods as built-in functions ---------------------------------------------------------------


METHODS = {
    'inverse_dynamics': 3, 'gravity': 1, 'bias': 2, 'mass_matrix': 1, 'forward_dynamics': 3,
    'center_of_mass': 1, 'coriolis_matrix': 2, 'regressor': 3, 'inverse_dynamics_derivatives': 3,
    'forward_dynamics_derivatives': 3, 'forward_kinematics': 1, 'jacobian': 1,
    'jacobian_dot_qd': 2}
OF_LINK = ('forward_kinematics', 'jacobian', 'jacobian_dot_qd')


def python_calls(call):
    """Return the names of the Python functions that a call goes through."""
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name)
                   if event == 'call' else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen[1:]  # the first is `call`


@pytest.mark.parametrize('name', METHODS)
def test_a_method_taken_before_the_first_call_is_fast_from_the_second_on(name):
    dyn = Dynamics(MODEL)
    kept = getattr(dyn, name)
    given = [*arrays(METHODS[name]), *([LINK] if name in OF_LINK else [])]
    expected = getattr(Dynamics(MODEL, backend='python'), name)(*given)
    np.testing.assert_allclose(kept(*given), expected, rtol=1e-9, atol=1e-9)
    assert isinstance(kept, BuiltinFunctionType) and kept is getattr(dyn, name)
    assert python_calls(lambda: kept(*given)) == []
    # what it does not take goes to the method, as before
    np.testing.assert_allclose(kept(list(given[0]), *given[1:]), expected, rtol=1e-9, atol=1e-9)


def test_a_method_taken_after_its_code_was_made():
    dyn = Dynamics(MODEL)
    dyn.prepare('gravity')
    q = arrays(1)[0]
    kept = dyn.gravity
    assert python_calls(lambda: kept(q)) == []


def test_the_class_has_functions_with_their_signature():
    assert inspect.isfunction(Dynamics.gravity)
    assert list(inspect.signature(Dynamics.gravity).parameters) == ['self', 'q', 'out']
    assert Dynamics.gravity.__doc__ == Dynamics(MODEL).gravity.__doc__


def test_python_runs_methods():
    dyn = Dynamics(MODEL, backend='python')
    assert isinstance(dyn.gravity, MethodType) and 'gravity' not in vars(dyn)


class Counting(Dynamics):
    """Counts the calls of a method that it overrides."""

    calls = 0

    def gravity(self, q, out=None):
        """Return gravity, counted."""
        self.calls += 1
        return super().gravity(q, out=out)


def test_a_method_that_is_overridden_stays():
    q = arrays(1)[0]
    dyn = Counting(MODEL)
    for _ in range(5):
        np.testing.assert_array_equal(dyn.gravity(q), Dynamics(MODEL).gravity(q))
    assert dyn.calls == 5
    dyn.bias(q, q)
    assert isinstance(dyn.bias, BuiltinFunctionType)


def test_a_copy_has_functions_of_its_own():
    dyn = Dynamics(MODEL)
    q = np.full(JOINTS, 0.3)
    kept, before = dyn.gravity, dyn.gravity(q)
    other = copy(dyn)
    other.update(MODEL.with_gravity((0.0, 0.0, 0.0)))
    assert not other.gravity(q).any() and other.gravity is not kept
    np.testing.assert_array_equal(kept(q), before)
