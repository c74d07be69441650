"""Validation of trajectories beside the cycle: the long ones are checked in a thread."""

import time

from closed_loop import arm, BENT, FLOATING, MODEL
import numpy as np
import pytest

pytest.importorskip('trajectory_msgs', reason='trajectories come in messages of ROS 2')

from robodyn_ros.control import Mode  # noqa: E402
from robodyn_ros.nodes.conversions import point  # noqa: E402
from robodyn_ros.nodes.trajectories import validator  # noqa: E402
from robodyn_ros.nodes.trajectories.validator import Request, TrajectoryValidator  # noqa: E402
from robodyn_ros.trajectory import ResultCode  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

ELSEWHERE = BENT + (0.2, -0.1, 0.3, 0.2, -0.2, 0.1, 0.4)


def message(count, start=BENT, goal=ELSEWHERE, seconds=2.0, first=0.0):
    """Return a motion of many points, from rest to rest."""
    points = []
    for s in np.linspace(0.0, 1.0, count):
        x, v = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / seconds
        points.append(point(start + x * (goal - start), v * (goal - start),
                            time=first + s * seconds))
    return JointTrajectory(joint_names=list(MODEL.joint_names), points=points)


class Desk:
    """An arm in a loop, its validator, and the answers given."""

    def __init__(self, **options):
        self.loop = arm(**options)
        self.loop.run(0.7)
        self.control = self.loop.control
        self.validator = TrajectoryValidator(self.control)
        self.answers = []

    def submit(self, *arguments, time_origin=None, source='a newer goal', **options):
        """Submit a motion; return its message."""
        made = message(*arguments, **options)
        self.validator.submit(Request(made, lambda *answer: self.answers.append(answer),
                                      time_origin, self.loop.now, source=source))
        return made

    def run(self, seconds, wait=True):
        """Run the loop as the node does, about as fast as time goes by."""
        end = self.loop.now + seconds
        while self.loop.now < end:
            self.loop.run(0.01)
            time.sleep(0.005 if wait else 0.0)
            self.validator.update()

    def until_answered(self, count=1):
        end = time.monotonic() + 20.0
        while len(self.answers) < count:
            assert time.monotonic() < end, 'no answer'
            self.run(0.01)
        return self.answers[-1]


@pytest.fixture
def desk():
    return Desk()


def test_a_short_one_is_answered_at_once(desk):
    desk.submit(100)
    (trajectory, error), = desk.answers
    assert error is None and trajectory.duration == 2.0
    assert desk.control.mode is Mode.TRACK


@pytest.mark.parametrize('moving', [False, True])
def test_a_long_one_is_answered_later_and_begins_without_a_step(desk, moving):
    if moving:
        desk.loop.moving()
    begun = len(desk.loop.log)
    desk.submit(3000, first=1.0 if moving else 0.0)
    assert not desk.answers
    trajectory, error = desk.until_answered()
    assert error is None and len(trajectory.times) >= 3000
    desk.run(4.5, wait=False)
    assert desk.control.status.code is ResultCode.SUCCESSFUL
    np.testing.assert_allclose(desk.loop.plant.q, ELSEWHERE, atol=1e-4)
    steps = np.diff(desk.loop.column(4)[begun - 1:], axis=0)
    assert np.abs(steps).max() < 0.05, 'the reference velocity jumps'


def test_a_floating_arm_that_moves_during_every_check_is_held_before_a_short_one_begins(
        monkeypatch):
    desk = Desk(settings=FLOATING)
    plan = desk.control.motions.plan

    def plan_while_the_loop_continues(*arguments):
        desk.loop.run(0.06)
        return plan(*arguments)

    monkeypatch.setattr(desk.control.motions, 'plan', plan_while_the_loop_continues)
    desk.submit(10)
    assert desk.answers[0][1] is None, desk.answers[0][1]
    desk.run(4.0, wait=False)
    assert desk.control.status.code is ResultCode.SUCCESSFUL
    np.testing.assert_allclose(desk.loop.plant.q, ELSEWHERE, atol=1e-3)


def test_a_long_one_can_be_refused(desk):
    goal = ELSEWHERE.copy()
    goal[3] = 9.0
    desk.submit(1000, goal=goal)
    _, error = desk.until_answered()
    assert "joint 'joint4': position" in str(error) and 'above the upper limit' in str(error)
    assert error.evidence['code'] is ResultCode.INVALID_GOAL
    assert desk.control.mode is Mode.HOLD and not desk.control.status.following


def test_a_floating_arm_is_held_before_a_long_one_begins():
    desk = Desk(settings=FLOATING)
    goal = ELSEWHERE.copy()
    goal[3] = 9.0
    desk.submit(1000, goal=goal)
    assert desk.until_answered()[1] is not None
    assert desk.control.mode is Mode.FLOAT, 'a refusal changes nothing'
    desk.submit(1000)
    assert desk.until_answered(2)[1] is None
    desk.run(4.0, wait=False)
    assert desk.control.status.code is ResultCode.SUCCESSFUL
    np.testing.assert_allclose(desk.loop.plant.q, ELSEWHERE, atol=1e-3)


@pytest.mark.parametrize('end, words', [
    (lambda control: control.requests.hold(),
     'hold was requested, while 2000 points were checked'),
    (lambda control: control.requests.fail('broken'), 'broken'),
    (lambda control: control.activation.deactivate(), 'not active|while 2000')])
def test_what_is_being_checked_when_the_arm_is_stopped_never_begins(desk, end, words):
    desk.submit(2000)
    end(desk.control)
    _, error = desk.until_answered()
    assert any(part in str(error) for part in words.split('|')), error
    desk.run(0.5)
    assert not desk.control.status.following
    np.testing.assert_allclose(desk.loop.plant.q, BENT, atol=1e-3)


@pytest.mark.parametrize('count', [50, 2000])
def test_a_newer_one_takes_the_place_of_what_is_being_checked(desk, count):
    desk.submit(3000)
    desk.submit(count, goal=BENT + 0.1)
    _, error = desk.answers[0]
    assert 'replaced by a newer trajectory, while 3000 points' in str(error)
    assert desk.until_answered(2)[1] is None
    desk.run(3.0, wait=False)
    np.testing.assert_allclose(desk.loop.plant.q, BENT + 0.1, atol=1e-3)


def test_a_check_that_takes_too_long_is_repeated_and_made_at_once_in_the_end(desk, monkeypatch):
    monkeypatch.setattr(validator, '_LEAD', 1e-6)
    monkeypatch.setattr(validator, '_LEAD_PER_POINT', 0.0)
    leads, start_state = [], desk.control.motions.start_state
    monkeypatch.setattr(desk.control.motions, 'start_state',
                        lambda lead=0.0: leads.append(lead) or start_state(lead))
    desk.submit(1000)
    assert desk.until_answered()[1] is None
    np.testing.assert_allclose(leads, [1e-6, 2e-6, 4e-6, 8e-6, 0.0])


@pytest.mark.parametrize('stamp, low, high', [(-0.001, 1.995, 2.0), (0.01, 1.99, 2.0),
                                              (1.0, 2.5, 2.9)])
def test_points_count_from_the_stamp_but_the_check_does_not_count(desk, stamp, low, high):
    desk.submit(1000, time_origin=desk.loop.now + stamp)
    trajectory, error = desk.until_answered()
    assert error is None
    assert low <= trajectory.duration <= high


def test_in_lockstep_the_cycle_waits():
    desk = Desk()
    desk.validator = TrajectoryValidator(desk.control, block_until_checked=True)
    desk.submit(1000)
    assert desk.answers[0][1] is None and desk.control.mode is Mode.TRACK


def test_a_motion_that_is_followed_to_its_end_has_succeeded(desk):
    goal = desk.submit(10, seconds=0.5)
    desk.run(0.3, wait=False)
    assert desk.validator.outcome(goal) is None
    desk.run(0.3, wait=False)
    assert desk.validator.outcome(goal) == (ResultCode.SUCCESSFUL, 'the goal is reached')


@pytest.mark.parametrize('count', [2, 500])
def test_a_motion_that_is_replaced_has_not_succeeded(desk, count):
    goal = desk.submit(10)
    desk.run(0.5, wait=False)
    newer = desk.submit(count, goal=BENT + 0.1, seconds=0.5, source='a trajectory by topic')
    assert desk.until_answered(2)[1] is None
    replaced = (ResultCode.INVALID_GOAL, 'replaced by a trajectory by topic')
    assert desk.validator.outcome(goal) == replaced
    desk.run(1.0, wait=False)
    assert desk.validator.outcome(newer)[0] is ResultCode.SUCCESSFUL
    assert desk.validator.outcome(goal) == replaced


def test_a_trajectory_that_is_refused_replaces_nothing(desk):
    goal = desk.submit(10, seconds=0.5)
    desk.submit(10, goal=BENT + 9.0)
    assert desk.until_answered(2)[1] is not None
    assert desk.validator.outcome(goal) is None
    desk.run(0.6, wait=False)
    assert desk.validator.outcome(goal)[0] is ResultCode.SUCCESSFUL


@pytest.mark.parametrize('count', [10, 1000])
def test_an_unexpected_error_of_the_check_is_an_answer(desk, monkeypatch, count):
    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(desk.control.motions, 'plan', broken)
    with pytest.raises(MemoryError):
        desk.submit(count)
        desk.until_answered()
    desk.validator.drop('nothing is being checked any more, and nothing is answered')
    (_, error), = desk.answers
    assert 'could not be checked: MemoryError' in str(error)


@pytest.mark.parametrize('end, reason', [
    (lambda control: control.requests.hold(), 'hold was requested'),
    (lambda control: control.requests.fail('broken'), 'broken'),
    (lambda control: control.activation.deactivate(), 'the controller is not active any more'),
    (lambda control: control.motions.reach([0.5, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0]),
     'replaced by a target pose')])
def test_a_motion_that_is_broken_off_has_its_reason(desk, end, reason):
    goal = desk.submit(10)
    desk.run(0.5, wait=False)
    end(desk.control)
    desk.run(0.01)
    assert desk.validator.outcome(goal) == (ResultCode.INVALID_GOAL, reason)
