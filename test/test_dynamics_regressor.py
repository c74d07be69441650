"""The equation of motion as a linear map of inertial parameters, and which of them matter."""

from analysed_robots import ARM, EXACT, GRAVITY, make, states, TEXTS
import numpy as np
import pytest
import reference_systems as systems
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from tolerance import assert_close

UPRIGHT = (0.0, 0.0, -9.81)
ONE_JOINT = (
    '<robot name="one"><link name="root"/><link name="body"><inertial><origin xyz="0.1 0.2 0.3"/>'
    '<mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0.1" ixz="0" iyz="0"/></inertial>'
    '</link><joint name="j" type="{}"><parent link="root"/><child link="body"/>'
    '<axis xyz="{}"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>')
# our ten parameters of a body in the order of Pinocchio: m, h, Jxx, Jxy, Jyy, Jxz, Jyz, Jzz
PINOCCHIO = [0, 1, 2, 3, 4, 7, 5, 8, 9, 6]


@pytest.fixture(scope='module', params=TEXTS)
def dyn(request):
    return make(request.param)


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
def test_pinocchio(name):
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


def test_batches(dyn):
    given = states(dyn, 5)
    batch = dyn.regressor(*given)
    for row in range(5):
        assert_close(batch[row], dyn.regressor(*(each[row] for each in given)), EXACT)
    assert dyn.regressor(*(each[:0] for each in given)).shape == (0, *batch.shape[1:])


def test_machine_code_equals_python():
    compiled = make('tied')
    python = Dynamics(compiled.model, backend='python')
    state = [each[0] for each in states(compiled, 1)]
    out = np.zeros((compiled.nv, 10 * compiled.model.nb))
    assert compiled.regressor(*state, out=out) is out
    assert_close(out, python.regressor(*state), EXACT)


def test_wrong_arguments_are_named():
    dyn = make('slides')
    with pytest.raises(ArgumentError, match='^qd '):
        dyn.regressor(np.zeros(dyn.nv), np.zeros(dyn.nv + 1), np.zeros(dyn.nv))


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
