"""
The dynamics against worked systems of the textbooks, to round-off.

All differences here are rounding of a few dozen operations, some 1e-15 of the largest term; 1e-12
has three digits of margin and still detects every wrong term.
"""

import closed_forms
import numpy as np
import pytest
import reference_systems as systems
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from tolerance import assert_close

TOLERANCE = 1e-12
STATES = 200

PLANAR = {
    'rp_craig': (systems.RP_CRAIG, closed_forms.rp_craig),
    'rp_gravity': (systems.RP_GRAVITY, closed_forms.rp_gravity),
    'rp_gravity_friction': (systems.RP_GRAVITY_FRICTION, closed_forms.rp_gravity),
    'two_r_point_masses': (systems.TWO_R_POINT_MASSES, closed_forms.two_r_point_masses),
    'two_link_payload': (systems.TWO_LINK_PAYLOAD, closed_forms.two_link_payload),
}
# A set of numbers and a gravity each: as committed on earth, and two other arms on other planets.
SETS = [(None, 9.81), (1, 3.72), (2, 24.79)]


def numbers_of(system, seed):
    return system.numbers() if seed is None else system.varied(np.random.default_rng(seed))


def dynamics_of(urdf, gravity=9.81):
    return Dynamics(RobotModel.from_urdf(urdf, gravity=(0.0, 0.0, -gravity)))


def states_of(model, seed, count=STATES):
    rng = np.random.default_rng(seed)
    span = np.clip(model.lower, -3.0, None), np.clip(model.upper, None, 3.0)
    for _ in range(count):
        yield rng.uniform(*span), *rng.uniform(-2.0, 2.0, (2, model.nv))


def assert_equations(dyn, closed_form, q, qd, qdd):
    mass_matrix, velocity, gravity = closed_form
    inertia = mass_matrix @ qdd
    torque = inertia + velocity + gravity
    scale = max(np.max(np.abs(term)) for term in (inertia, velocity, gravity))
    assert_close(dyn.mass_matrix(q), mass_matrix, TOLERANCE, what='mass matrix')
    assert_close(dyn.gravity(q), gravity, TOLERANCE, what='gravity')
    assert_close(dyn.bias(q, qd), velocity + gravity, TOLERANCE, scale, 'bias')
    assert_close(dyn.inverse_dynamics(q, qd, qdd), torque, TOLERANCE, scale, 'torque')
    # The solve for qdd multiplies round-off by the condition number of the mass matrix.
    condition = np.linalg.cond(mass_matrix)
    spread = condition * scale / np.linalg.norm(mass_matrix, 2)
    assert_close(
        dyn.forward_dynamics(q, qd, torque), qdd, TOLERANCE, max(spread, 1.0), 'acceleration')


@pytest.mark.parametrize('seed, gravity', SETS)
@pytest.mark.parametrize('name', PLANAR)
def test_planar_systems_equal_their_closed_forms(name, seed, gravity):
    system, closed_form = PLANAR[name]
    numbers = numbers_of(system, seed)
    dyn = dynamics_of(system.text(numbers), gravity)
    for q, qd, qdd in states_of(dyn.model, seed=3):
        assert_equations(dyn, closed_form(q, qd, numbers, gravity), q, qd, qdd)


def test_committed_files_load_as_files():
    for path in sorted(systems.FOLDER.glob('*.urdf')):
        model = RobotModel.from_urdf(path)
        assert model.joint_names == tuple(f'joint{i + 1}' for i in range(model.nv)), path


def test_rods_of_the_payload_arm_are_uniform():
    p = systems.TWO_LINK_PAYLOAD.numbers()
    assert (p.r1, p.r2) == (p.l1 / 2, p.l2 / 2)
    assert p.J1 == pytest.approx(p.m1 * p.l1**2 / 12, rel=TOLERANCE)
    assert p.J2 == pytest.approx(p.m2 * p.l2**2 / 12, rel=TOLERANCE)


def test_payload_on_a_fixed_link_equals_payload_given_at_run_time():
    system = systems.TWO_LINK_PAYLOAD
    numbers = system.numbers()
    carried = dynamics_of(system.path)
    mass, numbers.m = numbers.m, 0.0
    given = Dynamics(RobotModel.from_urdf(system.text(numbers)).with_payload('payload', mass))
    for q, qd, qdd in states_of(carried.model, seed=4, count=50):
        assert_close(given.mass_matrix(q), carried.mass_matrix(q), TOLERANCE)
        assert_close(given.gravity(q), carried.gravity(q), TOLERANCE)
        assert_close(
            given.inverse_dynamics(q, qd, qdd), carried.inverse_dynamics(q, qd, qdd), TOLERANCE,
            np.max(np.abs(carried.gravity(q))))


def test_friction_of_the_file_reaches_the_model():
    model = RobotModel.from_urdf(systems.RP_GRAVITY_FRICTION.path)
    p = systems.RP_GRAVITY_FRICTION.numbers()
    qd = np.array([-0.7, 0.2])
    expected = closed_forms.friction(qd, (p.b1, p.b2), (p.f1, p.f2))
    assert_close(closed_forms.friction(qd, model.damping, model.friction), expected, TOLERANCE)
    assert_close(expected, [-0.7 * 0.8 - 1.5, 0.2 * 4 + 3], TOLERANCE)


@pytest.mark.parametrize('elbow, expected', [
    (90.0, [[1.0, 0.0], [0.0, 2.0]]),
    (150.0, [[4.0, -np.sqrt(3)], [-np.sqrt(3), 2.0]])])
def test_effective_mass_of_the_unit_arm(elbow, expected):
    dyn = dynamics_of(systems.TWO_R_POINT_MASSES.path)
    q = np.radians([0.0, elbow])
    planar = dyn.jacobian(q, 'tip')[[0, 2]]
    effective = np.linalg.inv(planar @ np.linalg.solve(dyn.mass_matrix(q), planar.T))
    assert_close(effective, expected, TOLERANCE)


@pytest.mark.parametrize('file', ['cube.urdf', 'cube_of_eight.urdf'])
def test_cube_about_its_corner(file):
    numbers = systems.CUBE.numbers()
    numbers.a = 2 * numbers.half
    assert numbers.moment == pytest.approx(numbers.m * numbers.a**2 / 6, rel=TOLERANCE)
    dyn = dynamics_of(systems.FOLDER / file)
    # At q = 0 the joint axes are z, y, x: the mass matrix is the tensor with its axes reversed.
    corner = dyn.mass_matrix(np.zeros(3))
    assert_close(np.diag(corner), np.full(3, 2 / 3 * numbers.m * numbers.a**2), TOLERANCE)
    assert_close(corner[0, 1:], np.full(2, -numbers.m * numbers.a**2 / 4), TOLERANCE)
    for q, qd, qdd in states_of(dyn.model, seed=5):
        assert_equations(dyn, closed_forms.cube(q, qd, numbers, 9.81), q, qd, qdd)


def test_eight_small_cubes_lump_to_the_large_one():
    large = RobotModel.from_urdf(systems.FOLDER / 'cube.urdf')
    eight = RobotModel.from_urdf(systems.FOLDER / 'cube_of_eight.urdf')
    assert_close(eight.mass, large.mass, TOLERANCE)
    assert_close(eight.first_moment, large.first_moment, TOLERANCE)
    assert_close(eight.inertia, large.inertia, TOLERANCE)
    about_corner = closed_forms.cube_about_corner
    numbers = systems.CUBE.numbers()
    numbers.a = 2 * numbers.half
    assert_close(large.inertia[2], about_corner(numbers), TOLERANCE)


@pytest.mark.parametrize('seed, gravity', SETS)
def test_ma23_coefficients(seed, gravity):
    numbers = numbers_of(systems.MA23, seed)
    dyn = dynamics_of(systems.MA23.text(numbers), gravity)
    for q, _, _ in states_of(dyn.model, seed=6):
        mass_matrix = dyn.mass_matrix(q)
        scale = np.max(np.abs(mass_matrix))
        for element, expected in closed_forms.ma23_coefficients(q, numbers).items():
            row, column = int(element[1]) - 1, int(element[2]) - 1
            for actual in (mass_matrix[row, column], mass_matrix[column, row]):
                assert abs(actual - expected) <= TOLERANCE * scale, element
        assert_close(dyn.gravity(q), closed_forms.ma23_gravity(q, numbers, gravity), TOLERANCE)
