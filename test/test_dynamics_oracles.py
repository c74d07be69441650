"""
The dynamics of real robots and of random trees against Pinocchio, and of robots against MuJoCo.

Pinocchio does the same sums in another order, so it differs by rounding only: some 1e-15 of the
size of the result for an arm, 2e-14 for a hundred joints. MuJoCo keeps rotations as quaternions
and inertias by their principal axes: each link costs a few more roundings than a matrix product.
Nothing is regularised; 1e-12 has two digits of margin for both.
"""

import numpy as np
import pytest
from random_trees import Mixture, random_tree
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import Plant
from tolerance import assert_close

pytest.importorskip('pinocchio')  # brings the robots, too
from oracle import Oracle, robot_files  # noqa: E402, I100, I202 (needs Pinocchio)

try:
    from mujoco_oracle import mujoco, MujocoOracle
except pytest.skip.Exception as missing:
    NO_MUJOCO = str(missing)
else:
    NO_MUJOCO = ''

TOLERANCE = 1e-12
# Straight-line code of a large robot takes seconds to compile, more so if nothing about it is
# aligned; there the same text runs on Python floats, on fewer states.
LARGEST_COMPILED_ROBOT, LARGEST_COMPILED_TREE = 12, 7
STATES, FEW_STATES = 100, 4
# these large ones are compiled all the same: 17, 32 and 43 joints
COMPILED_ANYWAY = ('baxter', 'icub', 'g1_29dof_with_hand_rev_1_0')
BOTH = (
    'TwoDofs', 'double_pendulum_continuous', 'borinot_flying_arm_2', 'iris',
    'hextilt_flying_arm_5', 'kinova', 'ur5_robot', 'ur10_joint_limited_robot', 'ur3_gripper',
    'so101', 'xarm7', 'z1', 'talos_left_arm', 'panda', 'solo', 'quadruped', 'go2', 'baxter',
    'tiago_pro', 'g1_29dof_rev_1_0', 'simple_humanoid', 'centauro', 'talos_full_v2',
    'g1_29dof_with_hand_rev_1_0')
# MuJoCo refuses inertias that are no mass distribution's, and massless bodies
PINOCCHIO = (
    *BOTH, 'finger_edu', 'allegro_right_hand', 'anymal', 'tiago_no_hand', 'b1-z1', 'pr2',
    'anymal-kinova', 'icub', 'romeo', 'human', 'tiago', 'tiago_dual')
MUJOCO = (*BOTH, 'bolt')
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

    def __init__(self, text, gravity, largest_compiled, oracle=Oracle, states=STATES):
        self.model = RobotModel.from_urdf(text, gravity=gravity)
        self.oracle = oracle(text, self.model.joint_names, gravity)
        compiled = self.model.nb <= largest_compiled
        self.dyn = Dynamics(self.model, backend='compiled' if compiled else 'python')
        links = list(self.model.links)
        self.links = [links[i] for i in np.linspace(1, len(links) - 1, 3).astype(int)]
        self.states = list(self._states(states if compiled else FEW_STATES))

    def _states(self, count):
        """Positions within the limits (continuous joints turn more than once), qd and qdd."""
        rng = np.random.default_rng(11)
        lower, upper = np.clip(self.model.lower, -8, 8), np.clip(self.model.upper, -8, 8)
        for _ in range(count):
            q = lower + (upper - lower) * rng.random(self.model.nv)
            yield q, *rng.uniform(-2, 2, (2, self.model.nv))


def text_of(robot):
    files = robot_files()
    if robot not in files:
        pytest.skip('example_robot_data is not installed, or lacks this robot')
    return files[robot].read_text()


def made(oracle, robot):
    """Return a robot beside an oracle; random trees are known to Pinocchio alone."""
    if oracle == 'mujoco':
        if NO_MUJOCO:
            pytest.skip(NO_MUJOCO)
        return Case(text_of(robot), TILTED, 8, MujocoOracle, 20)
    if robot in TREES:
        return Case(random_tree(*TREES[robot]), TILTED, LARGEST_COMPILED_TREE)
    return Case(text_of(robot), UPRIGHT, 99 if robot in COMPILED_ANYWAY
                else LARGEST_COMPILED_ROBOT)


CASES = [*(('pinocchio', name) for name in (*PINOCCHIO, *TREES)),
         *(('mujoco', name) for name in MUJOCO)]


@pytest.fixture(scope='module', params=CASES, ids='-'.join)
def case(request):
    return made(*request.param)


def check_forces(case):
    dyn, oracle = case.dyn, case.oracle
    for q, qd, qdd in case.states:
        M = oracle.mass_matrix(q)
        # MuJoCo's rotors on balanced axes have a torque that is zero but for rounding
        size = 0.0 if isinstance(oracle, Oracle) else np.max(np.abs(M))
        assert_close(dyn.inverse_dynamics(q, qd, qdd), oracle.inverse_dynamics(q, qd, qdd),
                     TOLERANCE, what='torque')
        assert_close(dyn.bias(q, qd), oracle.bias(q, qd), TOLERANCE, size, 'bias')
        assert_close(dyn.gravity(q), oracle.bias(q, 0 * q), TOLERANCE, size, 'gravity')
        assert_close(dyn.mass_matrix(q), M, TOLERANCE, what='mass matrix')
        assert_close(dyn.kinetic_energy(q, qd), oracle.kinetic_energy(q, qd), TOLERANCE)


def check_forward_dynamics(case):
    dyn, oracle = case.dyn, case.oracle
    if case.model.nb > case.model.nv and not isinstance(oracle, Oracle):
        pytest.skip('MuJoCo ties mimic joints by forces of its own')
    rng = np.random.default_rng(12)
    for q, qd, qdd in case.states:
        mass_matrix, bias = oracle.mass_matrix(q), oracle.bias(q, qd)
        condition = np.linalg.cond(mass_matrix)
        # a solve amplifies round-off by the condition number, and tau - bias cancels
        amplified = max(100 * TOLERANCE, 1e-14 * condition)
        wrenches = {link: rng.uniform(-10, 10, 6) for link in rng.choice(case.links, 2, False)}
        for given in ({}, wrenches):
            push = sum((oracle.jacobian(q, link).T @ wrench for link, wrench in given.items()),
                       np.zeros(len(q)))
            tau = oracle.inverse_dynamics(q, qd, qdd) - push
            size = np.max(np.abs(push), initial=0.0)
            assert_close(dyn.inverse_dynamics(q, qd, qdd, given), tau, TOLERANCE, size, 'torque')
            if condition > 1e12:
                continue  # a joint that moves nothing: its acceleration is 0/0
            actual = dyn.forward_dynamics(q, qd, tau, given)
            expected = oracle.forward_dynamics(q, qd, tau, given)
            # torque and push cancel, too: by the size of what either alone accelerates
            alone = np.max(np.abs(np.linalg.solve(mass_matrix, push)))
            assert_close(actual, expected, amplified, alone, 'acceleration')
            # what is left of the equation of motion is free of that amplification
            assert_close(mass_matrix @ actual + bias - push, tau, TOLERANCE, size,
                         'torque of the acceleration')


def check_heights(case):
    dyn, oracle = case.dyn, case.oracle
    # heights are measured from the base and may cancel: compared with a tenth of a metre
    weight = np.linalg.norm(case.model.gravity) * case.model.mass.sum()
    for q, _, _ in case.states:
        assert_close(
            dyn.potential_energy(q), oracle.potential_energy(q), TOLERANCE, 0.1 * weight)
        assert_close(dyn.center_of_mass(q), oracle.center_of_mass(q), TOLERANCE, 0.1)


def test_forces_and_energies(case):
    check_forces(case)
    if isinstance(case.oracle, Oracle):  # MuJoCo counts bodies that do not move
        check_heights(case)


def test_forward_dynamics_and_external_wrenches(case):
    check_forward_dynamics(case)


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


def test_large_tree_compiled():
    case = Case(random_tree(*TREES['tree12-8']), TILTED, largest_compiled=100)
    check_forces(case)
    check_forward_dynamics(case)


@pytest.mark.parametrize('name', ['ur5_robot', 'z1', 'kinova'])
def test_steps_lead_where_mujoco_goes(name):
    """Half a second of fall: ours is of second order, MuJoCo's Runge-Kutta the truth."""
    case = made('mujoco', name)
    oracle, model = case.oracle, case.model
    start = np.random.default_rng(81).uniform(np.maximum(model.lower, -8.0),
                                              np.minimum(model.upper, 8.0))
    data = oracle.put(start)
    oracle.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    oracle.model.opt.timestep = 1e-4
    for _ in range(5000):
        mujoco.mj_step(oracle.model, data)
    truth = np.concatenate([oracle.coupling.T @ data.qpos, oracle.coupling.T @ data.qvel])

    def error(step):
        free = {'friction': 0.0, 'damping': 0.0, 'lower': -np.inf, 'upper': np.inf}
        plant = Plant(model, step, case.dyn, **free)
        plant.reset(start)
        for _ in range(round(0.5 / step)):
            assert plant.step(np.zeros(plant.nv)), plant.fault
        return np.max(np.abs(np.concatenate([plant.q, plant.qd]) - truth))

    coarse, fine = error(1e-3), error(5e-4)
    assert fine < 3e-3 * np.max(np.abs(truth))
    assert np.log2(coarse / fine) == pytest.approx(2.0, abs=0.2)
