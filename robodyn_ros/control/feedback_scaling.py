"""Saturation of the feedback by the effort limits."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, select

# smallest part of the feedback: an overloaded joint must not disable the feedback of the others
MIN_SHARE = 0.1
_TINY = 1e-300  # keeps the quotient defined without feedback


def within_limits(feedback, rest, limit):
    """
    Return the feedback, reduced by a common factor so that no motor saturates.

    Limiting each joint separately would change the direction of the feedback: a saturated joint
    would then accelerate the others, and a large error would end in a violent oscillation.
    Joints whose limit is exceeded without feedback are ignored; their torque is limited later.
    """
    part = 1.0
    for b, r, most in zip(feedback, rest, limit):
        room = most - select(b, r, -r)
        part = minimum(part, select(most - absolute(r), room / maximum(absolute(b), _TINY), 1.0))
    part = maximum(part, MIN_SHARE)
    return [part * b for b in feedback]
