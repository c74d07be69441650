"""Torque bounds, the brake in front of a joint's end, and feedback that was lowered."""

from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from robodyn_ros.safety import oscillation
from robodyn_ros.safety.walls import brake_speed
from steps import doubles

INF = np.inf
LOWER, UPPER = np.array([-1.0, -INF]), np.array([2.0, INF])


def brake(q, qd):
    return 10.0 * np.array([float(brake_speed(*doubles([q, qd, low, high, 0.1])))
                            for low, high in zip(LOWER, UPPER)])


@pytest.mark.parametrize('q, qd', [
    (0.5, 0.0), (0.5, 8.0), (0.5, -8.0), (2.0, 0.0), (-1.0, 0.0), (1.99, -5.0), (-0.99, 5.0),
    (1.9, 0.9), (-0.9, -0.9)])
def test_no_torque_away_from_limits_or_inward_or_slow(q, qd):
    assert not brake(q, qd).any()


@pytest.mark.parametrize('q, qd, sign', [
    (1.95, 3.0, -1), (2.1, 0.0, -1), (2.1, 3.0, -1), (-0.95, -3.0, 1), (-1.1, 0.0, 1)])
def test_outward_is_braked_inward(q, qd, sign):
    out = brake(q, qd)
    assert np.sign(out[0]) == sign and out[1] == 0.0


def test_brake_value_is_damping_times_the_excess_speed():
    # 0.05 from the limit 0.5 rad/s are free; 3 are 2.5 too many, less half the softness.
    assert brake(1.95, 3.0)[0] == pytest.approx(-10.0 * 2.49)


@settings(max_examples=200, deadline=None)
@given(st.floats(-3.0, 4.0), st.floats(-10.0, 10.0), st.floats(-1e-6, 1e-6))
def test_brake_takes_energy_inside_limits_and_has_no_step(q, qd, small):
    torque = brake(q, qd)[0]
    if -1.0 <= q <= 2.0:
        assert torque * qd <= 0.0
    assert abs(brake(q + small, qd)[0] - torque) <= 101.0 * abs(small) + 1e-9
    assert abs(brake(q, qd + small)[0] - torque) <= 10.1 * abs(small) + 1e-9


@pytest.mark.parametrize('speed', [0.5, 2.0, 10.0])
def test_free_mass_stops_before_its_limit(speed):
    mass, dt, q, qd = 0.2, 1e-3, 0.0, speed
    for _ in range(5000):
        qd += brake(q, qd)[0] / mass * dt
        q += qd * dt
        assert q <= 2.0 + 0.02 * 0.1
    assert abs(qd) < 0.02


@pytest.mark.parametrize('factors, waited, expected', [
    ([1.0, 0.5], [9.0, 0.1], True), ([1.0, 0.5], [0.1, 9.0], False),
    ([1.0, 1.0], [0.1, 0.1], False)])
def test_the_feedback_of_one_joint_that_was_lowered_a_moment_ago_is_enough(factors, waited,
                                                                           expected):
    assert bool(oscillation.recent(SimpleNamespace(factor=factors, waited=waited))) == expected
