"""Reference that approaches targets within limits of velocity and acceleration."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.trajectory import Reference, Trajectory


def towards(start: Reference, target: NDArray, period: float, velocity: NDArray,
            acceleration: float) -> Trajectory:
    """
    Return a motion with constant acceleration for a period, which then comes to rest.

    The velocity after the period is the largest one towards the target from which the joint can
    stop there.

    Parameters
    ----------
    start : Reference
        Present reference.
    target : (nv,) array
        Target in rad or m.
    period : float
        Time until the next target, in s.
    velocity : (nv,) array
        Velocity limits.
    acceleration : float
        Acceleration limit, in rad/s^2 or m/s^2.

    """
    q, v = start.q, start.qd
    # with this velocity v after the period: (v0 + v) T / 2 + v^2 / (2 a) = way
    step = 0.5 * acceleration * period
    way = target - q
    left = np.maximum(np.abs(way) - 0.5 * period * v * np.sign(way), 0.0)
    wanted = np.minimum(np.sqrt(step * step + 2.0 * acceleration * left) - step, velocity)
    change = acceleration * period
    after = np.clip(np.sign(way) * wanted, v - change, v + change)
    stops = max(float(np.abs(after).max()) / acceleration, period)
    nv = len(q)
    blocks = np.zeros((2, 6, 4, nv))
    middle = q + 0.5 * period * (v + after)
    for row, place, rate, slope in ((0, q, v, (after - v) / period),
                                    (1, middle, after, -after / stops)):
        blocks[row, :3, 0] = place, rate, 0.5 * slope
        blocks[row, :2, 1] = rate, slope
        blocks[row, 0, 2] = slope
    end = Reference.at_rest(middle + 0.5 * stops * after)
    return Trajectory((0.0, period, period + stops), blocks.reshape(2, 6, 4 * nv),
                      Reference.at_rest(q), end)
