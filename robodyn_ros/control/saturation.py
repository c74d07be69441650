"""Feedback within the torque that the motors have."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, select

# what always remains: an overloaded joint must not leave the others without feedback
LEAST = 0.1
_TINY = 1e-300  # keeps the quotient defined where there is no feedback


def within_limits(feedback, rest, limit):
    """
    Return the feedback, reduced by one factor so that no motor is asked for more than it has.

    Cut joint by joint it would change its direction: a joint that saturates would then accelerate
    the others, and a large error would end in a violent oscillation. Joints whose limit is
    exceeded without feedback do not count, they are cut later.
    """
    part = 1.0
    for b, r, most in zip(feedback, rest, limit):
        room = most - select(b, r, -r)
        part = minimum(part, select(most - absolute(r), room / maximum(absolute(b), _TINY), 1.0))
    part = maximum(part, LEAST)
    return [part * b for b in feedback]
