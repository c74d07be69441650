"""
What the dynamics take as an argument, and how they refuse what they do not.

Every way to pass the same numbers gives the same result; a wrong argument is an error that names
it, never a crash.
"""

from dynamics_calls import arrays, CALLS, JOINTS, LINK, MODEL, read_only
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
@pytest.mark.parametrize('name, count, rest', CALLS)
def test_wrong_arrays_are_named(dyn, bad, name, count, rest):
    for position in range(count):
        given = arrays(count)
        given[position] = BAD[bad]
        with pytest.raises(ArgumentError) as raised:
            getattr(dyn, name)(*given, *rest)
        names = {'forward_dynamics': ('q', 'qd', 'tau')}.get(name, ('q', 'qd', 'qdd'))
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
