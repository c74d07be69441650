"""
Path time: how fast the reference advances along its path.

On the path q(s) the reference has the velocity q' r and the acceleration q'' r^2 + q' dr/dt, where
the rate r = ds/dt is 1 at full speed and 0 in a pause. The rate goes to the requested one with
limited derivatives: the second by `jerk`, the first so that no joint needs more than `_SPARE` of
its largest torque (Bobrow, Dubowsky and Gibson 1985). A path that needs more at full speed by
itself is not slowed down.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, scalar
from robodyn_ros.dynamics.jit.flags import equal, no, when
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, sqrt

FULL = 1.0
_SPARE = 0.9        # of the largest torque, left to feedback
_ARRIVED = 1e-7     # difference of rates that is set to 0
_TINY = 1e-12
_ANY = 1e9          # 1/s, where no joint limits the change


@block
class Program:
    scaling: float = scalar('', 'Requested rate of the path time: 1 full speed, 0 pause.')
    jerk: float = scalar('1/s^3', 'Largest second derivative of the rate.')


@block
class Memory:
    rate: float = scalar('', 'Rate of the path time.')
    change: float = scalar('1/s', 'Its derivative.')


def started(p, moving):
    """Return the memory of a path that begins; moving: flag that the reference moves already."""
    return Memory(when(moving, FULL, p.scaling), 0.0)


def steady(m, p):
    """Return whether the rate is the requested one."""
    return equal(m.rate, p.scaling) & equal(m.change, 0.0)


def bounds(torque, inertial, limit):
    """
    Return the least and largest change of the rate, at most 0 and at least 0.

    torque: at the present rate, of each joint; inertial: M q', its derivative by the change.
    """
    low, high = -_ANY, _ANY
    for now, slope, most in zip(torque, inertial, limit):
        size = maximum(absolute(slope), _TINY)
        signed = when(slope > 0.0, now, -now)
        high = minimum(high, (_SPARE * most - signed) / size)
        low = maximum(low, (-_SPARE * most - signed) / size)
    return minimum(low, 0.0), maximum(high, 0.0)


def update(m, p, h, low, high):
    """Return the memory after `h` seconds, the change within bounds, and the path time passed."""
    error, step = p.scaling - m.rate, p.jerk * h
    size = absolute(error)
    # from this change on it decreases by `step` in every cycle, and ends at 0 with the error
    braking = sqrt(0.25 * step * step + 2.0 * p.jerk * size) - 0.5 * step
    wanted = minimum(braking, size / maximum(h, _TINY))
    wanted = when(error > 0.0, wanted, -wanted)
    change = minimum(maximum(wanted, m.change - step), m.change + step)
    change = minimum(maximum(change, low), high)
    rate = m.rate + h * change
    within = minimum(maximum(rate, 0.0), FULL)
    arrives = no(absolute(p.scaling - rate) > _ARRIVED) & no(absolute(change) > step + _ARRIVED)
    clipped = absolute(rate - within) > _ARRIVED
    after = Memory(when(arrives, p.scaling, within), when(clipped, 0.0, change))
    moves = h > 0.0
    return when(moves, after, m), when(moves, 0.5 * h * (m.rate + after.rate), 0.0)


def along(m, rows):
    """Return position, velocity, acceleration and effort in time, from those along the path."""
    q, first, second, effort = rows
    squared = m.rate * m.rate
    return [q, [m.rate * v for v in first],
            [squared * a + m.change * v for a, v in zip(second, first)], effort]
