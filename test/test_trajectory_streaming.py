"""Streams of targets: timing, smooth curve, buffer, and motions within limits."""

import numpy as np
import pytest
from robodyn_ros.trajectory import Reference
from robodyn_ros.trajectory.streaming import MotionLimits, StreamMotion, StreamTiming, Targets
from robodyn_ros.trajectory.streaming.smooth_curve import SmoothCurve

PERIOD = 0.02


def no_velocities(q):
    return np.full_like(q, np.nan)


# --- timing ---------------------------------------------------------------------------------


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('usual', [PERIOD, 1.0])
def test_jitter_and_losses_are_removed_from_arrivals(seed, usual):
    """The times lie on the grid of the sender, but for a constant."""
    rng = np.random.default_rng(seed)
    timing, errors = StreamTiming(), []
    for k in range(200):
        if rng.random() < 0.05:
            continue
        zero = timing.add(k * PERIOD + rng.uniform(0.0, 2.0 / 3.0) * PERIOD, None, [usual])
        errors.append(zero - k * PERIOD)
    assert timing.period == pytest.approx(PERIOD, rel=0.01)
    assert np.std(errors[60:]) < 0.08 * PERIOD  # the jitter has a deviation of 0.19 periods
    assert np.abs(np.diff(errors[60:])).max() < 0.03 * PERIOD


def test_the_arm_follows_by_one_period_behind_single_points():
    """A point counts one period after it was sent; the next one is then known, see `timing`."""
    timing = StreamTiming()
    for k in range(30):
        timing.add(k * PERIOD, None, [PERIOD])
    assert timing.delay == pytest.approx(PERIOD)
    smooth = StreamTiming(smoothing=0.1)
    for k in range(30):
        smooth.add(k * PERIOD, None, [PERIOD])
    assert smooth.delay == pytest.approx(0.1)


def test_the_delay_of_stamped_messages_is_measured():
    timing = StreamTiming()
    for k in range(30):
        assert timing.add(k * PERIOD + 0.15, k * PERIOD, [PERIOD]) == k * PERIOD
    assert timing.transport == pytest.approx(0.15)
    assert timing.delay == pytest.approx(0.15 + PERIOD)


def test_points_ahead_of_time_are_followed_without_delay():
    """A policy: chunks of 0.8 s, every half second, 0.2 s late."""
    timing, times = StreamTiming(smoothing=0.05), list(0.05 * np.arange(1, 17))
    for k in range(8):
        timing.add(0.5 * k + 0.2, 0.5 * k, times)
    assert timing.delay == 0.0 and timing.spacing == pytest.approx(0.05)


# --- smooth curve -----------------------------------------------------------------------------


def least_jerk(times, q, factor, grid):
    """Return what minimises the squared distances and the jerk, by finite differences."""
    h, n = grid[1] - grid[0], grid.size
    rows = np.zeros((times.size, n))
    for k, t in enumerate(times):
        i = min(int((t - grid[0]) / h), n - 2)
        share = (t - grid[i]) / h
        rows[k, i:i + 2] = 1.0 - share, share
    third = np.diff(np.eye(n), 3, axis=0) / h ** 3 * np.sqrt(factor * h)
    return np.linalg.lstsq(np.vstack([rows, third]), np.append(q, np.zeros(n - 3)), rcond=None)[0]


def test_the_curve_has_the_least_jerk():
    rng = np.random.default_rng(1)
    times, spacing, cutoff = np.sort(rng.uniform(0.0, 1.0, 9)), 0.1, 0.06
    q = np.sin(4.0 * times) + 0.05 * rng.normal(size=9)
    curve = SmoothCurve(times, q[:, None], no_velocities(q[:, None]), spacing, cutoff)
    grid = np.linspace(times[0], times[-1], 600)
    expected = least_jerk(times, q, cutoff ** 6 / spacing, grid)
    np.testing.assert_allclose(curve.states(grid)[0][:, 0], expected, atol=2e-4)


@pytest.mark.parametrize('velocities', [False, True])
@pytest.mark.parametrize('from_state', [False, True])
def test_derivatives_of_the_curve(velocities, from_state):
    rng = np.random.default_rng(2)
    times, q = 0.1 + np.sort(rng.uniform(0.0, 1.0, 8)), rng.normal(size=(8, 2))
    qd = rng.normal(size=(8, 2)) if velocities else no_velocities(q)
    start = Reference(*rng.normal(size=(4, 2))) if from_state else None
    curve = SmoothCurve(times, q, qd, 0.1, 0.03, start)
    h, t = 1e-5, np.linspace(0.15, 1.3, 40)
    states, before, after = (curve.states(t + x) for x in (0.0, -h, h))
    np.testing.assert_allclose(curve.states(), curve.states(times), rtol=1e-9, atol=1e-9)
    for k in range(2):
        np.testing.assert_allclose((after[k] - before[k]) / (2.0 * h), states[k + 1],
                                   atol=1e-4 * np.abs(states[k + 1]).max())
    if from_state:
        for found, given in zip(curve.states([0.0]), start.arrays):
            np.testing.assert_allclose(found[0], given, atol=1e-9)


def test_without_smoothing_the_curve_interpolates_and_meets_velocities():
    times = np.array([0.0, 0.1, 0.25, 0.3, 0.5])
    q, qd = np.sin(3.0 * times)[:, None], 3.0 * np.cos(3.0 * times)[:, None]
    curve = SmoothCurve(times, q, qd, 0.1, 1e-4)
    found = curve.states(times)
    np.testing.assert_allclose(found[0], q, atol=1e-6)
    np.testing.assert_allclose(found[1], qd, atol=1e-4)
    between = np.linspace(0.0, 0.5, 20)
    np.testing.assert_allclose(curve.states(between)[0][:, 0], np.sin(3.0 * between), atol=1e-4)


# --- buffer -----------------------------------------------------------------------------------


def test_overlapping_points_gain_weight_with_time():
    targets, times = Targets(1), np.arange(0.0, 1.01, 0.1)
    targets.add(times, np.zeros((11, 1)))
    targets.add(times[2:] + 1e-9, np.ones((9, 1)), now=0.3, blend=0.4)
    assert targets.times.size == 11
    np.testing.assert_allclose(targets.q[:, 0], [0.0, 0.0, 0.0, 0.0, 0.15625, 0.5, 0.84375, 1.0,
                                                 1.0, 1.0, 1.0], atol=1e-6)


def test_points_in_the_past_are_forgotten():
    targets = Targets(2)
    for k in range(500):
        targets.add([0.01 * k], np.full((1, 2), float(k)))
    assert targets.times.size < 80 and targets.last == pytest.approx(4.99)


def test_the_velocity_decays_behind_the_last_target():
    targets = Targets(1)
    targets.add(0.1 * np.arange(5), 0.1 * np.arange(5)[:, None])
    q, qd, _ = targets.states(np.array([0.4, 0.5, 5.0]), 0.1, 0.0)
    assert qd[0, 0] == pytest.approx(1.0) and 0.0 < qd[1, 0] < 1.0 and abs(qd[2, 0]) < 1e-9
    assert 0.4 < q[1, 0] < 0.5 and q[2, 0] < 0.6


# --- motion -----------------------------------------------------------------------------------


def limits(nv=2, **changed):
    one = np.ones(nv)
    values = {'lower': -2.0 * one, 'upper': 2.0 * one, 'velocity': 2.0 * one,
              'acceleration': 15.0 * one, 'jerk': 400.0 * one, 'effort': 8.0 * one,
              'needed': lambda q, qd, qdd: qdd + 2.0 * np.sin(q)}
    return MotionLimits(**{**values, **changed})


def test_the_need_of_segments_is_that_of_each_alone():
    """Of any length, within limits and beyond; at least that at their ends."""
    rng, start = np.random.default_rng(3), Reference.at_rest(np.zeros(2))
    lengths = rng.choice([0.02, 0.05, 0.1, 0.4, 2.0], 30)
    coefficients = rng.normal(size=(30, 6, 2)) / lengths[:, None, None] ** np.arange(6)[:, None]
    coefficients[::2] *= 0.02
    found = limits().excess(start, lengths, coefficients)
    alone = [limits().excess(start, lengths[k:k + 1], coefficients[k:k + 1])[0] for k in range(30)]
    np.testing.assert_allclose(found, alone, rtol=1e-12)
    assert found.min() < 1.0 < found.max()
    assert np.all(found >= limits().excess(start, lengths, coefficients, 2) - 1e-12)
    assert np.isinf(limits().excess(start, np.array([np.nan]), coefficients[:1]))


def walk(seed, jump=0.02, every=PERIOD, seconds=3.0):
    """Yield start, moment and motion for targets that wander, leap and stay away."""
    rng = np.random.default_rng(seed)
    timing, targets, motion = StreamTiming(0.03), Targets(2), StreamMotion(limits())
    q, reference, plan, begin, now = np.zeros(2), Reference.at_rest(np.zeros(2)), None, 0.0, 0.0
    while now < seconds:
        now += every * rng.uniform(0.4, 1.6) + (0.4 if rng.random() < 0.02 else 0.0)
        q = q + rng.normal(0.0, jump, 2) + (rng.normal(0.0, 0.4, 2) if rng.random() < 0.03 else 0)
        zero = timing.add(now, None, [every])
        targets.add([zero + every], q[None])
        start = reference if plan is None else plan.sample(now - begin)
        made = motion.plan(start, now, targets, timing, every)
        if made is not None:
            yield start, made
            plan, begin = made, now


@pytest.mark.parametrize('seed', range(4))
def test_any_stream_is_followed_within_limits_and_can_end_at_any_time(seed):
    bounds, count = limits(), 0
    for start, made in walk(seed):
        count += 1
        first, path = made.sample(0.0), made.dense(2e-3)
        for name in ('q', 'qd', 'qdd'):
            np.testing.assert_allclose(getattr(first, name), getattr(start, name), atol=1e-9)
        assert np.abs(path.q).max() <= 2.0 + 1e-5
        assert np.abs(path.qd).max() <= 2.0 * 1.001
        assert np.abs(path.qdd).max() <= 15.0 * 1.02
        effort = np.abs(bounds.needed(path.q, path.qd, path.qdd)).max()
        # checked every 10 ms
        assert effort <= 8.0 * 1.05
        last = made.sample(made.duration - 1e-9)
        assert np.abs(last.qd).max() < 1e-6 and np.abs(last.qdd).max() < 1e-4
        np.testing.assert_allclose(last.q, made.end.q, atol=1e-6)
    assert count > 60


def test_a_step_is_reached_in_reasonable_time_and_without_overshoot():
    timing, targets, motion = StreamTiming(0.03), Targets(2), StreamMotion(limits())
    plan, begin, rows = None, 0.0, []
    for k in range(120):
        now = k * PERIOD
        zero = timing.add(now, None, [PERIOD])
        targets.add([zero + PERIOD], np.array([[0.3, -0.2]]) * (k > 10))
        start = Reference.at_rest(np.zeros(2)) if plan is None else plan.sample(now - begin)
        made = motion.plan(start, now, targets, timing, PERIOD)
        if made is not None:
            plan, begin = made, now
        rows.append(plan.sample(now - begin).q)
    rows = np.array(rows)
    np.testing.assert_allclose(rows[-1], [0.3, -0.2], atol=1e-4)
    reached = PERIOD * np.flatnonzero(np.abs(rows[:, 0] - 0.3) > 0.003)[-1] - 11 * PERIOD
    assert reached < 0.9
    assert rows[:, 0].max() < 0.3 * 1.05 and rows[:, 1].min() > -0.2 * 1.05
