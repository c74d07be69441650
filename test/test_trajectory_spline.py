"""Interpolation: through the points, smooth to the promised order, at rest outside."""

import numpy as np
import pytest
from robodyn_ros.trajectory import Reference, Trajectory
from scipy.interpolate import BPoly, CubicHermiteSpline, CubicSpline

NV = 3
FIELDS = ('q', 'qd', 'qdd', 'effort')


def moving_start(rng):
    return Reference(*rng.normal(size=(4, NV)))


def random_points(rng, count=6):
    times = np.cumsum(rng.uniform(0.05, 1.5, count))
    q, qd, qdd, effort = rng.normal(size=(4, count, NV))
    return times, q, qd, qdd, effort


def sampled(trajectory, times, field):
    return np.array([getattr(trajectory.sample(t), field) for t in times])


@pytest.fixture(name='rng')
def fixture_rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize('count', [1, 2, 3, 4, 6, 31, 64, 500])
def test_positions_alone_are_scipys_clamped_cubic_spline(rng, count):
    times, q, *_ = random_points(rng, count)
    start = moving_start(rng)
    trajectory = Trajectory.from_points(times, q, start=start)
    expected = CubicSpline(np.append(0.0, times), np.vstack((start.q, q)),
                           bc_type=((1, start.qd), (1, np.zeros(NV))))
    grid = np.linspace(0.0, times[-1], 200)[:-1]
    for order, field in enumerate(FIELDS[:3]):
        np.testing.assert_allclose(sampled(trajectory, grid, field), expected(grid, order),
                                   atol=1e-10, rtol=1e-10)


def test_velocities_give_cubic_hermite(rng):
    times, q, qd, *_ = random_points(rng)
    trajectory = Trajectory.from_points(times, q, qd)
    expected = CubicHermiteSpline(times, q, qd)
    grid = np.linspace(times[0], times[-1], 200)[:-1]
    for order, field in enumerate(FIELDS[:2]):
        np.testing.assert_allclose(sampled(trajectory, grid, field),
                                   expected.derivative(order)(grid) if order else expected(grid),
                                   atol=1e-10, rtol=1e-10)


def test_accelerations_give_quintic(rng):
    times, q, qd, qdd, _ = random_points(rng)
    trajectory = Trajectory.from_points(times, q, qd, qdd)
    grid = np.linspace(times[0], times[-1], 200)[:-1]
    for j in range(NV):
        knots = np.stack((q[:, j], qd[:, j], qdd[:, j]), axis=1)
        expected = BPoly.from_derivatives(times, knots)
        for order, field in enumerate(FIELDS[:3]):
            np.testing.assert_allclose(sampled(trajectory, grid, field)[:, j],
                                       expected(grid, order), atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize('given_fields, smooth', [
    (('q',), 3), (('q', 'qd'), 2), (('q', 'qd', 'qdd'), 3)])
def test_knots_are_met_and_crossed_smoothly(rng, given_fields, smooth):
    times, *rows = random_points(rng)
    start = moving_start(rng)
    trajectory = Trajectory.from_points(times, *rows[:len(given_fields)], start=start)
    for field, row in zip(given_fields, rows):
        np.testing.assert_allclose(sampled(trajectory, times[:-1], field), row[:-1], atol=1e-9)
    for t in times[:-1]:
        before, after = trajectory.sample(np.nextafter(t, 0.0)), trajectory.sample(t)
        for field in FIELDS[:smooth]:
            np.testing.assert_allclose(getattr(before, field), getattr(after, field), atol=1e-8)
    at_start = trajectory.sample(0.0)
    for field in ('q', 'qd', 'effort'):
        np.testing.assert_allclose(getattr(at_start, field), getattr(start, field), atol=1e-12)


def test_derivatives_are_derivatives(rng):
    times, q, qd, qdd, _ = random_points(rng)
    trajectory = Trajectory.from_points(times, q, qd, qdd)
    step = 1e-6
    for t in np.linspace(times[0], times[-1], 23)[1:-1]:
        early, now, late = (trajectory.sample(t + d) for d in (-step, 0.0, step))
        np.testing.assert_allclose((late.q - early.q) / (2 * step), now.qd, atol=1e-6, rtol=1e-6)
        np.testing.assert_allclose((late.qd - early.qd) / (2 * step), now.qdd, atol=1e-4,
                                   rtol=1e-6)


def test_rests_before_and_after(rng):
    times, q, qd, qdd, effort = random_points(rng)
    trajectory = Trajectory.from_points(times, q, qd, qdd, effort)
    for t, index in ((times[0] - 0.01, 0), (-5.0, 0), (times[-1], -1), (1e9, -1)):
        reference = trajectory.sample(t)
        np.testing.assert_array_equal(reference.q, q[index])
        np.testing.assert_array_equal(reference.effort, effort[index])
        assert not reference.qd.any() and not reference.qdd.any()
    assert trajectory.duration == times[-1]
    np.testing.assert_array_equal(trajectory.end.q, q[-1])


def test_efforts_are_joined_linearly(rng):
    times, q, _, _, effort = random_points(rng)
    trajectory = Trajectory.from_points(times, q, efforts=effort)
    grid = np.linspace(times[0], times[-1], 50)
    expected = [np.interp(grid, times, effort[:, j]) for j in range(NV)]
    np.testing.assert_allclose(sampled(trajectory, grid, 'effort'), np.transpose(expected),
                               atol=1e-12)


def test_points_at_or_before_the_start_are_dropped(rng):
    q = rng.normal(size=(4, NV))
    start = moving_start(rng)
    trajectory = Trajectory.from_points([-1.0, 0.0, 1.0, 2.0], q, start=start)
    same = Trajectory.from_points([1.0, 2.0], q[2:], start=start)
    assert trajectory.times == same.times == (0.0, 1.0, 2.0)
    np.testing.assert_array_equal(trajectory.coefficients, same.coefficients)


def test_single_point_without_start_is_a_place_to_stay():
    trajectory = Trajectory.from_points([0.5], [[1.0, 2.0]])
    for t in (0.0, 0.5, 1.0):
        np.testing.assert_array_equal(trajectory.sample(t).q, [1.0, 2.0])
    np.testing.assert_array_equal(trajectory.dense().q, [[1.0, 2.0]])


def test_out_is_filled_and_returned(rng):
    times, q, *_ = random_points(rng)
    trajectory, out = Trajectory.from_points(times, q), Reference.zeros(NV)
    buffers = [getattr(out, field) for field in FIELDS]
    for t in (-1.0, times[2], times[-1] + 1.0):
        assert trajectory.sample(t, out) is out
        fresh = trajectory.sample(t)
        for field, buffer in zip(FIELDS, buffers):
            assert getattr(out, field) is buffer
            np.testing.assert_array_equal(buffer, getattr(fresh, field))


def test_cannot_be_changed_from_outside(rng):
    times, q, *_ = random_points(rng)
    trajectory = Trajectory.from_points(times, q)
    expected = trajectory.sample(1.0).q
    q[:] = np.nan
    trajectory.sample(1e9).q[:] = np.nan
    np.testing.assert_array_equal(trajectory.sample(1.0).q, expected)
    for array in (trajectory.coefficients, trajectory.end.q, trajectory.begin.qd):
        with pytest.raises(ValueError, match='read-only'):
            array[...] = 0.0


def test_dense_agrees_with_sample_and_shows_both_sides_of_knots(rng):
    times, q, qd, *_ = random_points(rng)
    trajectory = Trajectory.from_points(times, q, qd)
    path = trajectory.dense(0.01)
    inside = path.times < times[-1]
    np.testing.assert_allclose(sampled(trajectory, path.times[inside], 'q'), path.q[inside],
                               atol=1e-9)
    assert (np.diff(path.times) <= 0.01 + 1e-12).all()
    assert all((np.abs(path.times - t) < 1e-12).sum() == 2 for t in times[1:-1])
    assert len(trajectory.dense(1e-9, max_samples=500).times) < 600
