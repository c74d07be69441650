"""
Passive stop: the reaction to a fault of the feedback itself.

An arm whose loop is unstable must not be stopped by this loop. The torque is the gravity torque of
the measured position, and a damping that is stable with 60 ms from torque to velocity; if a joint
has oscillated, one that its lightest inertia bears, see `gain_design.passive_damping`: slow
sagging is better than shaking. When the arm has been slow for a while, a soft spring that grows
keeps it where it is.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.blocks import block, joints, scalar
from robodyn_ros.control.steps import gravity_check
from robodyn_ros.control.steps.vectors import (
    clipped, difference, product, scaled, smooth_step, zeros)
from robodyn_ros.dynamics.jit.flags import above, any_of, at_least, equal, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute

INERTIA = 0.06 / 0.3  # s, lightest inertia over damping: for 60 ms of delay, without overshoot
DELAY = 0.2      # s, in place of the delay of the torques, for brakes in front of position limits
_SLOW = 0.05     # of the velocity limit, below which a joint is slow
_WAIT = 0.3      # s for which it must be slow before the spring begins
_GROWTH = 2.0    # s in which the spring grows
_DECAY = 10.0    # 1/s, of all velocities without an oscillation
_RATE = 3.0      # 1/s, spring over damping
_SPRING = 0.05   # of the effort limit, largest torque of the spring


@block
class Memory:
    slow: float = scalar('s', 'Time for which the arm has been slow.')
    q: list = joints('rad', 'Position of the spring.')


def update(m, q, qd, speeds, dt):
    """Return the memory after `dt` seconds."""
    fast = any_of([above(absolute(v), _SLOW * most) for v, most in zip(qd, speeds)])
    slow = when(fast, 0.0, m.slow + dt)
    return Memory(slow, when(at_least(slow, _WAIT), m.q, q))


def torque(body, m, q, qd, gains_, limit, lowered):
    """
    Return the torque of damping and spring; lowered: flag that a joint has oscillated.

    Without an oscillation the damping is M times a rate: all joints slow down together.
    """
    light = gains_.passive_damping
    damping = choose(lowered, [
        lambda: scaled(_DECAY, body.part('inertial', q, gains_.armature, qd)),
        lambda: product(light, qd)])
    part = when(no(at_least(m.slow, _WAIT)), 0.0, smooth_step((m.slow - _WAIT) / _GROWTH))
    most = scaled(_SPRING, limit)
    spring = clipped([_RATE * d * (x0 - x) for d, x0, x in zip(light, m.q, q)],
                     [-each for each in most], most)
    return difference(scaled(part, spring), damping)


def gains(gains_, carried):
    """Return the gains of the floating arm in a passive stop; carried: see `gravity_check`."""
    nothing = zeros(gains_.damping)
    return replace(gains_, damping=nothing, float_friction=nothing,
                   gravity_scale=when(equal(carried, gravity_check.TWICE), nothing,
                                      gains_.safe_gravity_scale))
