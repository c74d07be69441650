"""Torque needed by a trajectory against what the motors have."""

import numpy as np
import pytest
from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.trajectory import check_feasibility, Reference, Trajectory

NAMES = ('shoulder', 'elbow')
MASS = np.array([2.0, 0.5])
GRAVITY = 3.0


def inverse_dynamics(q, qd, qdd):
    assert q.shape == qd.shape == qdd.shape and q.flags.c_contiguous
    return MASS * qdd + GRAVITY


def move(efforts=None):
    # A clamped cubic over 1 s: acceleration runs from +6 to -6 per unit moved.
    return Trajectory.from_points([1.0], [[1.0, 0.5]], efforts=efforts,
                                  start=Reference.zeros(2))


def test_enough_torque_is_silent():
    check_feasibility(move(), inverse_dynamics, [15.0, 4.5], NAMES)
    check_feasibility(move(), inverse_dynamics, [np.inf, np.inf], NAMES)


def test_names_joint_time_needed_and_available():
    with pytest.raises(TrajectoryError, match="joint 'shoulder' would need 15 at 0.000 s, "
                       'its motor has 14; move more slowly') as caught:
        check_feasibility(move(), inverse_dynamics, [14.0, 4.5], NAMES)
    evidence = caught.value.evidence
    assert evidence['joint'] == 'shoulder' and evidence['limit'] == 14.0
    assert evidence['value'] == pytest.approx(15.0) and evidence['time'] == 0.0


def test_the_worst_joint_is_named():
    with pytest.raises(TrajectoryError, match="joint 'elbow' would need 4.5"):
        check_feasibility(move(), inverse_dynamics, [14.0, 2.0], NAMES)
    with pytest.raises(TrajectoryError, match="joint 'elbow' .* motor has 0"):
        check_feasibility(move(), inverse_dynamics, [100.0, 0.0], NAMES)


def test_given_efforts_count():
    trajectory = move(efforts=[[0.0, 20.0]])
    with pytest.raises(TrajectoryError, match="'elbow' .*1.000 s.* 20 of it are the effort given"):
        check_feasibility(trajectory, inverse_dynamics, [100.0, 15.0], NAMES)


def test_torque_that_is_not_a_number_is_not_available():
    with pytest.raises(TrajectoryError, match='would need nan'):
        check_feasibility(move(), lambda q, qd, qdd: q * np.nan, [np.inf, np.inf], NAMES)


def test_both_sides_of_an_acceleration_step_are_seen():
    # The middle knot's velocity 0 makes the acceleration jump from -6 to +6 there.
    trajectory = Trajectory.from_points(
        [0.0, 1.0, 2.0], [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], np.zeros((3, 2)))
    needed = []

    def record(q, qd, qdd):
        needed.append(qdd[np.abs(q[:, 0] - 1.0) < 1e-12, 0])
        return qdd

    check_feasibility(trajectory, record, [7.0, 7.0], NAMES)
    assert sorted(np.rint(needed[0])) == [-6.0, 6.0]
