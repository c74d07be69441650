"""Cartesian impedance and operational space: closed forms, and response to a push."""

from types import SimpleNamespace

from closed_loop import BENT, MODEL
import numpy as np
import pytest
from robodyn_ros.control import ControlLaw, make_gains, Term
from robodyn_ros.control.arm.gain_design import make_task_gains
from robodyn_ros.control.laws.cartesian_impedance import damping
from robodyn_ros.control.laws.symmetric import eigen, spectral
from robodyn_ros.control.laws.task_space import quaternion
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ModelError, ParameterError
from robodyn_ros.trajectory import Reference
from scipy.spatial.transform import Rotation
from design import gains_with, task_gains_with
from task_arms import difference, inertia_of_task, interpreted, spring, task_of
from tolerance import assert_close

LAWS = ('cartesian_impedance', 'operational_space')
# linear, angular; far from isotropic
STIFFNESS = np.array([300.0, 1000.0, 80.0, 20.0, 3.0, 8.0])
FREQUENCY = np.array([10.0, 20.0, 15.0, 12.0, 25.0, 18.0])
# singular value of the Jacobian; near it the laws give up what the link can hardly do
NEAR_SINGULAR = 0.1


@pytest.fixture(scope='module')
def dyn():
    return Dynamics(MODEL)


@pytest.fixture(scope='module')
def gains(dyn):
    return gains_with(dyn, friction_scale=0.0)


@pytest.fixture
def law_of(dyn, gains):
    """Return what makes a law with Cartesian gains."""
    def make(name, **design):
        return ControlLaw(dyn, gains, name, task_gains=task_gains_with(dyn, **design),
                          link=design.get('link', ''))
    return make


@pytest.fixture
def rng():
    """Return random numbers, the same ones whichever tests ran before."""
    return np.random.default_rng(5)


@pytest.fixture
def moving(dyn, rng):
    """Return what draws a state and a reference that moves, not far apart, nor singular."""
    def draw():
        q, qd, qd_ref, qdd_ref, away = rng.uniform(-1.0, 1.0, (5, 7))
        q_ref = BENT + 0.3 * q
        q = q_ref + 0.5 * away
        if np.linalg.svd(dyn.jacobian(q, MODEL.tip), compute_uv=False)[-1] < NEAR_SINGULAR:
            return draw()
        return q, qd, Reference(q_ref, qd_ref, qdd_ref, np.zeros(7))
    return draw


# --- what they are made of ----------------------------------------------------------------------


@pytest.mark.parametrize('n', [1, 3, 6])
def test_eigenvalues_and_functions_of_symmetric_matrices(n, rng):
    for rank in range(n + 1):
        factor = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-3, 3, (n, 1))
        matrix = factor @ factor.T
        values, V = eigen(matrix.tolist())
        size = np.abs(matrix).max(initial=1e-300)
        assert_close(np.sort(values), np.linalg.eigvalsh(matrix), 1e-12, size)
        assert_close(np.array(V).T @ V, np.eye(n), 1e-14)
        assert_close(spectral(values, V, lambda value: value), matrix, 1e-12, size)


def test_quaternions_of_all_rotations():
    turns = [*Rotation.random(200, 3), *Rotation.from_rotvec(np.pi * np.eye(3)),
             *Rotation.from_rotvec([[1e-9, 0, 0], [0, 0, 0], [0, np.pi - 1e-9, 0]])]
    for turn in turns:
        eta, eps = quaternion(turn.as_matrix().tolist())
        assert eta >= 0.0
        again = Rotation.from_quat([*eps, eta])
        assert (again * turn.inv()).magnitude() < 1e-7


@pytest.mark.parametrize('angle, expected', [
    (90, [[1, 0], [0, 2]]), (150, [[4, -np.sqrt(3)], [-np.sqrt(3), 2]])])
def test_the_task_inertia_of_the_textbook(angle, expected):
    # point masses: Lynch and Park 8.1, and the mass ellipsoid of figure 8.4
    dyn = interpreted('two_r')
    gains, q = task_gains_with(dyn, link='tool'), np.radians([0.0, angle])
    task = task_of(dyn, gains, q, [0, 0], Reference.at_rest(q), [1, 1, 0, 0, 0, 0])
    columns = [task.force(unit)[:2] for unit in np.eye(6)[:2].tolist()]
    assert_close(columns, expected, 1e-12)
    # a direction that is not selected takes no force, whatever the reference
    assert task.force([0, 0, 1, 1, 1, 1]) == [0.0] * 6


@pytest.mark.parametrize('name, rows', [
    ('two_r', (0, 1)), ('scara', (0, 1, 2, 5)), ('four', (0, 1, 2)), ('robodyn6', range(6)),
    ('robodyn7', range(6)), ('robodyn7', (2,)), ('robodyn7', (0, 2, 4, 5))])
def test_the_task_inertia_of_all_kinds_of_arms(name, rows, rng):
    dyn = interpreted(name)
    gains, link, selected = make_task_gains(dyn), dyn.model.tip, np.isin(range(6), rows)
    for _ in range(3):
        q, qd = rng.uniform(0.4, 1.2, dyn.nv), rng.uniform(-1, 1, dyn.nv)
        task = task_of(dyn, gains, q, qd, Reference.at_rest(q), selected)
        a = rng.normal(size=6)
        expected = np.zeros(6)
        expected[list(rows)] = inertia_of_task(dyn, link, q, rows) @ a[list(rows)]
        assert_close(task.force(a.tolist()), expected, 1e-8)
        # what is left to the posture does not accelerate the selected directions
        free = np.linalg.solve(dyn.mass_matrix(q), task.null_torque(rng.normal(size=dyn.nv)))
        assert np.abs((dyn.jacobian(q, link) @ free)[list(rows)]).max() < 1e-9
        still = task.null_velocity(rng.normal(size=dyn.nv).tolist())
        assert np.abs((dyn.jacobian(q, link) @ still)[list(rows)]).max() < 1e-9


# --- the laws -----------------------------------------------------------------------------------


def test_operational_space_has_linear_error_dynamics(dyn, law_of, moving):
    law = law_of('operational_space', natural_frequency=FREQUENCY, damping_ratio=0.7)
    link = law.link
    for _ in range(5):
        q, qd, reference = moving()
        qdd = dyn.forward_dynamics(q, qd, law.follow(q, qd, reference)[Term.TOTAL])
        got = dyn.jacobian(q, link) @ qdd + dyn.jacobian_dot_qd(q, qd, link)
        acceleration = dyn.jacobian(reference.q, link) @ reference.qdd + dyn.jacobian_dot_qd(
            reference.q, reference.qd, link)
        rate = dyn.jacobian(reference.q, link) @ reference.qd - dyn.jacobian(q, link) @ qd
        expected = acceleration + 2 * 0.7 * FREQUENCY * rate + spring(
            FREQUENCY ** 2, *difference(dyn, link, reference.q, q))
        assert_close(got, expected, 1e-9)
        assert_close(law.task.pose_error[:3], difference(dyn, link, reference.q, q)[0], 1e-12)
        assert_close(law.task.twist_error, rate, 1e-12)


@pytest.mark.parametrize('axes', ['base', 'target'])
def test_cartesian_impedance_is_its_equation(dyn, law_of, axes, moving):
    law = law_of('cartesian_impedance', stiffness=STIFFNESS, damping=STIFFNESS / 10, axes=axes,
                 posture_frequency=0.0)
    link = law.link
    for _ in range(5):
        q, qd, reference = moving()
        terms = law.follow(q, qd, reference)
        away, eta, eps = difference(dyn, link, reference.q, q)
        J = dyn.jacobian(q, link)
        rate = dyn.jacobian(reference.q, link) @ reference.qd - J @ qd
        C = dyn.forward_kinematics(reference.q, link)[:3, :3] if axes == 'target' else np.eye(3)
        turn = np.kron(np.eye(2), C)
        wrench = turn @ (spring(STIFFNESS, C.T @ away, eta, C.T @ eps)
                         + STIFFNESS / 10 * (turn.T @ rate))
        assert_close(terms[Term.FEEDBACK], J.T @ wrench, 1e-10)
        feedforward = (dyn.mass_matrix(q) @ reference.qdd + dyn.gravity(q)
                       + dyn.coriolis_matrix(q, qd) @ reference.qd)
        rest = terms[Term.TOTAL] - terms[Term.FEEDBACK] - terms[Term.NULL_SPACE]
        assert_close(rest, feedforward, 1e-10)


@pytest.mark.parametrize('law', LAWS)
def test_the_posture_does_not_move_the_link(dyn, law_of, law, moving):
    link = law_of(law).link
    for _ in range(5):
        q, qd, reference = moving()
        soft, hard = (law_of(law, posture_frequency=f).follow(q, qd, reference).copy()
                      for f in (0.0, 30.0))
        change = (hard - soft)[Term.TOTAL]
        assert np.abs(change).max() > 1e-2
        accelerated = dyn.jacobian(q, link) @ np.linalg.solve(dyn.mass_matrix(q), change)
        assert np.abs(accelerated).max() < 1e-9


@pytest.mark.parametrize('law', LAWS)
def test_without_error_the_torque_is_that_of_the_model(dyn, law_of, law, moving):
    _, _, reference = moving()
    terms = law_of(law).follow(reference.q, reference.qd, reference)
    assert_close(terms[Term.TOTAL], dyn.inverse_dynamics(*reference.arrays[:3]), 1e-9)
    assert_close(terms[Term.FEEDBACK], np.zeros(7), 1e-9, scale=1.0)
    assert_close(terms[Term.TOTAL], terms[:Term.TOTAL].sum(axis=0), 1e-11)


# --- passivity ----------------------------------------------------------------------------------


@pytest.mark.parametrize('axes', ['base', 'target'])
def test_the_energy_of_arm_and_spring_only_falls(dyn, law_of, axes, rng):
    # large rotations, anisotropic stiffness; dV/dt from differences of V along the motion
    law = law_of('cartesian_impedance', stiffness=STIFFNESS, axes=axes, posture_frequency=0.0)
    reference = Reference.at_rest(BENT)

    def energy(q, qd):
        law.follow(q, qd, reference)
        return (dyn.kinetic_energy(q, qd)
                + 0.5 * float(law.task_gains.stiffness @ law.task.pose_error ** 2))

    for _ in range(5):
        q, qd, h = BENT + rng.uniform(-1.2, 1.2, 7), rng.uniform(-1, 1, 7), 1e-6
        torque = law.follow(q, qd, reference)[Term.TOTAL]
        dissipated = law.task.dissipated
        qdd = dyn.forward_dynamics(q, qd, torque)
        after, before = (energy(q + s * qd + 0.5 * s * s * qdd, qd + s * qdd) for s in (h, -h))
        assert dissipated > 0.0
        assert (after - before) / (2 * h) == pytest.approx(-dissipated, rel=1e-4, abs=1e-5)


def pushed(dyn, law, q, wrench, seconds, h=5e-4):
    """Return states and powers of an arm under a wrench, a function of time, pose and twist."""
    link, reference, rows = law.link, Reference.at_rest(q), []
    q, qd = q.copy(), np.zeros(dyn.nv)
    for step in range(round(seconds / h)):
        w = wrench(step * h, dyn.forward_kinematics(q, link), dyn.jacobian(q, link) @ qd)
        torque = law.follow(q, qd, reference)[Term.TOTAL]
        rows.append((q.copy(), qd.copy(), float(w @ dyn.jacobian(q, link) @ qd)))
        qd += h * dyn.forward_dynamics(q, qd, torque, {link: w})
        q += h * qd
    return q, qd, rows


@pytest.mark.parametrize('posture', [0.0, 5.0])
def test_guiding_the_link_around_yields_no_energy(dyn, law_of, posture):
    law = law_of('cartesian_impedance', stiffness=STIFFNESS, posture_frequency=posture)
    start = dyn.forward_kinematics(BENT, law.link)[:3, 3]

    def guided(t, pose, twist):
        # round two circles, and released
        s = min(t / 1.5, 1.0)
        way = 0.12 * np.array([np.cos(4 * np.pi * s) - 1.0, np.sin(4 * np.pi * s), 0.5 * np.sin(
            8 * np.pi * s)])
        force = 2000.0 * (start + way - pose[:3, 3]) - 40.0 * twist[:3]
        return np.concatenate([force, np.zeros(3)]) * (t < 1.5)

    q, qd, rows = pushed(dyn, law, BENT, guided, 4.0)
    work = 5e-4 * sum(power for *_, power in rows)
    assert work > 0.1
    # and it comes back
    gone = dyn.forward_kinematics(q, law.link) - dyn.forward_kinematics(
        BENT, law.link)
    assert np.abs(gone).max() < 5e-3
    assert np.abs(dyn.jacobian(q, law.link) @ qd).max() < 0.05


# --- response to a push -------------------------------------------------------------------------


@pytest.mark.parametrize('axes', ['base', 'target'])
def test_a_push_deflects_the_link_by_its_compliance(dyn, law_of, axes):
    law = law_of('cartesian_impedance', stiffness=STIFFNESS, axes=axes)
    link = law.link
    push = np.array([6.0, -8.0, 2.0, 0.3, 0.05, -0.1])
    q, qd, _ = pushed(dyn, law, BENT, lambda t, *_: push * min(t, 1.0), 4.0)
    away, eta, eps = difference(dyn, link, BENT, q)
    C = dyn.forward_kinematics(BENT, link)[:3, :3] if axes == 'target' else np.eye(3)
    assert np.abs(qd).max() < 1e-3
    assert_close(C.T @ away, -(C.T @ push[:3]) / STIFFNESS[:3], 2e-3)
    balance = spring(STIFFNESS, C.T @ away, eta, C.T @ eps)
    assert_close(balance[3:], -C.T @ push[3:], 1e-2)


def test_in_operational_space_the_link_swings_with_its_frequency(dyn, law_of):
    wn, zeta = 12.0, 0.1
    law = law_of('operational_space', natural_frequency=wn, damping_ratio=zeta)
    link, h = law.link, 5e-4
    reference = Reference.at_rest(BENT)
    q, qd, xs = BENT.copy(), np.zeros(7), []
    J = dyn.jacobian(q, link)
    qd = np.linalg.pinv(J) @ np.array([0.2, -0.3, 0.1, 0.0, 0.0, 0.0])
    start = dyn.forward_kinematics(q, link)[:3, 3]
    for _ in range(round(1.0 / h)):
        xs.append(dyn.forward_kinematics(q, link)[:3, 3] - start)
        qd += h * dyn.forward_dynamics(q, qd, law.follow(q, qd, reference)[Term.TOTAL])
        q += h * qd
    t, wd = h * np.arange(len(xs)), wn * np.sqrt(1 - zeta ** 2)
    exact = np.exp(-zeta * wn * t) * np.sin(wd * t) / wd
    assert_close(xs, np.outer(exact, [0.2, -0.3, 0.1]), 0.02)


@pytest.mark.parametrize('zeta', [0.3, 1.0])
def test_every_mode_of_the_link_has_its_damping_ratio(dyn, law_of, zeta, rng):
    law = law_of('cartesian_impedance', stiffness=STIFFNESS, damping_ratio=zeta)
    link = law.link
    for _ in range(5):
        q = BENT + rng.uniform(-0.5, 0.5, 7)
        Lambda = inertia_of_task(dyn, link, q)
        D = damping(np.linalg.inv(Lambda).tolist(), SimpleNamespace(
            stiffness=STIFFNESS.tolist(), damping_ratio=[zeta] * 6))
        A = np.block([[np.zeros((6, 6)), np.eye(6)],
                      [-np.linalg.solve(Lambda, np.diag(STIFFNESS)),
                       -np.linalg.solve(Lambda, np.array(D))]])
        roots = np.linalg.eigvals(A)
        assert_close(np.abs(roots.real) / np.abs(roots), np.full(12, zeta), 0.03)
        # no feedback of velocity is faster than the fastest mode: what sampling can bear
        fastest = np.sqrt(np.linalg.eigvals(np.linalg.solve(Lambda, np.diag(STIFFNESS))).real)
        assert np.abs(np.linalg.eigvals(np.linalg.solve(Lambda, D))).max() <= (
            2 * zeta * fastest.max() * 1.001)


# --- singularities ------------------------------------------------------------------------------


@pytest.mark.parametrize('law', LAWS)
@pytest.mark.parametrize('name', ['two_r', 'scara', 'four', 'robodyn6', 'robodyn7'])
def test_torques_are_bounded_and_continuous_through_singularities(name, law):
    dyn = interpreted(name)
    task_gains = task_gains_with(dyn, singularity=0.1)
    control = ControlLaw(dyn, make_gains(dyn), law, task_gains=task_gains)
    n, torques = dyn.nv, []
    bent = np.linspace(0.2, 0.8, n)
    for s in np.linspace(-0.2, 0.2, 41):  # zero: everything that can be aligned is
        q = s * bent
        torques.append(control.follow(q, np.zeros(n), Reference.at_rest(q + 0.02)).copy())
    feedback = np.array(torques)[:, [Term.FEEDBACK, Term.NULL_SPACE]].sum(axis=1)
    assert np.isfinite(torques).all()
    assert np.abs(feedback).max() < 60.0
    assert np.abs(np.diff(feedback, axis=0)).max() < 0.5 * np.abs(feedback).max()


def test_what_is_not_singular_is_not_damped(dyn):
    # all directions of a planar arm are selected: it has only two of them
    two = interpreted('two_r')
    gains, q = make_task_gains(two), np.array([0.3, 1.2])
    task = task_of(two, gains, q, [0, 0], Reference.at_rest(q), [1] * 6)
    few = task_of(two, gains, q, [0, 0], Reference.at_rest(q), [1, 1, 0, 0, 0, 0])
    assert task.manipulability < 1e-6 < few.manipulability
    torque = [task.joint_torque(each.force([1.0, 2.0, 0, 0, 0, 0])) for each in (task, few)]
    assert np.isfinite(torque).all()
    assert dyn.model.nv == 7 and few.manipulability == pytest.approx(np.prod(np.linalg.svd(
        gains.reach[:2, None] * two.jacobian(q, two.model.tip)[:2], compute_uv=False)), rel=1e-9)


# --- gains --------------------------------------------------------------------------------------


def test_free_directions_are_free(dyn, law_of, moving):
    law = law_of('operational_space', natural_frequency=[10, 10, 0, 0, 0, 0],
                 posture_frequency=0.0)
    q, qd, reference = moving()
    law.follow(q, qd, reference)
    assert law.task.wrench[:2].all() and not law.task.wrench[2:].any()


@pytest.mark.parametrize('design, error, words', [
    ({'link': 'hand'}, ModelError, "'hand'"),
    ({'link': MODEL.base_link}, ParameterError, 'belongs to the immovable base'),
    ({'axes': 'tool'}, ParameterError, "'tool': choose one of base, target"),
    ({'stiffness': [1.0, 2.0]}, ParameterError, 'stiffness has 2 values; give one, or six'),
    ({'stiffness': [1, 1, -1, 1, 1, 1]}, ParameterError, "stiffness', number 3 of 6, is -1.0: "),
    ({'damping_ratio': np.nan}, ParameterError, "damping_ratio' is nan: it must"),
    ({'natural_frequency': 'fast'}, ParameterError, "' is 'fast': set it to a list of numbers"),
    ({'posture_frequency': [1.0, 2.0]}, ParameterError, 'has 2 values; give one, or one for each'),
    ({'singularity': -0.1}, ParameterError, "singularity' is -0.1: the least allowed is 0.001")])
def test_gains_that_make_no_sense_are_refused(dyn, design, error, words):
    with pytest.raises(error, match=words):
        task_gains_with(dyn, **design)
