"""The Coriolis matrix, the Christoffel symbols and the two parts of the velocity forces."""

from analysed_robots import DIFFERENCE, EXACT, GRAVITY, make, slopes, states, TEXTS
import numpy as np
import pytest
import reference_systems as systems
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from tolerance import assert_close


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


def test_batches(dyn):
    q, qd, _ = states(dyn, 5)
    size = np.max(np.abs(dyn.mass_matrix(q)))
    centrifugal, coriolis = dyn.velocity_forces(q, qd)
    for row in range(5):
        assert_close(dyn.christoffel(q)[row], dyn.christoffel(q[row]), EXACT, size)
        assert_close(
            dyn.coriolis_matrix(q, qd)[row], dyn.coriolis_matrix(q[row], qd[row]), EXACT, size)
        single = dyn.velocity_forces(q[row], qd[row])
        assert_close((centrifugal[row], coriolis[row]), single, EXACT, size)
    assert dyn.christoffel(q[:0]).shape == (0, dyn.nv, dyn.nv, dyn.nv)


@pytest.mark.parametrize('name', ['arm', 'tied'])
def test_machine_code_equals_python(name):
    compiled = make(name)
    python = Dynamics(compiled.model, backend='python')
    q, qd, _ = states(compiled)
    assert_close(compiled.coriolis_matrix(q, qd), python.coriolis_matrix(q, qd), EXACT)
    assert_close(compiled.christoffel(q), python.christoffel(q), EXACT)


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


def test_wrong_arguments_are_named():
    dyn = make('slides')
    good, bad = np.zeros(dyn.nv), np.zeros(dyn.nv + 1)
    for call, name in ((lambda: dyn.christoffel(bad), 'q '),
                       (lambda: dyn.velocity_forces(good, bad), 'qd '),
                       (lambda: dyn.coriolis_matrix(good, bad), 'qd ')):
        with pytest.raises(ArgumentError, match=f'^{name}'):
            call()
