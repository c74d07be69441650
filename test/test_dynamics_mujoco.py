"""
The dynamics of real robots against MuJoCo.

MuJoCo keeps rotations as quaternions and inertias by their principal axes: each link costs a few
more roundings than a matrix product. Nothing is regularised, so round-off is all that is left,
some 1e-14 of the size of the result for the largest robots; 1e-12 has two digits of margin.
"""

import numpy as np
import pytest
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from tolerance import assert_close

pytest.importorskip('pinocchio')  # brings the robots
pytest.importorskip('mujoco')
from mujoco_oracle import mujoco, MujocoOracle  # noqa: E402, I100, I202 (needs MuJoCo)
from oracle import robot_files  # noqa: E402, I100, I202 (needs Pinocchio)

TOLERANCE = 1e-12
LARGEST_COMPILED, STATES, FEW_STATES = 8, 20, 3
TILTED = (1.5, -3.0, -9.0)
# all that MuJoCo takes: it refuses inertias that are no mass distribution's, and massless bodies
ROBOTS = (
    'TwoDofs', 'double_pendulum_continuous', 'borinot_flying_arm_2', 'iris',
    'hextilt_flying_arm_5', 'kinova', 'ur5_robot', 'ur10_joint_limited_robot', 'ur3_gripper',
    'so101', 'bolt', 'xarm7', 'z1', 'talos_left_arm', 'panda', 'solo', 'quadruped', 'go2',
    'baxter', 'tiago_pro', 'g1_29dof_rev_1_0', 'simple_humanoid', 'centauro', 'talos_full_v2',
    'g1_29dof_with_hand_rev_1_0')


class Case:
    """A robot on both sides, the states to compare them in and a link far out."""

    def __init__(self, text):
        self.model = RobotModel.from_urdf(text, gravity=TILTED)
        self.oracle = MujocoOracle(text, self.model.joint_names, TILTED)
        compiled = self.model.nb <= LARGEST_COMPILED
        self.dyn = Dynamics(self.model, backend='compiled' if compiled else 'python')
        names = {self.oracle.model.body(i).name for i in range(self.oracle.model.nbody)}
        self.link = [link for link in self.model.links if link in names][-1]
        rng = np.random.default_rng(81)
        lower, upper = np.clip(self.model.lower, -8, 8), np.clip(self.model.upper, -8, 8)
        shape = STATES if compiled else FEW_STATES, self.model.nv
        self.states = list(zip(rng.uniform(lower, upper, shape), *rng.uniform(-2, 2, (2, *shape))))


@pytest.fixture(params=ROBOTS, scope='module')
def case(request):
    files = robot_files()
    if request.param not in files:
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    return Case(files[request.param].read_text())


def test_forces(case):
    dyn, oracle = case.dyn, case.oracle
    for q, qd, qdd in case.states:
        assert_close(dyn.inverse_dynamics(q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd),
                     TOLERANCE, what='torque')
        M = oracle.mass_matrix(q)
        size = np.max(np.abs(M))  # for rotors on balanced axes, whose torque is zero
        assert_close(dyn.bias(q, qd), oracle.bias(q, qd), TOLERANCE, size, 'bias')
        assert_close(dyn.gravity(q), oracle.bias(q, 0 * q), TOLERANCE, size, 'gravity')
        assert_close(dyn.mass_matrix(q), M, TOLERANCE, what='mass matrix')
        assert_close(dyn.kinetic_energy(q, qd), oracle.kinetic_energy(q, qd), TOLERANCE)


def test_accelerations(case):
    dyn, oracle = case.dyn, case.oracle
    if case.model.nb > case.model.nv:
        pytest.skip('MuJoCo ties mimic joints by forces of its own')
    wrench = np.array([5.0, -3.0, 8.0, 0.4, 0.2, -0.6])
    for q, qd, tau in case.states:
        condition = np.linalg.cond(oracle.mass_matrix(q))
        # a solve amplifies round-off by the condition number, and tau - bias cancels
        amplified = max(100 * TOLERANCE, 1e-14 * condition)
        actual = dyn.forward_dynamics(q, qd, tau, {case.link: wrench})
        expected = oracle.forward_dynamics(q, qd, tau, case.link, wrench)
        assert_close(actual, expected, amplified, what='acceleration')


def test_links(case):
    dyn, oracle, link = case.dyn, case.oracle, case.link
    for q, qd, _ in case.states:
        assert_close(
            dyn.forward_kinematics(q, link), oracle.forward_kinematics(q, link), TOLERANCE)
        assert_close(dyn.jacobian(q, link), oracle.jacobian(q, link), TOLERANCE, 1.0)
        assert_close(dyn.jacobian_dot_qd(q, qd, link), oracle.jacobian_dot_qd(q, qd, link),
                     TOLERANCE, 1.0)


@pytest.mark.parametrize('name', ['ur5_robot', 'z1', 'kinova'])
def test_steps_lead_where_mujoco_goes(name):
    """Half a second of fall: ours is of second order, MuJoCo's Runge-Kutta the truth."""
    if name not in robot_files():
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    case = Case(robot_files()[name].read_text())
    oracle, start = case.oracle, case.states[0][0]
    data = oracle.put(start)
    oracle.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    oracle.model.opt.timestep = 1e-4
    for _ in range(5000):
        mujoco.mj_step(oracle.model, data)
    truth = np.concatenate([oracle.coupling.T @ data.qpos, oracle.coupling.T @ data.qvel])

    def error(step):
        free = {'friction': 0.0, 'damping': 0.0, 'lower': -np.inf, 'upper': np.inf}
        plant = Plant(case.model, step, case.dyn, **free)
        plant.reset(start)
        for _ in range(round(0.5 / step)):
            assert plant.step(np.zeros(plant.nv)), plant.fault
        return np.max(np.abs(np.concatenate([plant.q, plant.qd]) - truth))

    coarse, fine = error(1e-3), error(5e-4)
    assert fine < 3e-3 * np.max(np.abs(truth))
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.2)
