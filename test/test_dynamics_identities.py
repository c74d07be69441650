"""
Identities between all calls, on whatever robot hypothesis finds.

Exact to round-off: each side is computed in another way. Python floats, so that nothing has to
be compiled for a robot that is looked at once; `test_dynamics_backends` ties machine code to it.
"""

from analysed_robots import EXACT, GRAVITY, last_link, make, states, TEXTS
from hypothesis import given, settings, strategies
import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from tolerance import assert_close

chance = strategies.sampled_from([0.0, 0.3, 0.7])
mixtures = strategies.builds(
    Mixture, prismatic=chance, continuous=chance, fixed=chance, branching=chance, aligned=chance,
    mimic=strategies.sampled_from([0.0, 0.0, 0.3]))
robots = strategies.builds(random_tree, strategies.integers(0, 999), strategies.integers(1, 7),
                           mixtures)


def on_any_robot(test):
    """Run a test on (dynamics, q, qd, qdd) of random robots, a payload on the last link."""
    @settings(max_examples=50, deadline=None, derandomize=True)
    @given(robots, strategies.integers(0, 999))
    def found(text, seed):
        model = RobotModel.from_urdf(text, gravity=GRAVITY)
        model = model.with_payload(last_link(model), 0.8, (0.05, -0.1, 0.2), 0.01 * np.eye(3))
        dyn = Dynamics(model, backend='python')
        test(dyn, *(each[0] for each in states(dyn, 1, seed)))

    # not `wraps`, which would show pytest the arguments of the test as fixtures
    found.__name__, found.__doc__ = test.__name__, test.__doc__
    return found


def largest(*arrays):
    return max(np.max(np.abs(each)) for each in arrays)


@on_any_robot
def test_equation_of_motion_is_the_sum_of_its_terms(dyn, q, qd, qdd):
    M, C, gravity = dyn.mass_matrix(q), dyn.coriolis_matrix(q, qd), dyn.gravity(q)
    centrifugal, coriolis = dyn.velocity_forces(q, qd)
    tau = dyn.inverse_dynamics(q, qd, qdd)
    size = largest(M @ qdd, C @ qd, gravity, tau)
    assert_close(M @ qdd + C @ qd + gravity, tau, EXACT, size)
    assert_close(M @ qdd + centrifugal + coriolis + gravity, tau, EXACT, size)
    assert_close(np.einsum('ijk,j,k', dyn.christoffel(q), qd, qd), C @ qd, EXACT, size)
    assert_close(dyn.regressor(q, qd, qdd) @ dyn.parameters, tau, EXACT, size)


@on_any_robot
def test_power_of_the_motors_is_the_change_of_energy(dyn, q, qd, qdd):
    """Check tau . qd = d/dt (K + U), with dM/dt = C + C^T and dU/dq = g."""
    M, C = dyn.mass_matrix(q), dyn.coriolis_matrix(q, qd)
    kinetic = qd @ M @ qdd + 0.5 * qd @ (C + C.T) @ qd
    potential = dyn.gravity(q) @ qd
    power = dyn.inverse_dynamics(q, qd, qdd) @ qd
    terms = largest(kinetic, potential, np.abs(qd) @ np.abs(M) @ np.abs(qdd))
    assert_close(kinetic + potential, power, EXACT, terms)


@on_any_robot
def test_derivatives_undo_each_other(dyn, q, qd, qdd):
    """Check dtau/dx + M dqdd/dx = 0: torque stays where the acceleration follows."""
    by_q, by_qd, M = dyn.inverse_dynamics_derivatives(q, qd, qdd)
    tau = dyn.inverse_dynamics(q, qd, qdd)
    qdd_q, qdd_qd, inverse = dyn.forward_dynamics_derivatives(q, qd, tau)
    loss = max(1.0, 0.1 * np.linalg.cond(M))
    for actual, expected in (
            (-M @ qdd_q, by_q), (-M @ qdd_qd, by_qd), (M @ inverse, np.eye(dyn.nv))):
        assert_close(actual, expected, EXACT * loss, max(1.0, largest(by_q)))
    assert_close(by_qd, 2 * dyn.coriolis_matrix(q, qd), EXACT, largest(by_qd, M))


@on_any_robot
def test_push_of_a_link_meets_its_effective_mass(dyn, q, qd, qdd):
    """Check J M^-1 J^T Lambda J = J in the directions that the joints can move the link in."""
    link = last_link(dyn.model)
    J, M = dyn.jacobian(q, link)[:3], dyn.mass_matrix(q)
    matrix, masses, axes = dyn.effective_mass(q, link)
    finite = np.isfinite(masses)
    if np.count_nonzero(finite) and masses[finite].max() > 1e5 * masses.min():
        return  # next to a singularity digits are lost
    loss = max(1.0, 0.1 * np.linalg.cond(M)) * 1e2
    mobility = J @ np.linalg.solve(M, J.T)
    assert_close(mobility @ matrix @ J, J, EXACT * loss, 1.0)
    heavy = axes[:, ~finite]
    assert_close(heavy.T @ J, np.zeros((heavy.shape[1], dyn.nv)), EXACT * loss, 1e3)


@on_any_robot
def test_twist_and_wrench_are_dual(dyn, q, qd, qdd):
    """Check that the power of a wrench on a link is the same seen from the joints."""
    link, wrench = last_link(dyn.model), np.array([1.0, -2.0, 3.0, 0.5, -0.4, 0.3])
    free = dyn.inverse_dynamics(q, qd, qdd)
    held = dyn.inverse_dynamics(q, qd, qdd, {link: wrench})
    twist = dyn.jacobian(q, link) @ qd
    assert_close((free - held) @ qd, wrench @ twist, EXACT, largest(free) * largest(qd) * dyn.nv)


@on_any_robot
def test_batches_of_all_calls_are_their_single_calls(dyn, q, qd, qdd):
    link = last_link(dyn.model)
    batch = [np.stack([x, -x, 0.5 * x]) for x in (q, qd, qdd)]
    for name, count, rest in (
            ('christoffel', 1, ()), ('velocity_forces', 2, ()), ('coriolis_matrix', 2, ()),
            ('inverse_dynamics_derivatives', 3, ()), ('regressor', 3, ()),
            ('jacobian_dot_qd', 2, (link,))):
        result = getattr(dyn, name)(*batch[:count], *rest)
        for row in range(3):
            single = getattr(dyn, name)(*(each[row] for each in batch[:count]), *rest)
            several = isinstance(result, tuple) or name == 'inverse_dynamics_derivatives'
            for part, expected in zip(*(x if several else (x,) for x in (result, single))):
                assert_close(part[row], expected, EXACT)


@pytest.mark.parametrize('name', ['slides', 'tree', 'tied'])
def test_base_parameters_depend_on_the_mount_and_not_on_the_load(name):
    loaded = make(name)
    bare = Dynamics(RobotModel.from_urdf(TEXTS[name], gravity=GRAVITY), backend='python')
    columns, projection = loaded.base_parameters()
    assert np.array_equal(columns, bare.base_parameters().columns)
    assert_close(projection, bare.base_parameters().projection, 1e-8)
    # the load shows in the values: by as much as the torque differs
    change = projection @ (loaded.parameters - bare.parameters)
    for q, qd, qdd in zip(*states(loaded)):
        torque = loaded.inverse_dynamics(q, qd, qdd) - bare.inverse_dynamics(q, qd, qdd)
        assert_close(loaded.regressor(q, qd, qdd)[:, columns] @ change, torque, 1e-9)
