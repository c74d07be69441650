"""Durations of motions from rest to rest, against the sampled quintic."""

import numpy as np
import pytest
from robodyn_ros.trajectory import least_duration, Trajectory


def test_the_fastest_joint_reaches_its_part_of_the_velocity_limit():
    limit = np.array([2.0, 0.5, 1.0])
    distance = np.array([1.0, -0.4, 0.1])
    lasts = least_duration(limit, distance, 0.5)
    rest = np.zeros((2, 3))
    motion = Trajectory.from_points([0.0, lasts], np.array([0.0 * distance, distance]), rest, rest)
    peak = np.max([np.abs(motion.sample(t).qd) for t in np.linspace(0.0, lasts, 1001)], axis=0)
    assert peak[1] == pytest.approx(0.5 * 0.5, rel=1e-5)
    assert peak[0] < 1.0 and peak[2] < 0.5
    assert least_duration(limit, 0.0 * distance, 0.5) == 0.0
