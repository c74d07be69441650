"""
Numbers that are not finite: NaN throughout the result, whatever form of the code computes it.

Products with the zeros of a robot vanish from compiled code, so that a torque may not depend on a
joint position that floats would multiply by zero.
"""

from dynamics_calls import arrays, CALLS, JOINTS, MODEL, PARTS, WITH_OUT
import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel

NOT_FINITE = (np.nan, np.inf, -np.inf)
# about a vertical axis: no torque of gravity depends on its angle, and its own is always zero
TURNTABLE = ('<robot name="turntable"><link name="root"/><link name="table"><inertial>'
             '<origin xyz="0.1 0 0"/><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
             'ixz="0" iyz="0"/></inertial></link><joint name="turn" type="continuous">'
             '<parent link="root"/><child link="table"/><axis xyz="0 0 1"/></joint></robot>')


@pytest.fixture(scope='module', params=['compiled', 'python'])
def dyn(request):
    return Dynamics(MODEL, backend=request.param)


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
