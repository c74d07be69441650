"""Following a trajectory as joint_trajectory_controller judges it."""

import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.trajectory import JointTolerance, Phase, Reference, ResultCode, Tolerances
from robodyn_ros.trajectory import Tracker, Trajectory

NAMES = ('shoulder', 'elbow')
ZERO = np.zeros(2)


def make_trajectory():
    return Trajectory.from_points([2.0], [[1.0, -1.0]], start=Reference.zeros(2))


def tracker_at(now=10.0, tolerances=None, **options):
    tracker = Tracker(NAMES, **options)
    tracker.start(make_trajectory(), now, tolerances)
    return tracker


def follow(tracker, now, offset=(0.0, 0.0), speed=(0.0, 0.0)):
    """Update with a measurement that is off the reference by `offset`."""
    reference = tracker.trajectory.sample(now - 10.0)
    return tracker.update(now, reference.q - offset, reference.qd - speed)


def test_idle_until_started():
    tracker = Tracker(NAMES)
    assert not tracker.active
    assert tracker.update(1.0, ZERO, ZERO).phase is Phase.IDLE


def test_perfect_following_succeeds_at_the_last_point():
    tracker = tracker_at(tolerances=Tolerances.from_defaults(2, 0.01, 0.01, 0.5))
    for now in np.arange(10.0, 12.0, 0.01):
        status = follow(tracker, now)
        assert status.phase is Phase.TRACKING and status.code is None
    status = follow(tracker, 12.0)
    assert status.phase is Phase.SUCCEEDED and status.code is ResultCode.SUCCESSFUL
    assert not tracker.active
    np.testing.assert_array_equal(tracker.update(50.0, ZERO, ZERO).reference.q, [1.0, -1.0])
    assert status.code is ResultCode.SUCCESSFUL


def test_leaving_the_path_aborts_and_says_where():
    tracker = tracker_at(tolerances=Tolerances.from_defaults(2, trajectory=[0.5, 0.2]))
    assert follow(tracker, 10.5, (0.4, -0.19)).code is None
    status = follow(tracker, 11.25, (0.4, 0.31))
    assert status.code is ResultCode.PATH_TOLERANCE_VIOLATED and status.phase is Phase.ABORTED
    assert status.message == ("joint 'elbow': position misses its reference by 0.31, "
                              'tolerance 0.2, 1.250 s after the start')
    np.testing.assert_allclose(status.error, [0.4, 0.31])


def test_a_measurement_that_is_not_a_number_is_off_the_path():
    tracker = tracker_at(tolerances=Tolerances.from_defaults(2, trajectory=0.5))
    assert follow(tracker, 10.5, (np.nan, 0.0)).code is ResultCode.PATH_TOLERANCE_VIOLATED


def test_settling_in_time_succeeds():
    tracker = tracker_at(tolerances=Tolerances.from_defaults(2, goal=0.05, goal_time=1.0))
    assert follow(tracker, 12.4, (0.2, 0.0)).phase is Phase.SETTLING
    assert follow(tracker, 12.6, (0.0, 0.0), (0.2, 0.0)).phase is Phase.SETTLING
    assert follow(tracker, 12.8, (0.04, 0.0)).code is ResultCode.SUCCESSFUL


def test_not_settling_in_time_aborts():
    tracker = tracker_at(tolerances=Tolerances.from_defaults(2, goal=0.05, goal_time=1.0))
    assert follow(tracker, 13.0, (0.2, 0.0)).code is None
    status = follow(tracker, 13.01, (0.2, 0.0))
    assert status.code is ResultCode.GOAL_TOLERANCE_VIOLATED
    assert status.message == ("joint 'shoulder': position misses its reference by 0.2, tolerance "
                              '0.05, 1.010 s after the last point, goal_time 1 s')


def test_without_goal_time_it_waits_for_ever():
    tracker = tracker_at(tolerances=Tolerances.from_defaults(2, goal=0.05))
    assert follow(tracker, 1e6, (0.2, 0.0)).phase is Phase.SETTLING


def test_without_tolerances_the_end_is_success():
    tracker = tracker_at()
    assert tracker.update(11.0, ZERO + 9.0, ZERO).code is None
    assert tracker.update(12.0, ZERO + 9.0, ZERO + 9.0).code is ResultCode.SUCCESSFUL


def test_continuous_joints_are_judged_the_short_way():
    tracker = tracker_at(tolerances=Tolerances.from_defaults(2, trajectory=0.1),
                         continuous=np.array([True, False]))
    status = follow(tracker, 11.0, (4.0 * np.pi + 0.05, 0.0))
    assert status.code is None and status.error[0] == pytest.approx(0.05)
    assert follow(tracker, 11.1, (0.0, 2.0 * np.pi)).code is ResultCode.PATH_TOLERANCE_VIOLATED


def test_clock_leaps_do_not_move_the_reference_by_leaps():
    tracker = tracker_at(max_step=0.05)
    assert tracker.update(10.04, ZERO, ZERO).elapsed == pytest.approx(0.04)
    assert tracker.update(99.0, ZERO, ZERO).elapsed == pytest.approx(0.09)
    assert tracker.update(3.0, ZERO, ZERO).elapsed == pytest.approx(0.09)
    assert tracker.update(np.nan, ZERO, ZERO).elapsed == pytest.approx(0.09)
    assert tracker.update(3.01, ZERO, ZERO).elapsed == pytest.approx(0.10)


def test_restart_and_clear():
    tracker = tracker_at()
    tracker.update(12.0, ZERO, ZERO)
    tracker.start(make_trajectory(), 20.0)
    assert tracker.active and tracker.update(20.0, ZERO, ZERO).code is None
    tracker.clear()
    assert tracker.update(21.0, ZERO, ZERO).phase is Phase.IDLE and tracker.trajectory is None


@pytest.mark.parametrize('call, text', [
    (lambda: Tracker(NAMES, max_step=0.0), 'max_step is 0'),
    (lambda: Tracker(('a',)).start(make_trajectory(), 0.0), 'has 2 joints, the tracker 1'),
    (lambda: Tracker(NAMES).start(make_trajectory(), np.nan), 'cannot start at time nan')])
def test_wrong_use(call, text):
    with pytest.raises(ArgumentError, match=text):
        call()


def test_velocity_tolerance_on_the_path_is_heeded():
    tolerances = Tolerances.none(2).override(NAMES, path=[JointTolerance('elbow', 0.0, 0.1)])
    tracker = tracker_at(tolerances=tolerances)
    status = follow(tracker, 11.0, speed=(5.0, 0.2))
    assert "joint 'elbow': velocity misses its reference by 0.2" in status.message
