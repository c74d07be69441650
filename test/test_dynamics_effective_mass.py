"""Effective mass of a link, and reports where it cannot move."""

from analysed_robots import EXACT, last_link, make, states, TEXTS
import numpy as np
import pytest
import reference_systems as systems
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError, RobodynError
from robodyn_ros.model import RobotModel
from tolerance import assert_close

ROOT3 = np.sqrt(3)


@pytest.fixture(scope='module', params=TEXTS)
def dyn(request):
    return make(request.param)


@pytest.fixture(scope='module')
def planar():
    return Dynamics(RobotModel.from_urdf(systems.TWO_R_POINT_MASSES.path), backend='python')


@pytest.mark.parametrize('elbow, expected', [
    (90.0, [[1.0, 0.0], [0.0, 2.0]]), (150.0, [[4.0, -ROOT3], [-ROOT3, 2.0]])])
def test_unit_arm(planar, elbow, expected):
    q = np.radians([0.0, elbow])
    assert_close(planar.effective_mass(q, 'tip', rows=(0, 2)).matrix, expected, EXACT)
    # the arm does not leave its plane: there it is as heavy as can be, and no part of Lambda
    matrix, masses, axes = planar.effective_mass(q, 'tip')
    assert_close(matrix[np.ix_([0, 2], [0, 2])], expected, EXACT)
    assert np.all(matrix[1] == 0.0)
    assert_close(masses[:2], np.linalg.eigvalsh(expected), EXACT)
    assert masses[2] == np.inf
    assert_close(np.abs(axes[:, 2]), [0.0, 1.0, 0.0], EXACT)


def test_stretched_arm_cannot_be_pushed_along_itself(planar):
    matrix, masses, axes = planar.effective_mass([0.3, 0.0], 'tip', rows=(0, 2))
    along = np.array([np.cos(0.3), np.sin(0.3)])
    assert np.isinf(masses[1])
    assert_close(np.abs(axes[:, 1] @ along), 1.0, EXACT)
    assert_close(matrix @ along, [0.0, 0.0], EXACT, 1.0)
    # near to it the mass along the arm grows as the inverse square of the angle
    near, nearer = (planar.effective_mass([0.3, angle], 'tip', rows=(0, 2)).masses[1]
                    for angle in (1e-3, 1e-4))
    assert nearer / near == pytest.approx(100.0, rel=1e-3)
    assert np.isinf(planar.effective_mass([0.3, 1e-3], 'tip', (0, 2), immovable=1e3).masses[1])


def test_inverse_of_the_mobility(dyn):
    link = last_link(dyn.model)
    for q in states(dyn)[0]:
        for rows, numbers in (('linear', [0, 1, 2]), ('angular', [3, 4, 5]), ([1], [1])):
            J = dyn.jacobian(q, link)[numbers]
            mobility = J @ np.linalg.solve(dyn.mass_matrix(q), J.T)
            if np.linalg.cond(mobility) > 1e6:
                continue
            actual = dyn.effective_mass(q, link, rows).matrix
            assert_close(actual, np.linalg.inv(mobility), 1e-9)


def test_ellipsoid_is_that_of_the_matrix(dyn):
    link = last_link(dyn.model)
    for q in states(dyn)[0]:
        matrix, masses, axes = dyn.effective_mass(q, link, 'all')
        assert_close(axes @ axes.T, np.eye(6), EXACT)
        assert np.all(np.diff(masses[np.isfinite(masses)]) >= 0.0)
        finite = np.where(np.isfinite(masses), masses, 0.0)
        assert_close(axes.T @ matrix @ axes, np.diag(finite), EXACT, max(1.0, finite.max()))
        assert np.count_nonzero(finite) <= dyn.nv


def test_push_accelerates_the_link_by_its_mass(dyn):
    """A push f at rest, without gravity, gives J M^-1 J^T f: Lambda takes it back to f."""
    model = dyn.model.with_gravity((0.0, 0.0, 0.0))
    free, link = Dynamics(model, backend='python'), last_link(model)
    rng = np.random.default_rng(69)
    for q in states(dyn)[0]:
        matrix, masses, axes = free.effective_mass(q, link)
        finite = np.isfinite(masses)
        if masses[finite].max() > 1e6 * masses[0]:
            continue
        push = axes[:, finite] @ rng.normal(size=np.count_nonzero(finite))
        qdd = free.forward_dynamics(q, 0 * q, 0 * q, {link: [*push, 0.0, 0.0, 0.0]})
        assert_close(matrix @ free.jacobian(q, link)[:3] @ qdd, push, 1e-9)


def test_batches(dyn):
    q, link = states(dyn, 5)[0], last_link(dyn.model)
    matrix, masses, axes = dyn.effective_mass(q, link)
    for row in range(5):
        single = dyn.effective_mass(q[row], link)
        finite = np.isfinite(single.masses)
        np.testing.assert_array_equal(np.isfinite(masses[row]), finite)
        assert_close(masses[row][finite], single.masses[finite], 1e-9)
        assert_close(matrix[row], single.matrix, 1e-9)
    assert [part.shape for part in dyn.effective_mass(q[:0], link, 'all')] == [
        (0, 6, 6), (0, 6), (0, 6, 6)]


def test_link_of_the_base_cannot_be_pushed(planar):
    matrix, masses, _ = planar.effective_mass([0.1, 0.2], planar.model.base_link)
    assert np.all(matrix == 0.0) and np.all(np.isinf(masses))


@pytest.mark.parametrize('rows', ['up', '', [], [6], [-1], [0.5], [0, 0], None, 3, ['x'],
                                  [np.inf], [np.nan]])
def test_wrong_rows(planar, rows):
    with pytest.raises(ArgumentError, match='linear, angular, all'):
        planar.effective_mass([0.1, 0.2], 'tip', rows)


def test_wrong_link_and_state(planar):
    with pytest.raises(RobodynError, match='no_such_link'):
        planar.effective_mass([0.1, 0.2], 'no_such_link')
    with pytest.raises(ArgumentError, match='q must have shape'):
        planar.effective_mass([0.1], 'tip')
    with pytest.raises(ArgumentError, match='finite'), np.errstate(all='ignore'):
        planar.effective_mass([np.nan, 0.2], 'tip')


def test_robot_without_mass():
    text = ('<robot name="idle"><link name="root"/><link name="body"/><joint name="j" '
            'type="continuous"><parent link="root"/><child link="body"/></joint></robot>')
    idle = Dynamics(RobotModel.from_urdf(text), backend='python')
    with pytest.raises(ArgumentError, match='no mass'):
        idle.effective_mass([0.3], 'body')


def test_torque_ellipsoid_of_the_unit_2r_arm(planar):
    # Lynch and Park 8.1: M at (0, 90 deg) is [[3, 1], [1, 1]], at (0, 0) [[5, 2], [2, 1]]
    for angle, M in ((np.pi / 2, [[3.0, 1.0], [1.0, 1.0]]), (0.0, [[5.0, 2.0], [2.0, 1.0]])):
        sizes, axes = planar.torque_ellipsoid([0.0, angle])
        trace, determinant = np.trace(M), np.linalg.det(M)
        root = np.sqrt(trace**2 / 4 - determinant)
        np.testing.assert_allclose(sizes, [trace / 2 - root, trace / 2 + root], rtol=1e-12)
        np.testing.assert_allclose(axes * sizes @ axes.T, M, rtol=1e-12, atol=1e-12)


def test_torque_ellipsoids_of_a_batch(planar):
    q = np.random.default_rng(0).normal(size=(5, 2))
    sizes, axes = planar.torque_ellipsoid(q)
    accelerations = np.random.default_rng(1).normal(size=(5, 2))
    accelerations /= np.linalg.norm(accelerations, axis=1)[:, None]
    # on the surface: coordinates along the axes, divided by the half-lengths, are of size 1
    torques = np.einsum('nij,nj->ni', planar.mass_matrix(q), accelerations)
    along = np.einsum('nji,nj->ni', axes, torques) / sizes
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), 1.0, rtol=1e-12)
