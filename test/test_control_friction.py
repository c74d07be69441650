"""Friction compensation: viscous and Coulomb, odd, without a step, and none at rest."""

import numpy as np
import pytest
from robodyn_ros.control.friction import (
    friction, MEASURED_SMOOTHING, measured_width, smoothed_sign, SMOOTHING, unmodelled)

VISCOUS, COULOMB = np.array([0.5, 0.0, 2.0]), np.array([0.3, 0.4, 0.0])


def at(speed):
    """Return the friction of three joints at one speed."""
    return np.array(friction(np.full(3, speed), VISCOUS, COULOMB, COULOMB, np.full(3, 0.01),
                             np.full(3, SMOOTHING)))


def test_none_at_rest():
    assert not at(0.0).any()


@pytest.mark.parametrize('speed', [100.0 * SMOOTHING, 1.0, 10.0])
def test_both_parts_in_motion(speed):
    np.testing.assert_allclose(at(speed), VISCOUS * speed + COULOMB, rtol=1e-4)


def test_odd_rising_and_without_a_step():
    speeds = np.linspace(-0.2, 0.2, 4001)
    values = np.array([at(speed) for speed in speeds])
    np.testing.assert_allclose(values, -values[::-1], atol=1e-15)
    slopes = np.diff(values, axis=0) / np.diff(speeds)[:, None]
    assert np.all(slopes > 0.0)
    assert np.all(slopes <= VISCOUS + COULOMB / SMOOTHING + 1e-9)


def test_width_is_that_of_the_gradual_change_of_sign():
    width = np.array([0.001, 0.1, 0.5])
    found = friction(np.full(3, 0.1), np.zeros(3), np.ones(3), np.ones(3), np.ones(3), width)
    np.testing.assert_allclose(found, 0.1 / np.hypot(0.1, width), rtol=1e-12)
    np.testing.assert_allclose(found, smoothed_sign(np.full(3, 0.1), width), rtol=1e-15)
    omitted = unmodelled(np.full(3, -0.1), np.full(3, 2.0), width)
    np.testing.assert_allclose(omitted, 2.0 - 2.0 * np.array(found), rtol=1e-12)
    assert measured_width(width)[0] == MEASURED_SMOOTHING and measured_width(width)[2] == 0.5
