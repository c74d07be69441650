"""
The dynamics of real robots and of random trees against Pinocchio.

Both sides do the same sums in another order, so they differ by rounding only: some 1e-15 of the
size of the result for an arm, 2e-14 for a hundred joints. 1e-12 has two digits of margin.
"""

import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from tolerance import assert_close

pytest.importorskip('pinocchio')
from oracle import Oracle, robot_files  # noqa: E402, I100, I202 (needs Pinocchio)

TOLERANCE = 1e-12
STATES = 100
# Straight-line code of a large robot takes seconds to compile, more so if nothing about it is
# aligned; there the same text runs on Python floats, on fewer states.
LARGEST_COMPILED_ROBOT, LARGEST_COMPILED_TREE = 12, 7
FEW_STATES = 4
# these large ones are compiled all the same: 17, 32 and 43 joints
COMPILED_ANYWAY = ('baxter', 'icub', 'g1_29dof_with_hand_rev_1_0')

ROBOTS = (
    'TwoDofs', 'double_pendulum_continuous', 'borinot_flying_arm_2', 'finger_edu', 'iris',
    'hextilt_flying_arm_5', 'kinova', 'ur5_robot', 'ur10_joint_limited_robot', 'ur3_gripper',
    'so101', 'bolt', 'xarm7', 'z1', 'talos_left_arm', 'panda', 'solo', 'quadruped',
    'allegro_right_hand', 'anymal', 'go2', 'tiago_no_hand', 'b1-z1', 'baxter', 'tiago_pro', 'pr2',
    'anymal-kinova', 'g1_29dof_rev_1_0', 'simple_humanoid', 'icub', 'romeo', 'human', 'centauro',
    'talos_full_v2', 'g1_29dof_with_hand_rev_1_0', 'tiago', 'tiago_dual')
FREE, TIED = Mixture(), Mixture(mimic=0.3)
TREES = {
    f'{name}{joints}-{seed}': (seed, joints, mixture)
    for name, mixture in (('tree', FREE), ('tied', TIED))
    for seed, joints in enumerate((1, 2, 3, 4, 5, 6, 7, 7, 12, 24, 40))
    if joints > 1 or mixture is FREE}
TILTED = (1.5, -3.0, -9.0)
UPRIGHT = (0.0, 0.0, -9.81)


class Case:
    """A robot on both sides, the states to compare them in and some of its links."""

    def __init__(self, text, gravity, largest_compiled):
        self.model = RobotModel.from_urdf(text, gravity=gravity)
        self.oracle = Oracle(text, self.model.joint_names, gravity)
        compiled = self.model.nb <= largest_compiled
        self.dyn = Dynamics(self.model, backend='compiled' if compiled else 'python')
        links = list(self.model.links)
        self.links = [links[i] for i in np.linspace(1, len(links) - 1, 3).astype(int)]
        self.states = list(self._states(STATES if compiled else FEW_STATES))

    def _states(self, count):
        """Positions within the limits (continuous joints turn more than once), qd and qdd."""
        rng = np.random.default_rng(11)
        lower, upper = np.clip(self.model.lower, -8, 8), np.clip(self.model.upper, -8, 8)
        for _ in range(count):
            q = lower + (upper - lower) * rng.random(self.model.nv)
            yield q, *rng.uniform(-2, 2, (2, self.model.nv))


@pytest.fixture(params=ROBOTS + tuple(TREES), scope='module')
def case(request):
    if request.param in TREES:
        return Case(random_tree(*TREES[request.param]), TILTED, LARGEST_COMPILED_TREE)
    files = robot_files()
    if request.param not in files:
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    largest = 99 if request.param in COMPILED_ANYWAY else LARGEST_COMPILED_ROBOT
    return Case(files[request.param].read_text(), UPRIGHT, largest)


def test_joint_torques(case):
    dyn, oracle = case.dyn, case.oracle
    for q, qd, qdd in case.states:
        tau = oracle.inverse_dynamics(q, qd, qdd)
        assert_close(dyn.inverse_dynamics(q, qd, qdd), tau, TOLERANCE, what='torque')
        assert_close(dyn.gravity(q), oracle.gravity(q), TOLERANCE, what='gravity')
        assert_close(dyn.bias(q, qd), oracle.bias(q, qd), TOLERANCE, what='bias')


def test_mass_matrix_and_forward_dynamics(case):
    dyn, oracle = case.dyn, case.oracle
    for q, qd, qdd in case.states:
        mass_matrix = oracle.mass_matrix(q)
        assert_close(dyn.mass_matrix(q), mass_matrix, TOLERANCE, what='mass matrix')
        condition = np.linalg.cond(mass_matrix)
        if condition > 1e12:
            continue  # a joint that moves nothing: its acceleration is 0/0
        # A solve amplifies round-off by the condition number, and tau - bias cancels.
        amplified = max(100 * TOLERANCE, 1e-14 * condition)
        tau = oracle.inverse_dynamics(q, qd, qdd)
        actual = dyn.forward_dynamics(q, qd, tau)
        assert_close(actual, oracle.forward_dynamics(q, qd, tau), amplified, what='acceleration')
        # What is left of the equation of motion is free of that amplification.
        residual = mass_matrix @ actual + oracle.bias(q, qd)
        assert_close(residual, tau, TOLERANCE, what='torque of the acceleration')


def test_external_wrenches(case):
    dyn, oracle = case.dyn, case.oracle
    rng = np.random.default_rng(12)
    for q, qd, qdd in case.states[:20]:
        wrenches = {link: rng.uniform(-10, 10, 6) for link in rng.choice(case.links, 2, False)}
        tau = oracle.inverse_dynamics(q, qd, qdd, wrenches)
        size = np.max(np.abs(oracle.inverse_dynamics(q, qd, qdd) - tau))
        assert_close(
            dyn.inverse_dynamics(q, qd, qdd, wrenches), tau, TOLERANCE, size, 'torque')
        if np.linalg.cond(oracle.mass_matrix(q)) < 1e12:
            actual = dyn.forward_dynamics(q, qd, tau, wrenches)
            assert_close(
                oracle.inverse_dynamics(q, qd, actual, wrenches), tau, TOLERANCE, size,
                'torque of the acceleration')


def test_links(case):
    dyn, oracle = case.dyn, case.oracle
    for q, qd, _ in case.states:
        for link in case.links:
            assert_close(
                dyn.forward_kinematics(q, link), oracle.forward_kinematics(q, link), TOLERANCE)
            assert_close(dyn.jacobian(q, link), oracle.jacobian(q, link), TOLERANCE, 1.0)
            assert_close(
                dyn.jacobian_dot_qd(q, qd, link), oracle.jacobian_dot_qd(q, qd, link), TOLERANCE,
                1.0)


def test_energies_and_centre_of_mass(case):
    dyn, oracle = case.dyn, case.oracle
    # Heights are measured from the base and may cancel: compared with a tenth of a metre.
    weight = np.linalg.norm(case.model.gravity) * case.model.mass.sum()
    for q, qd, _ in case.states:
        assert_close(dyn.kinetic_energy(q, qd), oracle.kinetic_energy(q, qd), TOLERANCE)
        assert_close(
            dyn.potential_energy(q), oracle.potential_energy(q), TOLERANCE, 0.1 * weight)
        assert_close(dyn.center_of_mass(q), oracle.center_of_mass(q), TOLERANCE, 0.1)


def test_large_tree_compiled():
    case = Case(random_tree(*TREES['tree12-8']), TILTED, largest_compiled=100)
    test_joint_torques(case)
    test_mass_matrix_and_forward_dynamics(case)
