"""Points that cannot be joined are refused; all others stay finite and are met."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError, TrajectoryError
from robodyn_ros.trajectory import Reference, Trajectory

NV = 3


@pytest.mark.parametrize('kwargs, error, text', [
    ({'times': [], 'positions': np.zeros((0, 2))}, ArgumentError, 'n > 0'),
    ({'times': [1.0], 'positions': [0.0]}, ArgumentError, r'got \(1,\) and \(1,\)'),
    ({'times': [1.0, 2.0], 'positions': [[0.0], [1.0]], 'velocities': [[0.0]]}, ArgumentError,
     'velocities have shape'),
    ({'times': [1.0, 1.0], 'positions': [[0.0], [1.0]]}, TrajectoryError,
     'point 1: time 1 s does not come after 1 s'),
    ({'times': [1.0], 'positions': [[np.inf]]}, TrajectoryError, 'not finite'),
    ({'times': [1.0], 'positions': [[0.0]], 'accelerations': [[0.0]]}, TrajectoryError,
     'accelerations but no velocities'),
    ({'times': [0.0], 'positions': [[0.0]], 'start': Reference.zeros(1)}, TrajectoryError,
     'ends at 0 s, not after its start'),
    ({'times': [1.0], 'positions': [[0.0]], 'start': Reference.zeros(2)}, ArgumentError,
     'start has 2 joints'),
    ({'times': [0.0, 1e-300], 'positions': [[0.0], [1.0]], 'velocities': [[0.0], [0.0]]},
     TrajectoryError, 'cannot be interpolated'),
    ({'times': [0.0, 1e-310], 'positions': [[0.0], [1.0]]}, TrajectoryError,
     'cannot be interpolated'),
    ({'times': [0.0, 1e-9], 'positions': [[1e308], [-1e308]]}, TrajectoryError,
     'cannot be interpolated'),
    ({'times': [0.0, 1e-310], 'positions': [[0.0], [0.0]], 'velocities': [[0.0], [0.0]],
      'efforts': [[0.0], [9.0]]}, TrajectoryError, 'cannot be interpolated')])
def test_rejections(kwargs, error, text):
    with pytest.raises(error, match=text):
        Trajectory.from_points(**kwargs)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-3, 100.0), min_size=1, max_size=6),
       st.integers(0, 2), st.integers(0, 2**31))
def test_any_spacing_stays_finite_and_meets_its_points(gaps, order, seed):
    rng = np.random.default_rng(seed)
    times = np.cumsum(gaps)
    rows = rng.uniform(-3.0, 3.0, (order + 1, times.size, NV))
    trajectory = Trajectory.from_points(times, *rows, start=Reference.at_rest(np.zeros(NV)))
    path = trajectory.dense(max_samples=500)
    assert all(np.isfinite(part).all() for part in path)
    for t, q in zip(times[:-1], rows[0]):
        np.testing.assert_allclose(trajectory.sample(np.nextafter(t, 0.0)).q, q, atol=1e-6)
