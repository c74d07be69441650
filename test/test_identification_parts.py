"""The parts of identification against closed forms: bodies as free numbers, filters, times."""

import numpy as np
import pytest

from robodyn_ros.exceptions import ArgumentError, ModelError
from robodyn_ros.identification.log_cholesky import from_matrix, LogCholesky, to_matrix, WEIGHTS
from robodyn_ros.identification.recording import (
    evenly_sampled, intersections, intervals_without_gap, Recording, sorted_samples, uniform)
from robodyn_ros.identification.signals import bandwidth, Filters, lowpass, motion, slowest_motion
from robodyn_ros.identification.statistics import condition_number, correlated_samples

# a brick of 2 kg, 0.1 x 0.2 x 0.4 m, away from the origin
BRICK = np.array([2.0, 0.2, -0.1, 0.4, 2.0 / 12 * 0.2 + 0.085, 2.0 / 12 * 0.17 + 0.1,
                  2.0 / 12 * 0.05 + 0.025, 0.01, -0.04, 0.02])


def random_theta(count, size=0.7):
    return size * np.random.default_rng(0).normal(size=(count, 10))


def test_nominal_body_is_at_zero():
    np.testing.assert_allclose(LogCholesky(BRICK, 'brick').parameters(np.zeros(10)), BRICK,
                               rtol=1e-12)
    np.testing.assert_allclose(from_matrix(to_matrix(BRICK)), BRICK, rtol=1e-12)


def test_every_choice_is_a_possible_body():
    around = LogCholesky(BRICK, 'brick')
    for theta in random_theta(200, 2.0):
        assert np.linalg.eigvalsh(to_matrix(around.parameters(theta)))[0] > 0.0


def test_derivative_is_that_of_differences():
    around, step = LogCholesky(BRICK, 'brick'), 1e-6
    for theta in random_theta(5):
        differences = np.column_stack([
            (around.parameters(theta + step * unit) - around.parameters(theta - step * unit))
            / (2.0 * step) for unit in np.eye(10)])
        np.testing.assert_allclose(around.derivative(theta), differences, atol=1e-7)


def test_small_steps_have_their_entropic_distance():
    around, P0 = LogCholesky(BRICK, 'brick'), to_matrix(BRICK)
    for theta in random_theta(5, 1e-3):
        ratio = np.linalg.solve(P0, to_matrix(around.parameters(theta)))
        distance = np.trace(ratio) - np.log(np.linalg.det(ratio)) - 4.0
        # d = 1/2 |log|^2 to second order; 1e-3 is the rest of the third
        assert distance == pytest.approx(np.sum((WEIGHTS * theta) ** 2), rel=1e-2)


def test_a_point_mass_is_spread_a_little_and_no_mass_is_refused():
    point = np.array([1.0, 0.0, 0.0, 0.5, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0])
    near = LogCholesky(point, 'point').parameters(np.zeros(10))
    np.testing.assert_allclose(near, point, atol=2e-5)
    with pytest.raises(ModelError, match="link 'flange' has mass 0 kg"):
        LogCholesky(np.zeros(10), 'flange')


RATE = 200.0
TIMES = np.arange(0.0, 20.0, 1.0 / RATE)


def test_bandwidth_is_that_of_the_fastest_wave_and_not_of_noise():
    q = np.column_stack([np.sin(2 * np.pi * 0.3 * TIMES) + 0.3 * np.sin(2 * np.pi * 1.5 * TIMES)])
    for noise in (0.0, 1e-3):
        noisy = q + noise * np.random.default_rng(0).normal(size=q.shape)
        assert bandwidth([noisy], RATE)[0] == pytest.approx(1.5, abs=0.26)


@pytest.mark.parametrize('noise', [1e-4, 1e-3])
def test_noise_begins_where_the_acceleration_rises_again(noise):
    motion, rng = np.sin(2 * np.pi * 0.5 * TIMES)[:, None], np.random.default_rng(0)
    assert bandwidth([motion], RATE) == (pytest.approx(0.5, abs=0.26), np.inf)
    found, onset = bandwidth([motion + noise * rng.normal(size=motion.shape)], RATE)
    assert found == pytest.approx(0.5, abs=0.26)
    assert found < onset < 8.0


def late_stamps(count, period, rng):
    """Return the times of samples and their stamps: most a little late, some by several ms."""
    times = 5.0 + period * np.arange(count)
    late = np.where(rng.random(count) < 0.05, rng.exponential(4e-3, count),
                    rng.exponential(2e-5, count))
    return times, np.maximum.accumulate(times + late) + 1e-9 * np.arange(count)


def test_late_stamps_are_repaired():
    rng = np.random.default_rng(0)
    times, stamps = late_stamps(5000, 1e-3, rng)
    assert np.diff(stamps).max() > 5e-3
    repaired = evenly_sampled(stamps, 1e-3)
    np.testing.assert_allclose(repaired, times, atol=1e-4)
    # also with a period that is not exact, or with lost messages
    np.testing.assert_allclose(evenly_sampled(stamps, 1.0002e-3), times, atol=1e-4)
    kept = rng.random(5000) > 0.02
    repaired = evenly_sampled(stamps[kept], 1e-3)
    assert np.mean(np.abs(repaired - times[kept]) < 1e-4) > 0.96


def test_a_period_that_is_not_that_of_the_stamps_is_refused():
    _, stamps = late_stamps(500, 1e-3, np.random.default_rng(0))
    for period in (5e-4, 2e-3):
        with pytest.raises(ArgumentError, match='the stamps are 1'):
            evenly_sampled(stamps, period)


def test_lowpass_has_no_delay_and_keeps_what_is_slow():
    slow, fast = (np.sin(2 * np.pi * f * TIMES)[:, None] for f in (0.5, 40.0))
    middle = slice(400, -400)
    np.testing.assert_allclose(lowpass(slow + fast, 5.0, RATE)[middle], slow[middle], atol=1e-5)


def test_derivatives_are_those_of_the_wave():
    w = 2 * np.pi * 0.5
    q = np.sin(w * TIMES)[:, None]
    filters = Filters.for_motion(RATE, 0.5)
    made = motion(TIMES, q, q, filters, np.array([1e-3]))
    middle = (made.times > 2.0) & (made.times < 18.0)
    t = made.times[middle]
    for found, true in ((made.q, np.sin(w * t)), (made.qd, w * np.cos(w * t)),
                        (made.qdd, -w * w * np.sin(w * t))):
        np.testing.assert_allclose(found[middle, 0], true, atol=2e-5 * w * w)


def test_noise_in_the_velocity_is_foreseen():
    filters = Filters(RATE, 5.0, 2.5)
    noise = 1e-3 * np.random.default_rng(0).normal(size=(len(TIMES), 20))
    made = motion(TIMES, noise, noise, filters, np.zeros(20))
    # a fifth: the edge of the filter is not sharp
    assert slowest_motion(1e-3, filters) / 4.0 == pytest.approx(made.qd.std(), rel=0.2)


def test_times_are_ordered_and_each_counts_once():
    times, values = sorted_samples(
        [3.0, 1.0, np.nan, 2.0, 1.0], np.array([[3.0], [9.0], [5.0], [np.nan], [1.0]]))
    assert times.tolist() == [1.0, 3.0] and values.tolist() == [[1.0], [3.0]]
    empty, _ = sorted_samples([], np.zeros((0, 2)))
    assert not len(empty)


def test_pieces_end_at_gaps():
    times = np.concatenate([np.arange(0.0, 1.0, 0.1), np.arange(5.0, 6.0, 0.1)])
    (a, b), (c, d) = intervals_without_gap(times)
    assert (a, c) == (0.0, 5.0) and (b, d) == pytest.approx((0.9, 5.9))
    assert intersections([(0.0, 1.0), (5.0, 6.0)], [(0.5, 5.5)]) == [(0.5, 1.0), (5.0, 5.5)]


def test_nothing_is_interpolated_across_a_gap():
    times = np.concatenate([np.arange(0.0, 1.0, 0.01), np.arange(3.0, 4.0, 0.01)])
    rate, segments = uniform(Recording(('a',), times, times[:, None], times, times[:, None]))
    assert rate == pytest.approx(100.0) and len(segments) == 2
    for at, q, effort in segments:
        np.testing.assert_allclose(q[:, 0], at, atol=1e-12)
        assert at[0] in (0.0, 3.0) and at[-1] - at[0] < 1.0


def test_repetition_counts_correlated_errors():
    rng, segment = np.random.default_rng(0), np.zeros(20000, dtype=int)
    white = rng.normal(size=20000)
    assert correlated_samples(white, segment) == pytest.approx(1.0, abs=0.1)
    walk = np.zeros(20000)
    for k in range(1, 20000):
        walk[k] = 0.8 * walk[k - 1] + white[k]
    # of an autoregression: (1 + a) / (1 - a)
    assert correlated_samples(walk, segment) == pytest.approx(9.0, rel=0.2)


def test_condition_number_is_that_of_scaled_columns():
    a = np.random.default_rng(0).normal(size=(300, 8)) * 10.0 ** np.arange(8)
    expected = np.linalg.cond(a / np.linalg.norm(a, axis=0))
    assert condition_number(a) == pytest.approx(expected, rel=1e-9)
    assert condition_number(np.zeros((3, 2))) == np.inf
