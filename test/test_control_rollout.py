"""Control cycle and plant in one compiled loop: as step by step, and what ends a motion."""
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from robodyn_ros.control import ArmController, make_task_gains, Term
from robodyn_ros.control.blocks import Memory
from robodyn_ros.control.laws.table import TRACKING, tracking_terms
from robodyn_ros.control.rollout import RolloutCycle
from robodyn_ros.control.settings import Constraints
from robodyn_ros.control.steps import modes
from robodyn_ros.control.steps.laws import ARRAYS
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.exceptions import ArgumentError, ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.montecarlo.tracking import noise_of
from robodyn_ros.simulation import ClosedLoop, Plant, Spread
from robodyn_ros.simulation.spread import arms_of, draw
from robodyn_ros.simulation.step import Constants
from robodyn_ros.trajectory import Trajectory

from closed_loop import LAW_ALONE
from design import gains_with, settings_of

URDF = Path(__file__).resolve().parents[1] / 'urdf'
MODEL = RobotModel.from_urdf(URDF / 'robodyn7.urdf')
HOME = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
GOAL = HOME + 0.2 * np.array([1, -1, 1, -1, 1, -1, 1])
STEP, HOLD, FOLLOW = 1e-3, 150, 350
UNCHECKED = Constraints((0.0,), (0.0,), stopped_velocity_tolerance=0.0)
SPREAD = Spread(mass=0.1, com=0.01, friction=0.3, position_noise=1e-5, velocity_noise=1e-3,
                start=0.01)
EXACT = Spread(mass=0.0, com=0.0, friction=0.0)
MEASURED = {'observer__torque_source': 'measured'}  # so that the reported effort counts


def plan(start):
    return Trajectory.from_points([0.3], [GOAL], [0.0 * GOAL], [0.0 * GOAL], start=start)


class Arms:
    """Loops of one robot, by their settings."""

    def __init__(self):
        self.plant = Plant(MODEL, STEP)
        self.dynamics = self.plant.dynamics
        self.gains = gains_with(self.dynamics, natural_frequency=40.0, **LAW_ALONE)
        self.task_gains = make_task_gains(self.dynamics)

    def control(self, **settings):
        return ArmController(self.dynamics, settings_of(
            **{**LAW_ALONE, 'natural_frequency': 40.0, 'activation_time': 0.1,
               'constraints': UNCHECKED, **settings}))

    def loop(self, **settings):
        return ClosedLoop(self.plant, RolloutCycle(self.control(**settings)))

    def start(self, loop, spread=SPREAD, seed=0, numbers=range(3)):
        """Return runs before the first step, and a function that simulates steps of them."""
        samples = [draw(self.plant, spread, seed, number) for number in numbers]
        runs = loop.start(np.array([HOME + each.start for each in samples]),
                          *arms_of(self.plant, samples))
        runs.programs[:] = loop.controller.taken_over()
        rows = []
        return runs, lambda runs, steps, counted=False: loop.run(
            runs, noise_of(spread, samples, steps), rows, counted), rows

    def run(self, loop, spread=SPREAD, seed=0, numbers=range(3), change=None):
        """Return runs that hold, and then follow a trajectory to its end."""
        runs, advance, rows = self.start(loop, spread, seed, numbers)
        if change:
            change(runs)
        runs = advance(runs, HOLD)
        for program, memory in zip(runs.programs, runs.memories):
            loop.controller.follow(program, memory, plan, rows)
        return advance(runs, FOLLOW, True)


@pytest.fixture(scope='module')
def arms():
    return Arms()


def heavier(plant, phi):
    """Return the plant with other inertias, as a model of its own."""
    J = np.zeros((len(phi), 3, 3))
    J[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]] = phi[:, 4:]
    J += np.triu(J, 1).transpose(0, 2, 1) + np.tril(J, -1).transpose(0, 2, 1)
    return Plant(replace(MODEL, mass=phi[:, 0], first_moment=phi[:, 1:4], inertia=J), STEP)


class StepByStep:
    """One arm: controller and `Plant.step`, called from Python."""

    def __init__(self, arms, seed, number):
        sample = draw(arms.plant, SPREAD, seed, number)
        self.control, self.noise = arms.control(**MEASURED), sample.noise
        self.plant = heavier(arms.plant, sample.parameters)
        # stops as stiff as those of the model
        joints = Constants(*arms.plant.constants[:-1].reshape(-1, MODEL.nv).copy())
        for row in (joints.damping, joints.friction, joints.stiction, joints.bristle_stiffness):
            row *= sample.friction
        self.plant.constants[:-1] = np.ravel(joints)
        self.plant.q[:] = HOME + sample.start
        self.steps, self.log = 0, []

    def advance(self, steps):
        control, plant = self.control, self.plant
        noise = self.noise.standard_normal((steps, 2, MODEL.nv)) * [
            [SPREAD.position_noise], [SPREAD.velocity_noise]]
        for k in range(steps):
            now = (self.steps + k) * STEP
            q, qd, truth = plant.q + noise[k, 0], plant.qd + noise[k, 1], plant.q.copy()
            if not self.steps + k:
                control.activate(now, q, qd)
            torque = control.update(now, q, qd, plant.applied).copy()
            assert plant.step(torque), plant.fault
            self.log.append(SimpleNamespace(
                truth=truth, q=q, qd=qd, torque=torque, reference=control.reference.copy(),
                limit=control.terms[Term.LIMIT].copy()))
        self.steps += steps

    def follow(self):
        start_state = self.control.motions.start_state()
        assert self.control.motions.begin(start_state, plan(start_state.reference))


@pytest.fixture(scope='module')
def both_ways(arms):
    """Return runs in the loop, and one of them step by step."""
    loop, number = arms.loop(**MEASURED), 5
    runs = arms.run(loop, numbers=range(3, 7))
    alone = StepByStep(arms, 0, number)
    alone.advance(HOLD)
    alone.follow()
    alone.advance(FOLLOW)
    return loop, runs, alone


def test_the_loop_is_the_controller_and_steps(both_ways):
    loop, runs, alone = both_ways
    row, n, limit = 2, MODEL.nv, MODEL.effort_limit.max()
    np.testing.assert_allclose(loop.arms(runs.state)[row, :2 * n], alone.plant._state[:2 * n],
                               rtol=0.0, atol=1e-11)
    differences = blocks.differences(
        Memory, runs.memories[row], alone.control.host.values['memory'],
        alone.control.host.compiled.dimensions,
        lambda a, b: abs(a - b) <= 1e-9 * max(limit, abs(a)) or a == b)
    # an activation from Python ends external wrenches, of which there are none
    assert differences == ['external.clear: 0 and 1', 'target.clear: 0 and 1']
    counted = alone.log[HOLD:]
    error = np.array([each.truth - each.reference.q for each in counted])
    torque = np.array([each.torque for each in counted])
    # the last steps rest at the goal, and are no motion any more
    followed = round(0.3 / STEP) - 1
    found = loop.tracking(runs)
    assert found.steps[row] == followed
    np.testing.assert_allclose(found.rms[row], np.sqrt(np.mean(error[:followed] ** 2, 0)),
                               rtol=1e-9)
    np.testing.assert_allclose(found.peak[row], np.abs(error[:followed]).max(0), rtol=1e-9)
    np.testing.assert_allclose(found.torque[row], np.abs(torque[:followed]).max(0), rtol=1e-9)
    assert loop.good(runs).all()
    assert (loop.controller.endings(runs.memories).code == 0.0).all()


def test_the_torque_is_that_of_the_law_where_nothing_limits(both_ways, arms):
    alone = both_ways[2]
    gains, n = arms.gains, MODEL.nv
    law = TRACKING['computed_torque']
    checked = 0
    for each in alone.log[HOLD::10]:
        x = SimpleNamespace(**dict.fromkeys(ARRAYS, [0.0] * n))
        vars(x).update({name: values.tolist() for name, values in vars(gains).items()})
        vars(x).update(q=each.q.tolist(), qd=each.qd.tolist(), feedback_scale=[1.0],
                       limit=alone.control.bounds.usable.tolist())
        x.q_ref, x.qd_ref, x.qdd_ref, x.effort = (
            row.tolist() for row in each.reference.arrays)
        terms = tracking_terms(law, arms.dynamics.tree, arms.dynamics.runtime.tolist(), x)
        assert not each.limit.any()
        off = np.abs(np.sum(terms, axis=0) - each.torque) / MODEL.effort_limit
        assert (off < 1e-12).all()
        checked += 1
    assert checked == FOLLOW // 10


def test_a_run_depends_on_its_seed_and_number_alone(arms):
    loop = arms.loop()
    whole = arms.run(loop, seed=7, numbers=range(6))
    parts = [arms.run(loop, seed=7, numbers=numbers)
             for numbers in (range(3), range(3, 5), range(5, 6))]
    for name in ('state', 'memories'):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate(
            [getattr(part, name) for part in parts]))
    other = loop.tracking(arms.run(loop, seed=8, numbers=range(6)))
    assert (other.rms != loop.tracking(whole).rms).all()


def test_an_arm_like_the_model_stays_on_its_reference(arms):
    loop = arms.loop()
    runs = arms.run(loop, EXACT, numbers=range(1))
    found = loop.tracking(runs)
    # what is left is that a torque acts for a step of 1 ms, and friction that sticks
    assert (found.peak < 5e-3).all() and not found.cut.any()
    np.testing.assert_allclose(loop.arms(runs.state)[0, :MODEL.nv], GOAL, atol=2e-3)


# --- what ends a motion -------------------------------------------------------------------------

def load(runs, factor):
    """Let one arm have a last link that is heavier by a factor."""
    runs.constants[1, -11:-1] *= factor


def add_rotor(runs):
    """Let the last motor of one arm have an inertia that is not modelled; no gravity."""
    runs.constants[1, Constants._fields.index('armature') * MODEL.nv + MODEL.nv - 1] = 0.1


def test_a_tolerance_ends_a_motion(arms):
    loop = arms.loop(constraints=Constraints(0.03, stopped_velocity_tolerance=0.0))

    runs = arms.run(loop, EXACT, change=add_rotor)
    ending = loop.controller.endings(runs.memories)
    assert ending.code.tolist() == [0.0, modes.OFF_PATH, 0.0] and ending.joint[1] == 6
    assert ending.value[1] > ending.bound[1] == 0.03
    found = loop.tracking(runs)
    assert loop.good(runs).all() and 0 < found.steps[1] < found.steps[0] == found.steps[2]
    # what came after is not counted
    assert found.peak[1].max() < 0.035
    np.testing.assert_array_equal(found.rms[0], found.rms[2])


def test_a_goal_that_is_not_met_in_time_ends_it(arms):
    loop = arms.loop(constraints=Constraints(
        trajectory=0.0, goal=1e-7, goal_time=0.01, stopped_velocity_tolerance=0.0))
    ending = loop.controller.endings(arms.run(loop).memories)
    assert (ending.code == modes.OFF_GOAL).all() and (ending.bound == 1e-7).all()


def test_a_collision_ends_a_motion_or_its_begin(arms):
    threshold = 0.02 * MODEL.effort_limit
    loop = arms.loop(collision__threshold=threshold)

    runs = arms.run(loop, EXACT, change=lambda runs: load(runs, 60.0))
    ending = loop.controller.endings(runs.memories)
    assert ending.code.tolist() == [0.0, modes.COLLIDED, 0.0]
    j = ending.joint[1]
    assert abs(ending.value[1]) > ending.bound[1] == threshold[j]
    # such an arm gets no trajectory
    assert loop.tracking(runs).steps[1] == 0


def test_a_state_without_successor_ends_a_run(arms):
    loop = arms.loop()

    runs = arms.run(loop, EXACT, change=lambda runs: load(runs, np.nan))
    found = loop.tracking(runs)
    assert loop.good(runs).tolist() == [True, False, True]
    np.testing.assert_array_equal(loop.arms(runs.state)[1, :MODEL.nv], HOME)
    assert found.steps[1] == 0 and np.isnan(found.rms[1]).all()


def test_a_fault_counts_more_than_what_came_after(arms):
    control = arms.control()
    controller, memory = RolloutCycle(control), np.tile(control.host.values['memory'], (4, 1))
    for row, (fault, message) in zip(memory, ((0.0, 0.0), (0.0, modes.AT_GOAL), (
            modes.UNUSABLE, modes.AT_GOAL), (0.0, modes.OFF_PATH))):
        m = blocks.views(Memory, row, control.host.compiled.dimensions).motion
        m.fault.code[()], m.fault.joint[()], m.message.code[()] = fault, 3.0, message
    found = controller.endings(memory)
    np.testing.assert_array_equal(found.code, [np.nan, 0.0, modes.UNUSABLE, modes.OFF_PATH])
    assert found.joint.tolist() == [0, 0, 3, 0]


def test_limits_that_cut_the_torque_are_counted(arms):
    loop = arms.loop(effort_margin=0.35, torque_rate_limit=30.0)
    found = loop.tracking(arms.run(loop))
    assert (found.torque <= 0.35 * MODEL.effort_limit).all()
    assert found.cut.max() > 0.1 and (found.cut <= 1.0).all()
    assert not loop.tracking(arms.run(arms.loop())).cut.any()


def test_mistakes_are_named(arms):
    with pytest.raises(ParameterError, match='number 3 of 7'):
        arms.loop(effort_limit=np.where(np.arange(7) == 2, -1.0, MODEL.effort_limit))
    with pytest.raises(ParameterError, match='linear_feedback'):
        arms.loop(mode='linear_feedback')
    loop = arms.loop()
    joints, inertias = arms_of(arms.plant, [draw(arms.plant, EXACT, 0, 0)])
    with pytest.raises(ArgumentError, match='q must.*one run'):
        loop.start(np.zeros((0, 7)), joints, inertias)
    with pytest.raises(ArgumentError, match='q must'):
        loop.start(HOME[None, :3], joints, inertias)
    with pytest.raises(ArgumentError, match='inertias must'):
        loop.start(HOME[None], joints, inertias[:, 1:])
