"""Tolerances of parameters and goals: what 0, -1 and positive numbers mean."""

import numpy as np
import pytest
from robodyn_ros.exceptions import ParameterError, TrajectoryError
from robodyn_ros.trajectory import JointTolerance, Tolerances

NAMES = ('shoulder', 'elbow')


def test_goal_tolerances_zero_is_default_positive_replaces_minus_one_is_none():
    default = Tolerances.from_defaults(2, trajectory=[0.1, 0.0], goal=0.2, goal_time=3.0)
    np.testing.assert_array_equal(default.path, [0.1, np.inf])
    chosen = default.override(
        NAMES, path=[JointTolerance('elbow', 0.7, 0.5)],
        goal=[JointTolerance('shoulder', -1.0), JointTolerance('elbow', 0.0, -1.0)])
    np.testing.assert_array_equal(chosen.path, [0.1, 0.7])
    np.testing.assert_array_equal(chosen.path_velocity, [np.inf, 0.5])
    np.testing.assert_array_equal(chosen.goal, [np.inf, 0.2])
    np.testing.assert_array_equal(chosen.goal_velocity, [0.01, np.inf])
    assert chosen.goal_time == 3.0
    assert default.override(NAMES, goal_time=0.5).goal_time == 0.5
    assert default.override(NAMES, goal_time=-1.0).goal_time == np.inf


@pytest.mark.parametrize('call, text', [
    ({'path': [JointTolerance('elbo', 0.1)]}, "path_tolerance: .* no joint 'elbo'"),
    ({'goal': [JointTolerance('elbow', -2.0)]}, "joint 'elbow', position: -2 is not"),
    ({'goal': [JointTolerance('elbow', 0.0, np.nan)]}, 'velocity: nan is not'),
    ({'goal_time': -0.5}, 'goal_time_tolerance: -0.5 is not')])
def test_refused_goal_tolerances(call, text):
    with pytest.raises(TrajectoryError, match=text):
        Tolerances.none(2).override(NAMES, **call)


@pytest.mark.parametrize('call, text', [
    ({'trajectory': -0.1}, 'trajectory: -0.1 .*not 0 or more'),
    ({'goal': [0.1, np.nan]}, 'goal: .*nan'),
    ({'goal': [0.1, 0.1, 0.1]}, 'does not fit 2 joints')])
def test_refused_parameters(call, text):
    with pytest.raises(ParameterError, match=text):
        Tolerances.from_defaults(2, **call)
