"""Links that cannot be moved: their effective mass; joints without mass, or cut off."""

import re

from analysed_robots import EXACT, last_link, make, states, TEXTS
from model_urdf import arm, gripper, INERTIAL, joint, link, robot
import numpy as np
import pytest
import reference_systems as systems
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.cut_off import cut_off
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


# --- joints without mass, and joints that a tip cuts off -----------------------------------------

# 'forearm' has no mass, so that 'elbow' moves none
IDLE = arm(forearm='')
SLIDE = '<limit lower="-1" upper="1" effort="9" velocity="1"/>'
TWICE = robot(link('base', ''), link('a', ''), link('b'),
              joint('first', 'base', 'a', 'prismatic', SLIDE, axis='1 0 0'),
              joint('second', 'a', 'b', 'prismatic', SLIDE, axis='1 0 0'))
# more than the articulated bodies, and the derivatives in LAPACK, begin with
LONG = robot(*(link(f'l{k}', '' if k == 20 else INERTIAL) for k in range(21)),
             *(joint(f'j{k}', f'l{k - 1}', f'l{k}', axis='0 1 0' if k % 2 else '1 0 0')
               for k in range(1, 21)))
CASES = {'massless end': (IDLE, "joint 'elbow' moves no mass"),
         'massless between': (TWICE, "joints 'first', 'second' make a motion that moves no mass"),
         'massless end of many': (LONG, "joint 'j20' moves no mass")}


@pytest.fixture(params=['compiled', 'python'])
def dynamics(request):
    return lambda text: Dynamics(RobotModel.from_urdf(text), backend=request.param)


@pytest.mark.parametrize('text, message', CASES.values(), ids=CASES)
def test_what_needs_the_inverse_names_the_joint(dynamics, text, message):
    dyn = dynamics(text)
    q, qd, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, dyn.nv))
    link = dyn.model.tip
    for _ in range(2):  # by way of the method, and without it
        for call in (lambda: dyn.forward_dynamics(q, qd, tau),
                     lambda: dyn.forward_dynamics(q, qd, tau, out=tau.copy()),
                     lambda: dyn.forward_dynamics(list(q), qd, tau=tau),
                     lambda: dyn.forward_dynamics(q, qd, tau, {link: np.ones(6)}),
                     lambda: dyn.forward_dynamics(np.tile(q, (3, 1)), qd, tau),
                     lambda: dyn.forward_dynamics_derivatives(q, qd, tau),
                     lambda: dyn.forward_dynamics_derivatives(np.tile(q, (3, 1)), qd, tau),
                     lambda: dyn.effective_mass(q, link)):
            with pytest.raises(ArgumentError) as raised:
                call()
            assert re.search(message, str(raised.value)), raised.value
            assert '<inertial>' in str(raised.value)
    # what needs no inverse goes on
    assert np.isfinite(dyn.inverse_dynamics(q, qd, tau)).all()


def test_one_state_of_a_batch():
    # two point masses on rods of equal length: folded back, the shoulder moves only the first
    zero = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
    point = f'<inertial><origin xyz="1 0 0"/><mass value="1"/>{zero}</inertial>'
    dyn = Dynamics(RobotModel.from_urdf(robot(
        link('base', ''), link('upper', ''), link('fore', point),
        joint('shoulder', 'base', 'upper', axis='0 0 1'),
        joint('elbow', 'upper', 'fore', axis='0 0 1', xyz='1 0 0'))))
    q = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.5]])
    assert np.isfinite(dyn.forward_dynamics(q[::2], 0.0 * q[::2], q[::2])).all()
    for given in (q, q[1]):
        with pytest.raises(ArgumentError, match="'shoulder', 'elbow' make a motion .* no mass"):
            dyn.forward_dynamics(given, 0.0 * given, 0.0 * given + 1.0)


def test_a_payload_gives_the_joint_inertia_until_it_is_gone(dynamics):
    model = RobotModel.from_urdf(IDLE).with_payload('forearm', 1.0, (0.3, 0.0, 0.0))
    dyn = dynamics(IDLE)
    dyn = Dynamics(model, backend=dyn.backend)
    zero, one = np.zeros(2), np.ones(2)
    assert np.isfinite(dyn.forward_dynamics(zero, zero, one)).all()
    dyn.update(model.with_payload('forearm', 0.0))
    with pytest.raises(ArgumentError, match="joint 'elbow' moves no mass"):
        dyn.forward_dynamics(zero, zero, one)


def test_an_overflow_is_not_put_down_to_a_joint(dynamics):
    dyn = dynamics(arm())
    zero, huge = np.zeros(2), np.full(2, 1e308)
    with np.errstate(all='ignore'):
        assert not np.isfinite(dyn.forward_dynamics(zero, zero, huge)).all()
        assert not np.isfinite(dyn.forward_dynamics(zero, zero, huge.copy(), out=huge)).all()


def test_refusals_leak_nothing():
    import gc
    import sys
    dyn = Dynamics(RobotModel.from_urdf(IDLE))
    zero, out = np.zeros(2), np.zeros(2)
    counted = zero, out, None, np.ndarray

    def refused():
        for _ in range(300):
            for keywords in ({}, {'out': out}):
                with pytest.raises(ArgumentError):
                    dyn.forward_dynamics(zero, zero, zero, **keywords)

    refused()
    gc.collect()  # what earlier tests left
    before = np.array([sys.getrefcount(each) for each in counted])
    refused()
    after = np.array([sys.getrefcount(each) for each in counted])
    assert (np.abs(after - before) < 50).all(), after - before


@pytest.mark.parametrize('backend', ['compiled', 'python'])
def test_robot_without_mass_has_no_centre_of_mass(backend):
    model = RobotModel.from_urdf(IDLE.replace(INERTIAL, ''))
    dyn = Dynamics(model, backend=backend)
    zero = np.zeros(2)
    for q in (zero, list(zero), np.zeros((3, 2))):
        with pytest.raises(ArgumentError, match="'arm' has no centre of mass.*<inertial>"):
            dyn.center_of_mass(q)
    loaded = Dynamics(model.with_payload('forearm', 2.0, (0.0, 0.0, 0.4)), backend=backend)
    np.testing.assert_allclose(loaded.center_of_mass(zero), [0.0, 0.0, 1.0], atol=1e-12)


# --- joints that a tip cuts off ------------------------------------------------------------------


EARTH = (0.0, 0.0, -9.81)
WRIST = (link('hand'), joint('wrist', 'forearm', 'hand', axis='0 1 0'))
LIGHT = INERTIAL.replace('value="2"', 'value="0.02"')  # a finger
BESIDE = (link('camera'), joint('neck', 'base', 'camera', axis='0 1 0'))


def sentence(urdf, gravity=EARTH, **selection):
    return cut_off(RobotModel.from_urdf(urdf, gravity, **selection), urdf, gravity, selection)


def test_a_joint_that_carries_weight_is_named_with_the_change_that_it_makes():
    # 2 kg at 0.1 m from the wrist, turned from 0 to 2 rad: its share of the torque of the elbow
    # is m g r |sin(e + w) - sin e| <= 2 m g r sin(w / 2); the poses are random
    text = sentence(arm(*WRIST), tip='forearm')
    assert text.startswith("joint 'wrist' is cut off by the tip and gets no torque, but changes "
                           "the gravity torque of 'elbow' by up to ")
    change = float(text.split(' by up to ')[1].split()[0])
    assert 0.8 * 2 * 1.962 * np.sin(1.0) < change <= 2 * 1.962 * np.sin(1.0)
    assert text.endswith('state where it is locked, such as wrist:0')


@pytest.mark.parametrize('urdf, selection', [
    (arm(*WRIST), {}), (arm(*WRIST), {'tip': 'hand'}),
    (arm(*WRIST), {'tip': 'forearm', 'locked': {'wrist': 0.3}}),   # stated
    (arm(*BESIDE), {'tip': 'forearm'}),                            # carried by the base
    (gripper().replace(link('left'), link('left', LIGHT)).replace(
        link('right'), link('right', LIGHT)), {'tip': 'hand'})])
def test_what_is_stated_or_does_not_matter_is_silent(urdf, selection):
    assert sentence(urdf, **selection) == ''


def test_the_model_with_the_tip_differs_as_said():
    urdf = arm(*WRIST)
    cut = Dynamics(RobotModel.from_urdf(urdf, tip='forearm'), backend='python')
    whole = Dynamics(RobotModel.from_urdf(urdf), backend='python')
    q = np.array([0.0, 1.2])
    assert np.allclose(cut.gravity(q), whole.gravity([*q, 0.0])[:2])
    change = whole.gravity([*q, 1.5])[:2] - cut.gravity(q)
    assert np.allclose(change, [0.0, 2 * 9.81 * 0.1 * (np.sin(1.2) - np.sin(2.7))])
