"""Coriolis matrix, derivatives, and the regressor with its base parameters: values, not calls."""

from analysed_robots import ARM, DIFFERENCE, EXACT, GRAVITY, last_link, make, slopes, states, TEXTS
import numpy as np
import pytest
from random_trees import Mixture, random_tree
import reference_systems as systems
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from tolerance import assert_close


# --- parts of the velocity forces ----------------------------------------------------------------


@pytest.fixture(scope='module', params=TEXTS)
def dyn(request):
    return make(request.param)


def test_velocity_forces_are_those_of_newton_and_euler(dyn):
    for q, qd, _ in zip(*states(dyn)):
        size = np.max(np.abs(dyn.bias(q, qd)))
        velocity = dyn.bias(q, qd) - dyn.gravity(q)
        assert_close(dyn.coriolis_matrix(q, qd) @ qd, velocity, EXACT, size)
        centrifugal, coriolis = dyn.velocity_forces(q, qd)
        assert_close(centrifugal + coriolis, velocity, EXACT, size)


def test_symbols_are_slopes_of_the_mass_matrix(dyn):
    q = states(dyn, 1)[0][0]
    slope = slopes(dyn.mass_matrix, q)
    expected = (slope + slope.transpose(0, 2, 1) - slope.transpose(2, 1, 0)) / 2
    size = np.max(np.abs(dyn.mass_matrix(q)))
    assert_close(dyn.christoffel(q), expected, DIFFERENCE, size)


def test_mass_matrix_changes_by_twice_the_symmetric_part(dyn):
    """Check that dM/dt - 2 C is skew-symmetric."""
    for q, qd, _ in zip(*states(dyn, 2)):
        change = slopes(dyn.mass_matrix, q) @ qd
        skew = change - 2 * dyn.coriolis_matrix(q, qd)
        assert_close(skew, -skew.T, DIFFERENCE, np.max(np.abs(dyn.mass_matrix(q))))


def test_matrix_is_the_symbols_times_velocity(dyn):
    for q, qd, other in zip(*states(dyn, 2)):
        symbols, matrix = dyn.christoffel(q), dyn.coriolis_matrix(q, qd)
        size = np.max(np.abs(dyn.mass_matrix(q)))  # of one joint alone all symbols are zero
        assert_close(symbols, symbols.transpose(0, 2, 1), EXACT, size)
        assert_close(symbols @ qd, matrix, EXACT, size)
        # of two velocities, either may be the one that C is made for
        assert_close(matrix @ other, dyn.coriolis_matrix(q, other) @ qd, EXACT, size)


def test_centrifugal_forces_are_those_of_one_coordinate_alone(dyn):
    for q, qd, _ in zip(*states(dyn, 2)):
        alone = [dyn.coriolis_matrix(q, turn) @ turn for turn in np.diag(qd)]
        size = np.max(np.abs(dyn.mass_matrix(q)))
        assert_close(dyn.velocity_forces(q, qd).centrifugal, sum(alone), EXACT, size)
        for turn in np.diag(qd):
            assert_close(dyn.velocity_forces(q, turn).coriolis, 0 * q, EXACT, size)


def test_half_of_pinocchios_derivative_by_velocity():
    pytest.importorskip('pinocchio')
    from oracle import Oracle
    for name in ('arm', 'tree', 'tied'):
        dyn = Dynamics(RobotModel.from_urdf(TEXTS[name], gravity=GRAVITY), backend='python')
        oracle = Oracle(TEXTS[name], dyn.model.joint_names, GRAVITY)
        for q, qd, qdd in zip(*states(dyn, 10)):
            by_qd = oracle.derivatives(q, qd, qdd)[1]
            assert_close(dyn.coriolis_matrix(q, qd), by_qd / 2, EXACT)


def test_symbols_of_the_two_link_arm():
    """Check the only independent symbol, h = - m2 L1 L2 sin(theta2)."""
    system = systems.TWO_R_POINT_MASSES
    p = system.numbers()
    dyn = Dynamics(RobotModel.from_urdf(system.path))
    for q in states(dyn, 20)[0]:
        h = -p.m2 * p.L1 * p.L2 * np.sin(q[1])
        assert_close(dyn.christoffel(q), [[[0, h], [h, h]], [[-h, 0], [0, 0]]], EXACT)


def test_parts_of_the_turning_and_sliding_arm():
    system = systems.RP_CRAIG
    p = system.numbers()
    dyn = Dynamics(RobotModel.from_urdf(system.path))
    for q, qd, _ in zip(*states(dyn, 20)):
        lever = p.m2 * (q[1] - p.L2)
        centrifugal, coriolis = dyn.velocity_forces(q, qd)
        assert_close(centrifugal, [0.0, -lever * qd[0] ** 2], EXACT)
        assert_close(coriolis, [2 * lever * qd[0] * qd[1], 0.0], EXACT)


# --- derivatives ---------------------------------------------------------------------------------


ROBOTS = ('ur5_robot', 'kinova', 'finger_edu', 'panda', 'ur3_gripper', 'allegro_right_hand',
          'talos_left_arm', 'anymal', 'tiago_no_hand', 'romeo')
FREE, TIED = Mixture(prismatic=0.3), Mixture(prismatic=0.3, mimic=0.3)
TREES = {f'{name}{joints}': random_tree(70 + joints, joints, mixture)
         for name, mixture in (('free', FREE), ('tied', TIED)) for joints in (2, 3, 5, 8, 20)}


def amplified(M):
    """Return the tolerance of what is solved for with M: round-off times its condition."""
    return max(EXACT, 1e-15 * np.linalg.cond(M) ** 2)


@pytest.mark.parametrize('name', ROBOTS + tuple(TREES))
def test_derivatives_of_pinocchio(name):
    pytest.importorskip('pinocchio')
    from oracle import Oracle, robot_files
    if name not in TREES and name not in robot_files():
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    text = TREES[name] if name in TREES else robot_files()[name].read_text()
    dyn = Dynamics(RobotModel.from_urdf(text, gravity=GRAVITY), backend='python')
    oracle = Oracle(text, dyn.model.joint_names, GRAVITY)
    for q, qd, qdd in zip(*states(dyn)):
        by_q, by_qd, M = dyn.inverse_dynamics_derivatives(q, qd, qdd)
        expected = oracle.derivatives(q, qd, qdd)
        assert_close(by_q, expected[0], EXACT, what='dtau/dq')
        size = np.max(np.abs(M))  # for where velocity does not matter
        assert_close(by_qd, expected[1], EXACT, size, what='dtau/dqd')
        assert_close(M, oracle.mass_matrix(q), EXACT, what='M')
        tau = oracle.inverse_dynamics(q, qd, qdd)
        if np.linalg.cond(M) > 1e5:
            continue
        actual = dyn.forward_dynamics_derivatives(q, qd, tau)
        for part, matrix in zip(actual, (-by_q, -by_qd, np.eye(dyn.nv))):
            assert_close(part, np.linalg.solve(M, matrix), amplified(M), 1.0, 'of qdd')


def test_pinocchio_forward():
    """Where nothing ties the joints, Pinocchio differentiates the forward dynamics itself."""
    pin = pytest.importorskip('pinocchio')
    from oracle import Oracle
    for name in ('arm', 'tree'):
        dyn = Dynamics(RobotModel.from_urdf(TEXTS[name], gravity=GRAVITY), backend='python')
        oracle = Oracle(TEXTS[name], dyn.model.joint_names, GRAVITY)
        order = oracle.coupling
        for q, qd, tau in zip(*states(dyn)):
            parts = pin.computeABADerivatives(
                oracle.model, oracle.data, oracle.configuration(q), order @ qd, order @ tau)
            for actual, expected in zip(dyn.forward_dynamics_derivatives(q, qd, tau), parts):
                expected = np.triu(expected) + np.triu(expected, 1).T if (
                    expected is parts[2]) else expected
                assert_close(actual, order.T @ expected @ order, amplified(dyn.mass_matrix(q)))


def test_finite_differences_of_the_inverse_dynamics(dyn):
    q, qd, qdd = (each[0] for each in states(dyn, 1))
    by_q, by_qd, by_qdd = dyn.inverse_dynamics_derivatives(q, qd, qdd)
    size = np.max(np.abs(dyn.inverse_dynamics(q, qd, qdd)))
    for actual, expected in (
            (by_q, slopes(lambda x: dyn.inverse_dynamics(x, qd, qdd), q)),
            (by_qd, slopes(lambda x: dyn.inverse_dynamics(q, x, qdd), qd)),
            (by_qdd, slopes(lambda x: dyn.inverse_dynamics(q, qd, x), qdd))):
        assert_close(actual, expected, DIFFERENCE, size)


def test_finite_differences_of_the_forward_dynamics(dyn):
    q, qd, qdd = (each[0] for each in states(dyn, 1))
    tau = dyn.inverse_dynamics(q, qd, qdd)
    by_q, by_qd, by_tau = dyn.forward_dynamics_derivatives(q, qd, tau)
    allowed = DIFFERENCE * max(1.0, 0.1 * np.linalg.cond(dyn.mass_matrix(q)))
    for actual, expected in (
            (by_q, slopes(lambda x: dyn.forward_dynamics(x, qd, tau), q)),
            (by_qd, slopes(lambda x: dyn.forward_dynamics(q, x, tau), qd)),
            (by_tau, slopes(lambda x: dyn.forward_dynamics(q, qd, x), tau))):
        assert_close(actual, expected, allowed, 1.0)


def test_derivative_by_velocity_is_twice_the_coriolis_matrix(dyn):
    for q, qd, qdd in zip(*states(dyn)):
        _, by_qd, M = dyn.inverse_dynamics_derivatives(q, qd, qdd)
        assert_close(by_qd, 2 * dyn.coriolis_matrix(q, qd), EXACT, np.max(np.abs(M)))
        assert_close(M, dyn.mass_matrix(q), EXACT)


def test_joints_that_move_no_mass_are_named():
    """Small robots and large ones take two ways to the inverse of M."""
    joint = ('<link name="l{1}"/><joint name="j{1}" type="continuous"><parent link="l{0}"/>'
             '<child link="l{1}"/></joint>')
    for joints in (2, 14):
        text = ('<robot name="idle"><link name="l0"/>' + ''.join(
            joint.format(i, i + 1) for i in range(joints)) + '</robot>')
        idle = Dynamics(RobotModel.from_urdf(text), backend='python')
        with pytest.raises(ArgumentError, match=f"joints 'j1', .*'j{joints}' move no mass"):
            idle.forward_dynamics_derivatives(*np.zeros((3, joints)))


# --- what may change at run time ------------------------------------------------------------

def answers(dyn, q, qd, qdd):
    """Return the results of everything that depends on payload or gravity."""
    link = last_link(dyn.model)
    return [
        dyn.inverse_dynamics(q, qd, qdd), dyn.gravity(q), dyn.bias(q, qd), dyn.mass_matrix(q),
        dyn.forward_dynamics(q, qd, qdd), dyn.kinetic_energy(q, qd), dyn.potential_energy(q),
        dyn.center_of_mass(q), dyn.coriolis_matrix(q, qd), dyn.christoffel(q),
        dyn.regressor(q, qd, qdd), dyn.parameters, *dyn.velocity_forces(q, qd),
        *dyn.inverse_dynamics_derivatives(q, qd, qdd), dyn.effective_mass(q, link).matrix,
        *dyn.forward_dynamics_derivatives(q, qd, qdd)]


def test_payload_and_gravity_are_no_part_of_the_machine_code(monkeypatch):
    light, loads, load = make('tied').model, [], machine.load
    monkeypatch.setattr(machine, 'load', lambda *given: loads.append(given) or load(*given))
    heavy = light.with_gravity((0.0, 4.0, 1.0)).with_payload(last_link(light), 3.0, (0.1, 0, 0.3))
    changing = Dynamics(light)
    state = [each[0] for each in states(changing, 1)]
    before = answers(changing, *state)
    count = len(loads)
    assert count
    changing.update(heavy)
    after = answers(changing, *state)
    assert len(loads) == count, 'code was loaded or compiled again'
    for actual, expected in zip(after, answers(Dynamics(heavy), *state)):
        np.testing.assert_array_equal(actual, expected)
    changing.update(light)
    for actual, expected in zip(answers(changing, *state), before):
        np.testing.assert_array_equal(actual, expected)


def test_payload_equals_a_link_welded_on():
    model = make('tree').model
    payload = model.payloads[0]
    elements = ' '.join(f'i{a}{b}="{payload.inertia[i, j]:.17g}"' for i, a in enumerate('xyz')
                        for j, b in enumerate('xyz') if i <= j)
    weld = (f'<link name="load"><inertial><origin xyz="{" ".join(map(str, payload.com))}"/>'
            f'<mass value="{payload.mass}"/><inertia {elements}/></inertial></link>'
            f'<joint name="weld" type="fixed"><parent link="{payload.link}"/>'
            '<child link="load"/></joint></robot>')
    text = TEXTS['tree'].replace('</robot>', weld)
    rebuilt = Dynamics(RobotModel.from_urdf(text, gravity=GRAVITY), backend='python')
    dyn = make('tree')
    state = [each[0] for each in states(dyn, 1)]
    for actual, expected in zip(answers(dyn, *state), answers(rebuilt, *state)):
        assert_close(actual, expected, 1e-10)


# --- regressor -----------------------------------------------------------------------------------


UPRIGHT = (0.0, 0.0, -9.81)
ONE_JOINT = (
    '<robot name="one"><link name="root"/><link name="body"><inertial><origin xyz="0.1 0.2 0.3"/>'
    '<mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0.1" ixz="0" iyz="0"/></inertial>'
    '</link><joint name="j" type="{}"><parent link="root"/><child link="body"/>'
    '<axis xyz="{}"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>')
# our ten parameters of a body in the order of Pinocchio: m, h, Jxx, Jxy, Jyy, Jxz, Jyz, Jzz
PINOCCHIO = [0, 1, 2, 3, 4, 7, 5, 8, 9, 6]


def robot(text, gravity=UPRIGHT, **selection):
    return Dynamics(
        RobotModel.from_urdf(text, gravity=gravity, **selection), backend='python')


def test_torque_is_linear_in_the_parameters(dyn):
    for q, qd, qdd in zip(*states(dyn)):
        regressor, parameters = dyn.regressor(q, qd, qdd), dyn.parameters
        assert regressor.shape == (dyn.nv, 10 * dyn.model.nb)
        assert_close(regressor @ parameters, dyn.inverse_dynamics(q, qd, qdd), EXACT)


def test_parameters_hold_the_payload():
    loaded = make('tree')
    model, body = loaded.model, loaded.model.payload_bodies[0]
    bare = Dynamics(RobotModel.from_urdf(TEXTS['tree'], gravity=GRAVITY), backend='python')
    change = (loaded.parameters - bare.parameters).reshape(-1, 10)
    assert_close(change[body], model.payload_parameters[0], EXACT)
    assert np.count_nonzero(np.any(change, axis=1)) == 1
    mass, first_moment = bare.parameters.reshape(-1, 10)[:, 0], bare.parameters[1:4]
    np.testing.assert_array_equal(mass, bare.model.mass)
    np.testing.assert_array_equal(first_moment, bare.model.first_moment[0])
    state = [each[0] for each in states(bare, 1)]
    np.testing.assert_array_equal(loaded.regressor(*state), bare.regressor(*state))


@pytest.mark.parametrize('name', ['arm', 'tree', 'tied', 'large'])
def test_regressor_of_pinocchio(name):
    pin = pytest.importorskip('pinocchio')
    from oracle import Oracle
    dyn = robot(TEXTS[name], GRAVITY)
    oracle = Oracle(TEXTS[name], dyn.model.joint_names, GRAVITY)
    joints = [oracle.model.getJointId(joint) - 1 for joint in dyn.model.body_joints]
    for q, qd, qdd in zip(*states(dyn)):
        rates = oracle.coupling @ qd, oracle.coupling @ qdd
        expected = oracle.coupling.T @ pin.computeJointTorqueRegressor(
            oracle.model, oracle.data, oracle.configuration(q), *rates)
        expected = expected.reshape(dyn.nv, -1, 10)[:, joints]
        actual = dyn.regressor(q, qd, qdd).reshape(dyn.nv, -1, 10)[..., PINOCCHIO]
        assert_close(actual, expected, EXACT)


# --- base parameters ------------------------------------------------------------------------

def test_base_parameters_give_the_same_torque(dyn):
    columns, projection = dyn.base_parameters()
    assert projection.shape == (len(columns), 10 * dyn.model.nb)
    np.testing.assert_array_equal(projection[:, columns], np.eye(len(columns)))
    # of any robot with these joints, also of one that no mass distribution has
    anything = np.random.default_rng(67).normal(size=10 * dyn.model.nb)
    for q, qd, qdd in zip(*states(dyn)):
        regressor = dyn.regressor(q, qd, qdd)
        for parameters in (dyn.parameters, anything):
            actual = regressor[:, columns] @ (projection @ parameters)
            assert_close(actual, regressor @ parameters, 1e-10)


def test_base_parameters_are_as_many_as_the_rank(dyn):
    rows = np.concatenate(dyn.regressor(*states(dyn, 10 + 15 * dyn.model.nb // dyn.nv, 68)))
    values = np.linalg.svd(rows, compute_uv=False)
    rank = np.count_nonzero(values > 1e-10 * values[0])
    found, again = dyn.base_parameters(), dyn.base_parameters(seed=1)
    assert len(found.columns) == len(again.columns) == rank
    assert_close(found.projection, again.projection, 1e-8)


@pytest.mark.parametrize('text, gravity, count', [
    (ONE_JOINT.format('revolute', '0 1 0'), UPRIGHT, 3),  # Jyy, hx, hz
    (ONE_JOINT.format('revolute', '0 0 1'), UPRIGHT, 1),  # Jzz: gravity does not turn it
    (ONE_JOINT.format('prismatic', '1 0 0'), UPRIGHT, 1),
    (systems.TWO_R_POINT_MASSES.path, UPRIGHT, 6),  # Khalil and Dombre: two of J, four of h
    (systems.TWO_R_POINT_MASSES.path, (0.0, 0.0, 0.0), 4),
    (systems.RP_CRAIG.path, UPRIGHT, 6)])
def test_known_numbers_of_base_parameters(text, gravity, count):
    assert len(robot(text, gravity).base_parameters().columns) == count


@pytest.mark.parametrize('name, selection, count', [
    ('ur5_robot', {}, 36),  # six turning joints, the first upright
    ('panda', {'tip': 'panda_link7'}, 43)])  # Gaz et al. 2019
def test_known_numbers_of_real_arms(name, selection, count):
    pytest.importorskip('pinocchio')
    from oracle import robot_files
    if name not in robot_files():
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    dyn = robot(robot_files()[name].read_text(), **selection)
    assert len(dyn.base_parameters().columns) == count


def test_base_parameters_of_the_pendulum():
    """What is kept is named after the body nearest to the base, and groups the others."""
    found = robot(systems.TWO_R_POINT_MASSES.path).base_parameters()
    p = systems.TWO_R_POINT_MASSES.numbers()
    # axes are -y: body 1 moves the mass of body 2 at the distance L1
    np.testing.assert_array_equal(found.columns, [1, 3, 5, 11, 13, 15])
    np.testing.assert_allclose(found.projection[:3, 10], [p.L1, 0.0, p.L1 ** 2], atol=1e-12)


def test_mount_decides_what_gravity_shows():
    assert len(robot(ARM).base_parameters().columns) < len(
        robot(ARM, GRAVITY).base_parameters().columns)


def test_tolerance_of_rounded_angles():
    """A right angle of five digits shows more parameters, though hardly."""
    flat = systems.TWO_R_POINT_MASSES.path.read_text()
    turned = flat.replace('<origin xyz="1 0 0"/>\n    <axis', (
        '<origin xyz="1 0 0" rpy="1e-6 0 0"/>\n    <axis'))
    assert turned != flat
    assert len(robot(turned).base_parameters().columns) > 6
    assert len(robot(turned).base_parameters(tolerance=1e-4).columns) == 6
