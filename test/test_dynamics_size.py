"""
Robots of any length: code that is compiled while that pays, the same text on floats beyond.

The judge is MuJoCo: Pinocchio's data for second derivatives grow with the cube of the joints, to
gigabytes here. Nothing is timed, but what should take seconds has a deadline of minutes.
"""

import warnings

import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from tolerance import assert_close

CHAIN = Mixture(branching=0.0, prismatic=0.2, fixed=0.0, empty=0.0)
GRAVITY = (0.8, -2.0, -9.0)
# a thousand roundings in a row, each 1e-16 of what has piled up
EXACT = 1e-12


def chain(joints):
    return random_tree(91, joints, CHAIN)


def state(joints):
    return np.random.default_rng(92).uniform(-1.0, 1.0, (3, joints))


@pytest.fixture(scope='module')
def thousand():
    with pytest.warns(RuntimeWarning, match='1000 moving bodies, more than 150: all algorithms '
                                            'run in Python'):
        return Dynamics(RobotModel.from_urdf(chain(1000), gravity=GRAVITY))


def test_a_thousand_joints_are_not_compiled(thousand):
    assert not thousand.compiled


def test_what_is_too_large_to_be_compiled_is_named():
    model = RobotModel.from_urdf(chain(81))
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # requested by name, or within what is compiled
        for dyn in (Dynamics(model, backend='python'), Dynamics(model)):
            assert dyn.compiled == (dyn.backend == 'auto')
    q, qd, _ = state(81)
    with pytest.warns(RuntimeWarning, match='81 moving bodies, more than 80: coriolis_matrix run'):
        C = dyn.coriolis_matrix(q, qd)
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # once is enough
        assert_close(dyn.coriolis_matrix(q, qd), C, EXACT)


def test_a_thousand_joints(thousand):
    """Check recursions by identities that need no other library."""
    q, qd, qdd = state(1000)
    tau = thousand.inverse_dynamics(q, qd, qdd)
    assert_close(thousand.forward_dynamics(q, qd, tau), qdd, 1e-6)
    link = thousand.model.body_names[-1]
    step = 1e-6 * qd
    change = (thousand.forward_kinematics(q + step, link)
              - thousand.forward_kinematics(q - step, link))[:3, 3] / 2e-6
    assert_close(thousand.jacobian(q, link)[:3] @ qd, change, 1e-6)
    power = (thousand.potential_energy(q + step) - thousand.potential_energy(q - step)) / 2e-6
    assert_close(thousand.gravity(q) @ qd, power, 1e-5)
    assert_close(thousand.inverse_dynamics(q, 0 * q, 0 * q), thousand.gravity(q), EXACT)
    batch = thousand.bias(np.stack([q, 2 * q]), qd)
    assert_close(batch[0], thousand.bias(q, qd), EXACT)


@pytest.mark.slow
def test_a_thousand_joints_against_mujoco(thousand):
    pytest.importorskip('pinocchio')  # beside whose robots the oracle is written
    pytest.importorskip('mujoco')
    from mujoco_oracle import MujocoOracle
    oracle = MujocoOracle(chain(1000), thousand.model.joint_names, GRAVITY)
    q, qd, qdd = state(1000)
    link = thousand.model.body_names[-1]
    for actual, expected in (
            (thousand.inverse_dynamics(q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd)),
            (thousand.gravity(q), oracle.bias(q, 0 * q)),
            (thousand.mass_matrix(q), oracle.mass_matrix(q)),
            (thousand.forward_kinematics(q, link), oracle.forward_kinematics(q, link)),
            (thousand.jacobian(q, link), oracle.jacobian(q, link))):
        assert_close(actual, expected, EXACT)
    # M has a condition of 1e8: so many digits are lost on either side
    assert_close(thousand.forward_dynamics(q, qd, qdd),
                 oracle.forward_dynamics(q, qd, qdd, link, np.zeros(6)), 1e-6)


@pytest.mark.slow
def test_matrices_of_a_thousand_joints(thousand):
    q, qd, qdd = state(1000)
    by_q, by_qd, M = thousand.inverse_dynamics_derivatives(q, qd, qdd)
    assert_close(M, thousand.mass_matrix(q), EXACT)
    C = thousand.coriolis_matrix(q, qd)
    size = np.max(np.abs(by_qd))
    assert_close(2 * C, by_qd, EXACT, size)
    assert_close(C @ qd, thousand.bias(q, qd) - thousand.gravity(q), EXACT, 10 * size)
    step = 1e-6 * np.ones(1000)
    change = (thousand.inverse_dynamics(q + step, qd, qdd)
              - thousand.inverse_dynamics(q - step, qd, qdd)) / 2e-6
    assert_close(by_q @ np.ones(1000), change, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize('joints', [30, 60])
def test_backends_agree_on_long_chains(joints, tmp_path):
    model = RobotModel.from_urdf(chain(joints), gravity=GRAVITY)
    python = Dynamics(model, backend='python')
    q, qd, qdd = state(joints)
    for again in range(2):  # compiled, then loaded
        compiled = Dynamics(model, cache=tmp_path)
        assert compiled.compiled
        for name, given in (('inverse_dynamics', (q, qd, qdd)), ('gravity', (q,)),
                            ('mass_matrix', (q,)), ('center_of_mass', (q,))):
            assert_close(getattr(compiled, name)(*given), getattr(python, name)(*given), EXACT)
        tau = compiled.inverse_dynamics(q, qd, qdd)
        assert_close(compiled.forward_dynamics(q, qd, tau), qdd, 1e-7)
        if again:
            continue
        entries = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == entries
