"""
Calls that give several arrays; others are in `test_dynamics_calls`, `test_dynamics_backends`.

Where something is solved with M, two orders of summation differ by round-off times its condition.
"""

from dynamics_calls import arrays, JOINTS, LINK, MODEL, PARTS
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, RobodynError
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
