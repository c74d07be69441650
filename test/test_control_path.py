"""Reference on a trajectory, judged as joint_trajectory_controller does."""

from types import SimpleNamespace

import numpy as np
import pytest
from robodyn_ros.control.arm.trajectory_table import write_path
from robodyn_ros.control.steps import modes, path
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.trajectory import JointTolerance, Reference, Tolerances, Trajectory
from steps import array, doubles

NAMES = ('shoulder', 'elbow')
ZERO = np.zeros(2)
SIZES = {'joints': 2}
START = Trajectory.from_points([2.0], [[1.0, -1.0]], start=Reference.zeros(2))


class Track:
    """A trajectory of 2 s from time 10 on, among the segments of others in the table."""

    def __init__(self, tolerances=None, longest=np.inf, trajectory=START):
        numbers = np.zeros(blocks.size(path.Path, SIZES))
        write_path(blocks.views(path.Path, numbers, SIZES), 3, trajectory, 10.0, tolerances, 1)
        other = np.full((1, path.columns(2)), 9.0)
        self.table = np.concatenate([other, trajectory.table, other + 90.0]).tolist()
        self.path = blocks.unpack(path.Path, doubles(numbers), SIZES)
        self.m, self.longest = path.started(self.path), longest

    def sample(self, t):
        return Reference(*map(array, path.sample(self.table, self.path, doubles(t))))

    def update(self, now, q, qd):
        """Return how it stands at a time, for a measured state."""
        now, longest = doubles([now, self.longest])
        self.m = path.update(self.m, now, path.passed(self.m, now, longest))
        reference = modes.Reference(*path.sample(self.table, self.path, self.m.elapsed))
        found = path.check_tolerances(self.m, self.path, reference, *doubles([q, qd]))
        return SimpleNamespace(**{**vars(found), 'reference': array(reference.q)})

    def follow(self, now, offset=(0.0, 0.0), speed=(0.0, 0.0)):
        """Return the same for a measurement that is off the reference."""
        reference = self.sample(now - 10.0)
        return self.update(now, reference.q - offset, reference.qd - speed)


def violation(found):
    """Return what a violation shows: whether of velocity, joint, error, tolerance, time."""
    return pytest.approx((found.velocity, found.joint, found.error, found.tolerance, found.time))


def test_the_reference_is_that_of_the_trajectory():
    points = [0.5, 1.2, 2.0], [[1.0, -1.0], [0.5, 0.5], [0.0, 2.0]]
    begin = Reference(*(np.array(each) for each in (
        (0.1, 0.2), (0.3, -0.2), (0.0, 1.0), (4.0, -2.0))))
    trajectory = Trajectory.from_points(*points, start=begin)
    track = Track(trajectory=trajectory)
    for t in (-1.0, 0.0, 0.2, 0.5, 0.7, 1.2, 1.9999, 2.0, 50.0):
        expected, found = trajectory.sample(t), track.sample(t)
        for name in ('q', 'qd', 'qdd', 'effort'):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name),
                                       atol=1e-12, err_msg=f'{name} at {t}')


def test_it_is_reached_at_the_last_point():
    track = Track(Tolerances.from_defaults(2, 0.01, 0.01, 0.5))
    for now in np.arange(10.0, 12.0, 0.01):
        assert track.follow(now).kind == path.NOT_ENDED
    assert track.follow(12.0).kind == path.REACHED
    np.testing.assert_array_equal(track.update(50.0, ZERO, ZERO).reference, [1.0, -1.0])


def test_leaving_the_path_is_a_violation_with_its_place():
    track = Track(Tolerances.from_defaults(2, trajectory=[0.5, 0.2]))
    assert track.follow(10.5, (0.4, -0.19)).kind == path.NOT_ENDED
    found = track.follow(11.25, (0.4, 0.31))
    assert found.kind == path.PATH_VIOLATED
    assert (0.0, 1.0, 0.31, 0.2, 1.25) == violation(found)


def test_a_measurement_that_is_not_a_number_is_off_the_path():
    track = Track(Tolerances.from_defaults(2, trajectory=0.5))
    assert track.follow(10.5, (np.nan, 0.0)).kind == path.PATH_VIOLATED


def test_tolerances_of_velocities_count_on_the_path():
    tolerances = Tolerances.none(2).override(NAMES, path=[JointTolerance('elbow', 0.0, 0.1)])
    found = Track(tolerances).follow(11.0, speed=(5.0, 0.2))
    assert found.kind == path.PATH_VIOLATED
    assert (1.0, 1.0, 0.2, 0.1, 1.0) == violation(found)


def test_the_goal_may_be_met_later():
    track = Track(Tolerances.from_defaults(2, goal=0.05, goal_time=1.0))
    assert track.follow(12.4, (0.2, 0.0)).kind == path.NOT_ENDED
    assert track.follow(12.6, (0.0, 0.0), (0.2, 0.0)).kind == path.NOT_ENDED
    assert track.follow(12.8, (0.04, 0.0)).kind == path.REACHED


def test_a_goal_that_is_not_met_in_time_is_a_violation():
    track = Track(Tolerances.from_defaults(2, goal=0.05, goal_time=1.0))
    assert track.follow(13.0, (0.2, 0.0)).kind == path.NOT_ENDED
    found = track.follow(13.01, (0.2, 0.0))
    assert found.kind == path.GOAL_VIOLATED
    assert (0.0, 0.0, 0.2, 0.05, 1.01) == violation(found)


def test_without_goal_time_it_waits_for_ever():
    track = Track(Tolerances.from_defaults(2, goal=0.05))
    assert track.follow(1e6, (0.2, 0.0)).kind == path.NOT_ENDED


def test_without_tolerances_the_end_is_success():
    track = Track()
    assert track.update(11.0, ZERO + 9.0, ZERO).kind == path.NOT_ENDED
    assert track.update(12.0, ZERO + 9.0, ZERO + 9.0).kind == path.REACHED


def test_clock_leaps_do_not_move_the_reference_by_leaps():
    track = Track(longest=0.05)
    for now, elapsed in ((10.04, 0.04), (99.0, 0.09), (3.0, 0.09), (np.nan, 0.09), (3.01, 0.10)):
        track.update(now, ZERO, ZERO)
        assert track.m.elapsed == pytest.approx(elapsed)


def test_begun_again_it_counts_from_its_moment():
    track = Track()
    track.update(12.0, ZERO, ZERO)
    track.m = path.started(track.path)
    assert (track.m.elapsed, track.m.last_time, track.m.number) == (0.0, 10.0, 3.0)
    assert track.follow(10.1).kind == path.NOT_ENDED
