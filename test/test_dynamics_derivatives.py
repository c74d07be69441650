"""Derivatives of inverse and forward dynamics, and what needs no new machine code."""

from analysed_robots import DIFFERENCE, EXACT, GRAVITY, last_link, make, slopes, states, TEXTS
import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from tolerance import assert_close

ROBOTS = ('ur5_robot', 'kinova', 'finger_edu', 'panda', 'ur3_gripper', 'allegro_right_hand',
          'talos_left_arm', 'anymal', 'tiago_no_hand', 'romeo')
FREE, TIED = Mixture(prismatic=0.3), Mixture(prismatic=0.3, mimic=0.3)
TREES = {f'{name}{joints}': random_tree(70 + joints, joints, mixture)
         for name, mixture in (('free', FREE), ('tied', TIED)) for joints in (2, 3, 5, 8, 20)}


@pytest.fixture(scope='module', params=TEXTS)
def dyn(request):
    return make(request.param)


def amplified(M):
    """Return the tolerance of what is solved for with M: round-off times its condition."""
    return max(EXACT, 1e-15 * np.linalg.cond(M) ** 2)


@pytest.mark.parametrize('name', ROBOTS + tuple(TREES))
def test_pinocchio(name):
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


@pytest.mark.parametrize('method', ['inverse_dynamics_derivatives',
                                    'forward_dynamics_derivatives'])
def test_batches(dyn, method):
    given = states(dyn, 5)
    batch = getattr(dyn, method)(*given)
    for row in range(5):
        single = getattr(dyn, method)(*(each[row] for each in given))
        for actual, expected in zip(batch, single):
            # of forward dynamics, two orders of summation differ by the condition of M
            assert_close(actual[row], expected, amplified(dyn.mass_matrix(given[0][row])))
    empty = getattr(dyn, method)(*(each[:0] for each in given))
    assert [part.shape for part in empty] == [(0, dyn.nv, dyn.nv)] * 3


@pytest.mark.parametrize('name', ['arm', 'tied'])
def test_machine_code_equals_python(name):
    compiled = make(name)
    python = Dynamics(compiled.model, backend='python')
    given = states(compiled)
    for method in ('inverse_dynamics_derivatives', 'forward_dynamics_derivatives'):
        for actual, expected in zip(getattr(compiled, method)(*given),
                                    getattr(python, method)(*given)):
            assert_close(actual, expected, 1e-9)


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


def test_wrong_arguments_are_named():
    dyn = make('slides')
    good, bad = np.zeros(dyn.nv), np.zeros(dyn.nv + 1)
    with pytest.raises(ArgumentError, match='^qdd '):
        dyn.inverse_dynamics_derivatives(good, good, bad)
    with pytest.raises(ArgumentError, match='^tau '):
        dyn.forward_dynamics_derivatives(good, good, bad)


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
