"""Where a guard holds an arm: at the end of its motion, inside its limits, and yielding."""

import numpy as np
import pytest
from robodyn_ros.safety import Anchor

LOWER, UPPER = np.array([-1.0, -2.0, -np.inf]), np.array([0.5, 2.0, np.inf])
DAMPING, RATE = 10.0, 40.0
STILL = np.zeros(3)


def dropped(q, qd):
    anchor = Anchor(LOWER, UPPER)
    anchor.reset(np.array(q), np.array(qd), DAMPING)
    return anchor


def test_it_is_where_damping_alone_ends_the_motion():
    np.testing.assert_allclose(dropped([0.1, 0.2, 0.3], [1.0, -5.0, 1e3]).q, [0.2, -0.3, 100.3])


@pytest.mark.parametrize('side, limit', [(1.0, UPPER), (-1.0, LOWER)], ids=['upper', 'lower'])
def test_it_is_never_beyond_a_limit_of_position(side, limit):
    """
    Protects a guarded arm from being pulled beyond its limits, on either side.

    That would be where it heads for one, where it already stands beyond, and where it is dragged.
    """
    anchor = dropped([0.4 * side, 9.0 * side, 0.0], [20.0 * side, 0.0, 0.0])
    np.testing.assert_array_equal(anchor.q[:2], limit[:2])
    anchor.pull(np.full(3, 7.0 * side), STILL, DAMPING, RATE)
    anchor.slip(np.full(3, 0.1))
    np.testing.assert_array_equal(anchor.q[:2], limit[:2])
    assert side * anchor.q[2] > 6.0, 'a joint without limits is free'


def test_a_motion_as_foreseen_is_not_pulled_at():
    """Protects the arm from feedback against its own decay: with v' = -d v the pull stays 0."""
    q, qd = np.array([0.1, 0.2, 0.3]), np.array([1.0, -5.0, 3.0])
    anchor = dropped(q, qd)
    for t in (0.0, 0.05, 1.0):
        left = np.exp(-DAMPING * t)
        pull = anchor.pull(q + qd / DAMPING * (1.0 - left), qd * left, DAMPING, RATE)
        np.testing.assert_allclose(pull, 0.0, atol=1e-11)


def test_the_pull_has_the_two_poles_and_leads_back():
    """Protects sign and size of the hold: at rest a spring of stiffness d p, damped by d + p."""
    anchor = dropped([0.1, 0.2, 0.3], STILL)
    np.testing.assert_allclose(anchor.pull(np.array([0.2, 0.1, 0.3]), STILL, DAMPING, RATE),
                               [-0.1 * DAMPING * RATE, 0.1 * DAMPING * RATE, 0.0], atol=1e-12)
    np.testing.assert_allclose(
        anchor.pull(anchor.q, np.array([1.0, 0.0, -2.0]), DAMPING, RATE), [-RATE, 0.0, 2.0 * RATE])


def test_dragged_it_keeps_the_part_of_the_pull_that_was_granted():
    """Protects the bound of the hold: from the same state the next pull is that part of it."""
    anchor, q = dropped([0.0, 0.0, 0.0], STILL), np.array([0.4, -0.3, 0.2])
    pull = anchor.pull(q, STILL, DAMPING, RATE).copy()
    part = np.array([0.25, 1.0, 0.5])
    anchor.slip(part)
    np.testing.assert_allclose(anchor.pull(q, STILL, DAMPING, RATE), part * pull, rtol=1e-12)
