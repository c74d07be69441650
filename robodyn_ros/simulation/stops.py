"""Joint stops: a spring and a damper beyond each position limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.trace import maximum, select

# rad or m, penetration of a stop at the largest torque of the joint
_YIELD = 0.01
# rad/s, natural frequency of a stop of a joint without torque limit
_FREQUENCY = 100.0


def penetration(position, lower, upper):
    """Return the penetration of a stop: positive at the upper, negative at the lower one."""
    return maximum(0.0, position - upper) - maximum(0.0, lower - position)


def in_contact(side, depth, velocity, stiffness, damping):
    """
    Return 1 where a stop pushes the joint back, 0 where it is out of reach or would pull.

    Parameters
    ----------
    side : scalar
        Positive at the upper stop, negative at the lower, 0 out of reach.
    depth, velocity : scalar
        Signed penetration of the stop (positive at the upper one), and velocity.
    stiffness, damping : scalar
        Stiffness and damping of the stop.

    """
    return select(side * (stiffness * depth + damping * velocity), 1.0, 0.0)


def default_stiffness(effort_limit: NDArray, inertia: NDArray) -> NDArray:
    """
    Return the stiffness of the stops: the penetration at the largest torque is 0.01 rad or m.

    Parameters
    ----------
    effort_limit : (nv,) array
        Effort limits; where zero or infinite, the stop has a natural frequency of 100 rad/s.
    inertia : (nv,) array
        Inertia at each joint: the diagonal of M.

    """
    known = (effort_limit > 0.0) & np.isfinite(effort_limit)
    return np.where(known, effort_limit / _YIELD, _FREQUENCY**2 * inertia)


def critical_damping(stiffness: NDArray, inertia: NDArray) -> NDArray:
    """Return the critical damping, with which a joint stops without bouncing."""
    return 2.0 * np.sqrt(stiffness * inertia)
