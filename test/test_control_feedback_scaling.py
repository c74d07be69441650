"""Feedback keeps its direction within the limits of the motors."""

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
from robodyn_ros.control.terms import MIN_SHARE, within_limits

LIMIT = np.array([10.0, 5.0, 1.0])
numbers = arrays(float, 3, elements=st.floats(-100.0, 100.0).map(lambda x: round(x, 6)))


def reduced(feedback, rest, limit=LIMIT):
    return np.array(within_limits(*(list(map(float, part)) for part in (feedback, rest, limit))))


def test_what_fits_stays():
    np.testing.assert_array_equal(reduced([5.0, -5.0, 0.0], [5.0, 0.0, 1.0]), [5.0, -5.0, 0.0])
    np.testing.assert_array_equal(reduced([1e9, -1e9, 3.0], [5.0, 0.0, 1.0], [np.inf] * 3),
                                  [1e9, -1e9, 3.0])


def test_the_joint_that_has_the_least_decides_for_all():
    # the second has 4 of 8 left
    np.testing.assert_allclose(reduced([6.0, 8.0, 0.1], [1.0, 1.0, 0.0]), [3.0, 4.0, 0.05])
    # against the rest there is more room
    np.testing.assert_allclose(reduced([6.0, -12.0, 0.1], [1.0, 1.0, 0.0]), [3.0, -6.0, 0.05])


def test_an_overloaded_joint_takes_nothing_from_the_others():
    for rest in (7.0, -7.0):  # whichever way
        np.testing.assert_array_equal(reduced([1.0, 3.0, 0.5], [1.0, rest, 0.2]), [1.0, 3.0, 0.5])
    # one that is almost overloaded takes no more than most
    np.testing.assert_allclose(reduced([1.0, 3.0, 0.5], [1.0, 4.999, 0.2]),
                               np.array([1.0, 3.0, 0.5]) * MIN_SHARE)


@settings(deadline=None)
@given(numbers, numbers)
def test_direction_stays_and_limits_hold_where_they_can(feedback, rest):
    result = reduced(feedback, rest)
    nonzero = feedback != 0.0
    parts = result[nonzero] / feedback[nonzero]
    assert np.all(parts <= 1.0 + 1e-12) and np.all(parts >= MIN_SHARE * (1 - 1e-12))
    assert np.ptp(parts) < 1e-12 if parts.size else True
    if parts.size and parts.min() > MIN_SHARE * (1 + 1e-9):
        free = np.abs(rest) < LIMIT
        assert np.all(np.abs(rest + result)[free] <= LIMIT[free] * (1 + 1e-12))
