"""Trajectories of an arm under control: planned ahead, replaced, judged, broken off."""

from closed_loop import arm, BENT, FLOATING, Loop, MODEL
from design import settings_of
import numpy as np
import pytest
from robodyn_ros.control import Mode
from robodyn_ros.exceptions import StateError, TrajectoryError
from robodyn_ros.trajectory import JointTolerance, ResultCode, Tolerances, TrajectoryPoint

ELSEWHERE = BENT + (0.2, -0.1, 0.3, 0.2, -0.2, 0.1, 0.4)


def point(goal, seconds):
    zero = np.zeros(len(goal))
    return TrajectoryPoint(goal, zero, zero, (), seconds)


def begin(loop, goal, seconds, lead, tolerances=None):
    control = loop.control
    start_state = control.motions.start_state(lead)
    trajectory = control.motions.plan(
        start_state, control.model.joint_names, [point(goal, seconds)])
    return control.motions.begin(start_state, trajectory, tolerances)


@pytest.fixture
def loop():
    made = arm()
    made.run(0.7)
    return made


@pytest.mark.parametrize('prelude', ['hold', 'track', 'stop', 'end of a motion'])
def test_planned_ahead_it_starts_from_the_future_reference(loop, prelude):
    if prelude != 'hold':
        loop.moving()
    if prelude == 'stop':
        loop.control.requests.stop('enough')
    if prelude == 'end of a motion':
        loop.run(0.9)
    mode = loop.control.mode
    begun = len(loop.log)
    assert begin(loop, BENT, 1.5, 0.2)
    assert loop.control.status.following and loop.control.mode is mode
    loop.run(1.9)
    assert loop.control.status.code is ResultCode.SUCCESSFUL and not loop.control.status.following
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-4)
    assert np.abs(loop.error[begun:]).max() < 2e-3
    steps = np.abs(np.diff(loop.column(4)[begun - 1:], axis=0))
    assert steps.max() < 0.05, 'the reference velocity jumps'


def test_a_motion_that_waits_has_not_the_code_of_the_one_before(loop):
    assert begin(loop, ELSEWHERE, 0.6, 0.0)
    loop.run(0.5)
    assert begin(loop, BENT, 0.6, 0.2)
    loop.run(0.15)
    assert loop.control.message == 'the goal is reached', 'the one before has ended'
    assert loop.control.status.following and loop.control.status.code is None
    loop.run(0.7)
    assert loop.control.status.code is ResultCode.SUCCESSFUL and not loop.control.status.following


def test_a_departure_that_has_passed_is_missed(loop):
    control = loop.control
    start_state = control.motions.start_state(0.05)
    trajectory = control.motions.plan(
        start_state, control.model.joint_names, [point(ELSEWHERE, 1.0)])
    loop.run(0.1)
    assert not control.motions.begin(start_state, trajectory)
    assert control.mode is Mode.HOLD and not control.status.following


def test_a_departure_off_the_way_is_missed(loop):
    loop.moving()
    control = loop.control
    start_state = control.motions.start_state(0.2)
    trajectory = control.motions.plan(start_state, control.model.joint_names, [point(BENT, 1.5)])
    control.requests.stop('enough')
    loop.run(0.05)
    assert not control.motions.begin(start_state, trajectory)
    assert control.mode is Mode.STOP and control.message == 'enough'


def test_the_future_position_of_a_floating_arm_is_unknown():
    loop = arm(settings=FLOATING)
    loop.run(0.5)
    assert not begin(loop, ELSEWHERE, 1.0, 0.1)
    assert loop.control.mode is Mode.FLOAT
    assert begin(loop, ELSEWHERE, 1.0, 0.0)
    loop.run(1.3)
    assert loop.control.status.code is ResultCode.SUCCESSFUL


@pytest.mark.parametrize('request_', ['stop', 'hold', 'float', 'fail', 'deactivate', 'silence'])
def test_what_is_about_to_begin_is_forgotten(loop, request_):
    assert begin(loop, ELSEWHERE, 1.0, 0.2)
    count = loop.control.status.interruptions
    requests = loop.control.requests
    {'stop': lambda: requests.stop('enough'), 'hold': requests.hold,
     'float': requests.compensate_gravity, 'fail': lambda: requests.fail('broken'),
     'deactivate': loop.control.activation.deactivate, 'silence': loop.silence}[request_]()
    assert not loop.control.status.following and loop.control.status.interruptions > count
    loop.run(0.5)
    assert loop.control.status.code is None and not loop.control.status.following
    np.testing.assert_allclose(loop.plant.q, BENT, atol=1e-3)


def test_a_newer_one_takes_the_place_of_what_was_about_to_begin(loop):
    assert begin(loop, ELSEWHERE, 1.0, 0.3)
    assert begin(loop, BENT + 0.1, 0.6, 0.0)
    loop.run(1.0)
    np.testing.assert_allclose(loop.plant.q, BENT + 0.1, atol=1e-3)


def test_points_count_from_their_own_time(loop):
    control = loop.control
    start_state = control.motions.start_state(0.2)
    points = [point(BENT, 0.1), point(ELSEWHERE, 1.0)]
    trajectory = control.motions.plan(
        start_state, control.model.joint_names, points, time_origin=loop.now)
    # from the last cycle, a period ago
    assert trajectory.duration == pytest.approx(1.0 - 0.2 + loop.period)
    assert len(trajectory.times) == 2, 'the start, and what is still ahead'


def test_too_many_points(loop):
    with pytest.raises(TrajectoryError, match='20001 points, more than 20000; send'):
        loop.control.follow(loop.now, loop.control.model.joint_names,
                            [point(BENT, 1.0)] * 20_001)


@pytest.mark.parametrize('tolerances, goal, plant, code', [
    (Tolerances.from_defaults(7, 0.05), 2.0, 0.2, ResultCode.PATH_TOLERANCE_VIOLATED),
    (Tolerances.from_defaults(7, 0.05).override(
        [f'joint{i}' for i in range(1, 8)], path=[JointTolerance('joint6', -1.0)]), 2.0, 0.2,
     ResultCode.SUCCESSFUL),
    (Tolerances.from_defaults(7, goal=0.05, goal_time=0.2), 2.0, 0.2,
     ResultCode.GOAL_TOLERANCE_VIOLATED),
    (Tolerances.from_defaults(7, goal=0.05, goal_time=0.2).override(
        [f'joint{i}' for i in range(1, 8)], goal=[JointTolerance('joint6', 2.0)]), 2.0, 0.2,
     ResultCode.SUCCESSFUL)])
def test_a_goal_brings_its_own_tolerances(tolerances, goal, plant, code):
    loop = arm(upper=BENT + plant)
    loop.run(0.7)
    target = BENT.copy()
    target[5] += 0.6
    loop.control.follow(loop.now, loop.control.model.joint_names, [point(target, goal)],
                        tolerances=tolerances)
    loop.run(goal + 0.5)
    assert loop.control.status.code is code
    assert ("joint 'joint6'" in loop.control.message) is (code is not ResultCode.SUCCESSFUL)


def test_broken_off_it_has_no_code(loop):
    loop.moving()
    assert loop.control.status.code is None and loop.control.status.trajectory[1] == pytest.approx(
        1.0, abs=0.01)
    loop.control.requests.stop('the goal is cancelled')
    loop.settle()
    assert loop.control.status.code is None and loop.control.message == 'the goal is cancelled'
    rest = loop.plant.q.copy()
    loop.run(1.0)
    assert np.abs(loop.plant.q - rest).max() < 5e-3


def test_after_a_fault_nothing_departs(loop):
    loop.control.requests.fail('broken')
    with pytest.raises(StateError, match='a fault is latched: broken'):
        loop.control.motions.start_state()
    loop.control.activation.deactivate()
    with pytest.raises(StateError, match='not active'):
        loop.control.motions.start_state(0.1)


def test_partial_goals_where_allowed():
    names, goal = ['joint6', 'joint2'], [BENT[5] + 0.2, BENT[1] - 0.1]
    for allowed in (False, True):
        loop = arm(settings=settings_of(allow_partial_joints_goal=allowed))
        loop.run(0.7)
        if not allowed:
            with pytest.raises(TrajectoryError, match="'joint1' is missing") as caught:
                loop.control.follow(loop.now, names, [point(goal, 1.0)])
            assert caught.value.evidence['code'] is ResultCode.INVALID_JOINTS
            continue
        loop.control.follow(loop.now, names, [point(goal, 1.0)])
        loop.run(1.3)
        expected = BENT.copy()
        expected[[5, 1]] = goal
        np.testing.assert_allclose(loop.plant.q, expected, atol=1e-4)


def test_a_dense_plan_from_the_measured_position_is_joined(loop):
    # what friction or a load holds the arm off its reference
    start = BENT + 0.05 * np.array((1, -1, 1, -1, 1, -1, 1))
    points = []
    for s in np.linspace(0.0, 1.0, 101):
        x = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
        way, v, a = ELSEWHERE - start, 30.0 * (s - s * s)**2, 60.0 * (s - s * s) * (1.0 - 2.0 * s)
        points.append(TrajectoryPoint(start + x * way, v * way, a * way, (), s))
    begun = len(loop.log)
    loop.control.follow(loop.now, loop.control.model.joint_names, points)
    loop.run(1.3)
    assert loop.control.status.code is ResultCode.SUCCESSFUL
    assert np.abs(loop.error[begun:]).max() < 2e-3
    np.testing.assert_allclose(loop.plant.q, ELSEWHERE, atol=1e-4)


def test_by_default_a_joint_far_from_its_reference_ends_the_motion_with_its_name():
    loop = arm(settings=settings_of())
    loop.run(0.6)
    loop.follow(BENT + 0.5, 1.0)
    loop.run(0.3)
    loop.plant.push('link4', [0.0, 0.0, 400.0, 0.0, 0.0, 0.0])
    loop.run(0.5)
    assert loop.control.status.aborted and 'misses its reference by 0.2' in loop.control.message
    assert loop.control.message.startswith("joint 'joint")


def test_by_default_the_goal_is_reached_only_where_it_is():
    wall = {'upper': BENT + 0.15, 'lower': BENT - 0.15}
    loop = arm(settings=settings_of(), **wall)
    loop.run(0.6)
    loop.follow(BENT + 0.25, 1.0)
    loop.run(3.5)
    assert loop.control.status.code is ResultCode.GOAL_TOLERANCE_VIOLATED
    assert 'tolerance 0.05' in loop.control.message
    yielding = settings_of(mode='joint_impedance')
    assert not np.isfinite(Loop(MODEL, yielding).control.design.tolerances.goal).any()
