"""Joint stops: a spring and a damper beyond each position limit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.trace import maximum, select

# rad or m that the largest torque of a joint pushes it into its stop
_YIELD = 0.01
# rad/s of a stop where the torque limit says nothing about its stiffness
_FREQUENCY = 100.0


def penetration(position, lower, upper):
    """Return how far a joint is inside its stop: positive at the upper, negative at the lower."""
    return maximum(0.0, position - upper) - maximum(0.0, lower - position)


def pushes(side, depth, velocity, stiffness, damping):
    """
    Return 1 where a stop pushes the joint back, 0 where it is out of reach or would pull.

    Parameters
    ----------
    side : scalar
        Positive at the upper stop, negative at the lower, 0 out of reach.
    depth, velocity : scalar
        How far the joint is beyond the stop (positive above), and its velocity.
    stiffness, damping : scalar
        Of the stop.

    """
    return select(side * (stiffness * depth + damping * velocity), 1.0, 0.0)


def default_stiffness(effort_limit: NDArray, inertia: NDArray) -> NDArray:
    """
    Return the stiffness of the stops: the largest torque moves a joint 0.01 rad or m into one.

    Parameters
    ----------
    effort_limit : (nv,) array
        Where it is zero or infinite, the stop gets a natural frequency of 100 rad/s instead.
    inertia : (nv,) array
        What each joint feels: the diagonal of M.

    """
    known = (effort_limit > 0.0) & np.isfinite(effort_limit)
    return np.where(known, effort_limit / _YIELD, _FREQUENCY**2 * inertia)


def critical_damping(stiffness: NDArray, inertia: NDArray) -> NDArray:
    """Return the damping with which a joint comes to rest in its stop without bouncing."""
    return 2.0 * np.sqrt(stiffness * inertia)
