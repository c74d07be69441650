"""Sensors: statistics with seeds, exact effects, and what is refused."""
import math

import numpy as np
import pytest
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.simulation.sensors import Sensors, SensorSettings

Q, QD, EFFORT = np.array([0.1, -0.2]), np.array([0.5, 0.0]), np.array([3.0, -4.0])


def series(settings, count=20_000, seed=1, q=Q, step=1e-3):
    """Return positions, velocities and efforts of many measurements of one state, (3, N, 2)."""
    sensors = Sensors(2, settings, seed)
    rows = []
    for k in range(count):
        sensors.measure(k * step, q, QD, EFFORT)
        rows.append([sensors.position.copy(), sensors.velocity.copy(), sensors.effort.copy()])
    return np.array(rows).transpose(1, 0, 2)


def test_ideal_sensors_report_the_true_state():
    sensors = Sensors(2)
    assert sensors.ideal and sensors.measure(0.0, Q, QD, EFFORT)
    assert (sensors.position == Q).all() and (sensors.effort == EFFORT).all()
    assert sensors.settings.differences() == []


def test_noise_has_the_requested_mean_and_spread():
    noisy = SensorSettings(position_noise=[0.01, 0.0], velocity_noise=0.2, effort_noise=1.5,
                           position_bias=[0.3, 0.0], effort_bias=-2.0)
    position, velocity, effort = series(noisy)
    n = math.sqrt(20_000)
    # five standard errors of a mean, and of a standard deviation (sigma / sqrt(2 n))
    assert position[:, 0].mean() == pytest.approx(Q[0] + 0.3, abs=5 * 0.01 / n)
    assert position[:, 0].std() == pytest.approx(0.01, rel=5 / (math.sqrt(2) * n))
    assert (position[:, 1] == Q[1]).all()
    assert effort.mean(axis=0) == pytest.approx(EFFORT - 2.0, abs=5 * 1.5 / n)
    for each, sigma in ((velocity, 0.2), (effort, 1.5)):
        assert each.std(axis=0) == pytest.approx([sigma] * 2, rel=5 / (math.sqrt(2) * n))
        # white: no correlation with the sample before, nor between joints
        for a, b in ((each[1:, 0], each[:-1, 0]), (each[:, 0], each[:, 1])):
            assert abs(np.corrcoef(a, b)[0, 1]) < 5 / n


def test_the_same_seed_gives_the_same_numbers_and_another_one_others():
    noisy = SensorSettings(position_noise=0.01, dropout=0.3)
    np.testing.assert_array_equal(series(noisy, 50), series(noisy, 50))
    assert (series(noisy, 50, seed=2) != series(noisy, 50)).any()
    # one effect does not change the random numbers of another
    more = SensorSettings(position_noise=0.01, velocity_noise=0.1, effort_noise=1.0)
    np.testing.assert_array_equal(series(more, 50)[0],
                                  series(SensorSettings(position_noise=0.01), 50)[0])


def test_reset_begins_the_random_numbers_again():
    sensors = Sensors(2, SensorSettings(position_noise=0.1), 3)
    sensors.measure(0.0, Q, QD, EFFORT)
    first = sensors.position.copy()
    sensors.measure(1.0, Q, QD, EFFORT)
    sensors.reset()
    sensors.measure(0.0, Q, QD, EFFORT)
    np.testing.assert_array_equal(sensors.position, first)


def test_encoders_count_in_their_resolution():
    resolution = 2 * math.pi / 4096
    sensors = Sensors(2, SensorSettings(resolution=[resolution, 0.0]))
    for q in np.linspace(-1.0, 1.0, 101):
        sensors.measure(q, np.array([q, q]), QD, EFFORT)
        counts = sensors.position[0] / resolution
        assert counts == pytest.approx(round(counts), abs=1e-9)
        assert abs(sensors.position[0] - q) <= resolution / 2 * (1 + 1e-9)
        assert sensors.position[1] == q


def test_a_delay_has_the_requested_length():
    sensors = Sensors(2, SensorSettings(delay=0.005))
    for k in range(100):
        sensors.measure(1e-3 * k, np.full(2, float(k)), QD, EFFORT)
        # at first there is only the first sample
        assert sensors.position[0] == max(k - 5, 0)


def test_dropout_loses_its_part_and_keeps_the_measurement_before():
    sensors = Sensors(2, SensorSettings(dropout=0.25), 5)
    good = sum(sensors.measure(1e-3 * k, Q, QD, EFFORT) for k in range(10_000))
    # binomial: five standard deviations
    assert good == pytest.approx(7500, abs=5 * math.sqrt(10_000 * 0.25 * 0.75))
    assert sensors.dropped == 10_000 - good
    sensors.change(SensorSettings(dropout=1.0))
    assert not sensors.measure(11.0, Q + 1.0, QD, EFFORT)
    assert (sensors.position == Q).all()


def test_differences_of_a_ramp_are_its_slope_and_quantised_ones_are_not():
    slope = 0.1
    exact = Sensors(1, SensorSettings(differentiate=True))
    coarse = Sensors(1, SensorSettings(differentiate=True, resolution=1e-3))
    velocities = []
    for k in range(2000):
        q = np.array([slope * 1e-3 * k])
        exact.measure(1e-3 * k, q, np.zeros(1), np.zeros(1))
        coarse.measure(1e-3 * k, q, np.zeros(1), np.zeros(1))
        velocities.append(coarse.velocity[0])
        assert exact.velocity[0] == pytest.approx(slope if k else 0.0, rel=1e-9)
    # now and then a whole count in a step, else nothing; the mean is right
    assert set(np.round(velocities, 6)) == {0.0, 1.0}
    assert np.mean(velocities) == pytest.approx(slope, rel=0.02)


def test_the_low_pass_answers_a_step_as_one_of_first_order_does():
    cutoff = 10.0
    sensors = Sensors(1, SensorSettings(differentiate=True, velocity_cutoff=cutoff))
    q = 0.0
    sensors.measure(0.0, np.zeros(1), np.zeros(1), np.zeros(1))
    for k in range(1, 100):
        q += 1e-3
        sensors.measure(1e-3 * k, np.array([q]), np.zeros(1), np.zeros(1))
        # sampled exactly: 1 - exp(-2 pi f t)
        assert sensors.velocity[0] == pytest.approx(
            1.0 - math.exp(-2 * math.pi * cutoff * 1e-3 * k), rel=1e-9)


@pytest.mark.parametrize('arguments, words', [
    ({'resolution': -0.1}, ['resolution', '-0.1', 'not negative']),
    ({'position_noise': math.nan}, ['position_noise', 'nan']),
    ({'effort_bias': math.inf}, ['effort_bias', 'inf', 'finite']),
    ({'velocity_noise': 'loud'}, ['velocity_noise', "'loud'"]),
    ({'delay': -1.0}, ['delay', '-1.0']),
    ({'dropout': 1.5}, ['dropout', '1.5', 'from 0 to 1']),
    ({'velocity_cutoff': 0.0}, ['velocity_cutoff', '0.0', 'Hz']),
])
def test_a_mistake_is_named(arguments, words):
    with pytest.raises(ArgumentError) as caught:
        SensorSettings(**arguments)
    for word in words:
        assert word in str(caught.value)


def test_one_number_for_each_joint_or_one_for_all():
    with pytest.raises(ArgumentError, match='resolution.* 3 numbers.*2 joints'):
        Sensors(2, SensorSettings(resolution=[0.1, 0.1, 0.1]))
