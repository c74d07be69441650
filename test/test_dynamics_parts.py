"""
Calls that give several arrays, and numbers that are not finite: NaN throughout the result.

Where something is solved with M, two orders of summation differ by round-off times its condition.
Products with the zeros of a robot vanish from compiled code, so that a torque may not depend on a
joint position that floats would multiply by zero: NaN is required whatever form computes it.
"""

from dynamics_calls import arrays, CALLS, JOINTS, LINK, MODEL, PARTS, WITH_OUT
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, RobodynError
from robodyn_ros.model import RobotModel
from tolerance import assert_close

EXACT, SOLVED = 1e-12, 1e-9
each_call = pytest.mark.parametrize('name, count, rest', PARTS)


@pytest.fixture(scope='module', params=['compiled', 'python'])
def dyn(request):
    return Dynamics(MODEL, backend=request.param)


def allowed(name):
    return SOLVED if name in ('forward_dynamics_derivatives', 'effective_mass') else EXACT


@each_call
def test_backends_agree(dyn, name, count, rest):
    python = Dynamics(MODEL, backend='python')
    given = arrays(count, 10)
    for actual, expected in zip(getattr(dyn, name)(*given, *rest),
                                getattr(python, name)(*given, *rest)):
        assert_close(np.abs(actual), np.abs(expected), allowed(name), what=name)


@each_call
@pytest.mark.parametrize('rows', [0, 1, 3, 4, 9])
def test_batch_equals_single_calls(dyn, name, count, rest, rows):
    call, batch = getattr(dyn, name), arrays(count, rows)
    result = call(*batch, *rest)
    assert [len(part) for part in result] == [rows] * len(result)
    for row in range(rows):
        single = call(*(each[row] for each in batch), *rest)
        for part, expected in zip(result, single):
            # axes of an ellipsoid may point either way
            assert_close(np.abs(part[row]), np.abs(expected), allowed(name), what=name)


@each_call
def test_a_single_state_stands_for_every_row(dyn, name, count, rest):
    first, *others = arrays(count, 4)
    call = getattr(dyn, name)
    result = call(first, *(each[0] for each in others), *rest)
    expected = call(first, *(np.tile(each[0], (4, 1)) for each in others), *rest)
    for part, right in zip(result, expected):
        np.testing.assert_array_equal(part, right)


@each_call
def test_forms_of_an_array_are_all_the_same(dyn, name, count, rest):
    call, given = getattr(dyn, name), arrays(count)
    expected = call(*given, *rest)
    for form in (list, lambda x: x[::-1].copy()[::-1], lambda x: x.astype('>f8'),
                 lambda x: np.column_stack([x, x])[:, 1], lambda x: x.astype(np.longdouble)):
        for part, right in zip(call(*map(form, given), *rest), expected):
            np.testing.assert_array_equal(part, right)


@each_call
def test_results_and_arguments_are_left_alone_by_later_calls(dyn, name, count, rest):
    given, others = arrays(count), [0.5 * each for each in arrays(count)]
    copies = [each.copy() for each in given]
    result = getattr(dyn, name)(*given, *rest)
    before = [np.array(part) for part in result]
    for _ in range(10):
        getattr(dyn, name)(*others, *rest)
    np.testing.assert_array_equal(given, copies)
    for part, right in zip(result, before):
        np.testing.assert_array_equal(part, right)


@each_call
@pytest.mark.parametrize('bad', [
    np.zeros(JOINTS + 1), [], 1.0, np.zeros((2, 2, JOINTS)), np.zeros(JOINTS, dtype=complex),
    'zeros', None, [None] * JOINTS])
def test_wrong_arrays_are_named(dyn, name, count, rest, bad):
    names = ('q', 'qd', 'tau' if name == 'forward_dynamics_derivatives' else 'qdd')
    for position in range(count):
        given = arrays(count)
        given[position] = bad
        with pytest.raises(ArgumentError, match=f'^{names[position]} '):
            getattr(dyn, name)(*given, *rest)


@each_call
@pytest.mark.parametrize('value', [np.nan, np.inf, 1e308, 5e-324])
def test_any_double_is_computed_with_or_refused(dyn, name, count, rest, value):
    with np.errstate(all='ignore'):
        try:
            single = getattr(dyn, name)(*[np.full(JOINTS, value)] * count, *rest)
        except ArgumentError as error:
            assert name == 'effective_mass' and 'finite' in str(error)
        else:
            right = getattr(dyn, name)(*arrays(count), *rest)
            assert [part.shape for part in single] == [part.shape for part in right]


def test_calls_that_do_not_fit(dyn):
    q, = arrays(1)
    for call in (lambda: dyn.velocity_forces(q), lambda: dyn.effective_mass(q),
                 lambda: dyn.velocity_forces(q, q, q), lambda: dyn.christoffel(q, speed=q),
                 lambda: dyn.inverse_dynamics_derivatives(q, q, q, q)):
        with pytest.raises((TypeError, ArgumentError)):
            call()
    for link in (None, 3, ['link1'], 'no_such_link'):
        with pytest.raises(RobodynError):
            dyn.effective_mass(q, link)


def test_derivative_by_tau_predicts_the_effect_of_a_push(dyn):
    q, qd, tau = arrays(3)
    _, _, inverse = dyn.forward_dynamics_derivatives(q, qd, tau)
    assert_close(inverse @ dyn.mass_matrix(q), np.eye(JOINTS), SOLVED)
    push = dyn.forward_dynamics(q, qd, tau, {LINK: np.arange(6.0)})
    change = push - dyn.forward_dynamics(q, qd, tau)
    assert_close(change, inverse @ dyn.jacobian(q, LINK).T @ np.arange(6.0), SOLVED)


# --- numbers that are not finite -----------------------------------------------------------------

NOT_FINITE = (np.nan, np.inf, -np.inf)
# about a vertical axis: no torque of gravity depends on its angle, and its own is always zero
TURNTABLE = ('<robot name="turntable"><link name="root"/><link name="table"><inertial>'
             '<origin xyz="0.1 0 0"/><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
             'ixz="0" iyz="0"/></inertial></link><joint name="turn" type="continuous">'
             '<parent link="root"/><child link="table"/><axis xyz="0 0 1"/></joint></robot>')


@pytest.mark.parametrize('backend', ['compiled', 'python'])
def test_a_torque_that_does_not_depend_on_the_position(backend):
    turntable = Dynamics(RobotModel.from_urdf(TURNTABLE), backend=backend)
    assert turntable.gravity([0.3]) == 0.0
    for value in NOT_FINITE:
        q = np.array([value])
        for _ in range(2):  # by way of the method, and without it
            assert np.isnan(turntable.gravity(q)) and np.isnan(turntable.mass_matrix(q))
            assert np.isnan(turntable.inverse_dynamics(np.zeros(1), q, np.zeros(1)))
            assert np.isnan(turntable.forward_kinematics(q, 'root')).all()


@pytest.mark.parametrize('value', NOT_FINITE)
@pytest.mark.parametrize('name, count, rest', CALLS + PARTS[:3])
def test_one_number_makes_the_result_of_its_state_alone_nan(dyn, name, count, rest, value):
    call = getattr(dyn, name)
    batch = arrays(count, 6)
    expected = call(*batch, *rest)
    for position in range(count):
        for joint in range(JOINTS):
            given = [each.copy() for each in batch]
            given[position][4, joint] = value
            single = np.asarray(call(*(each[4] for each in given), *rest))
            assert np.isnan(single).all(), f'{name}: joint {joint}'
        rows = call(*given, *rest)
        # of what has several parts, each has rows
        axis = 1 if isinstance(rows, tuple) or name.endswith('derivatives') else 0
        affected, sound = np.take(rows, 4, axis), np.delete(rows, 4, axis)
        assert np.isnan(affected).all()
        np.testing.assert_array_equal(sound, np.delete(expected, 4, axis))


@pytest.mark.parametrize('name, count, rest', WITH_OUT)
def test_an_argument_that_is_not_finite_may_be_the_result(dyn, name, count, rest):
    q = arrays(count)
    if np.shape(getattr(dyn, name)(*q, *rest)) != (JOINTS,):
        return
    for value in NOT_FINITE:
        for position in range(count):
            given = [each.copy() for each in q]
            given[position][2] = value
            out = given[position]
            assert getattr(dyn, name)(*given, *rest, out=out) is out
            assert np.isnan(out).all()


def test_threads_detect_a_row_that_is_not_finite():
    many = Dynamics(MODEL, threads=3)
    q = np.zeros((40, JOINTS))
    q[33, 1] = np.nan
    assert np.flatnonzero(np.isnan(many.gravity(q)).all(axis=1)).tolist() == [33]


@pytest.mark.parametrize('joints', [1, 2, 3, 4, 5, 7, 8, 9, 13])
def test_every_place_of_an_array_is_looked_at(joints):
    links = ''.join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        f'ixz="0" iyz="0"/></inertial></link><joint name="j{k}" type="continuous"><parent link='
        f'"{f"l{k - 1}" if k else "root"}"/><child link="l{k}"/><axis xyz="0 0 1"/></joint>'
        for k in range(joints))
    dyn = Dynamics(RobotModel.from_urdf(f'<robot name="a"><link name="root"/>{links}</robot>'))
    assert not dyn.gravity(np.zeros(joints)).any()
    for joint in range(joints):
        q = np.zeros(joints)
        q[joint] = np.inf
        assert np.isnan(dyn.gravity(q)).all()
        assert np.isnan(dyn.gravity(np.tile(q, (3, 1)))).all()


def test_numbers_as_large_as_there_are_do_not_count(dyn):
    # their squares and sums overflow
    given = [np.full(JOINTS, value) for value in (0.1, 0.2, 1e308)]
    assert not np.isnan(dyn.gravity(given[0])).any()
    assert not np.isnan(dyn.jacobian(np.full(JOINTS, 1e300), MODEL.tip)).all()
    assert not np.isnan(dyn.regressor(*given)).all()


def test_kernels_of_ones_own_take_infinite_limits():
    for backend in ('compiled', 'python'):
        kernel = Dynamics(MODEL, backend=backend).kernel(
            lambda tree, runtime, x, limit: [x[0], limit[0]], {'x': 1, 'limit': 1}, (2,))
        assert kernel([1.0], [np.inf]).tolist() == [1.0, np.inf]
        assert kernel.builtin('own', None)(np.ones(1), np.full(1, np.inf))[0] == 1.0
