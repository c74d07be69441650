"""Arithmetic of the steps: lists with a number for each joint."""

import math

import numpy as np
import pytest
from robodyn_ros.dynamics.jit import vectors
from steps import array, doubles

NAN = math.nan


def test_a_smooth_step_is_bounded():
    assert [vectors.smooth_step(*doubles([x])) for x in (-1.0, 0.0, 0.25, 0.5, 1.0, 7.0)] == [
        0.0, 0.0, 5.0 / 32.0, 0.5, 1.0, 1.0]
    assert vectors.smooth_step(doubles(NAN)) == 0.0


@pytest.mark.parametrize('halvings', [1, 4, 1024])
def test_the_exponential_is_that_of_the_library(halvings):
    for x in np.linspace(0.0, -1.0, 97) * min(halvings, 700):
        found = vectors.exponential(*doubles([x]), halvings)
        assert found == pytest.approx(math.exp(x), rel=4e-16 * (halvings + 4))
    least = vectors.exponential(*doubles([-halvings]), halvings)
    assert vectors.exponential(*doubles([-1e9]), halvings) == least


def test_places_are_found_by_number():
    assert vectors.largest(doubles([1.0, 3.0, NAN, 3.0])) == 1.0
    assert vectors.largest(doubles([NAN, 3.0])) == 0.0
    flags = [0.0, 0.0, 1.0, 1.0]
    assert vectors.first_where(doubles(flags)) == 2.0
    assert vectors.first_where(doubles([0.0, 0.0])) == 0.0
    assert [vectors.element(doubles([4.0, 5.0, 6.0]), doubles(k)) for k in range(3)] == [4, 5, 6]


def test_bounds_hold_whatever_comes():
    low, high = np.full(5, -2.0), np.full(5, 3.0)
    found = vectors.clipped(*doubles([[-9.0, 9.0, 1.0, NAN, math.inf], low, high]))
    np.testing.assert_array_equal(array(found), [-2.0, 3.0, 1.0, -2.0, 3.0])
    assert vectors.positive(doubles(0.0)) > 0.0 and vectors.positive(doubles(NAN)) > 0.0
