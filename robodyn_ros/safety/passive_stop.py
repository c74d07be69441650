"""
Passive stop: the reaction to a fault of the feedback itself.

An arm whose loop is unstable must not be stopped by this loop. The torque is the gravity torque of
the measured position, and a damping. - d M(q) qd lets all velocities decay at the rate d, without
coupling, and with T from torque to velocity for d T below pi / 2. If a joint has oscillated, each
joint has d times its lightest inertia and M(q) instead, both below the frequencies of resonances
only, which damping behind a delay would drive: slow sagging is better than shaking, but without
damping a late gravity torque drives an arm away from an equilibrium that is unstable. When the arm
has been slow for a while, a soft spring that grows keeps it where it is.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import any_of, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, minimum
from robodyn_ros.dynamics.jit.vectors import (
    added, clipped, difference, product, scaled, smooth_step, zeros)

DELAY = 0.2      # s, in place of the delay of the torques, for brakes in front of position limits
_SLOW = 0.15     # of the velocity limit, below which a joint is slow
_WAIT = 0.3      # s for which it must be slow before the spring begins
_GROWTH = 0.5    # s in which the spring grows
_DECAY, _SOFT_DECAY = 10.0, 5.0  # 1/s; if a joint has oscillated
_FILTER = 15.0   # rad/s, corner of the velocities below resonances (second order)
_RATE = 3.0      # 1/s, spring over damping
_SPRING = 0.05   # of the effort limit, largest torque of the spring


@block
class Memory:
    slow: float = scalar('s', 'Time for which the arm has been slow.')
    q: list = joints('rad', 'Position of the spring.')
    once: list = joints('rad/s', 'Velocity, filtered once.')
    twice: list = joints('rad/s', 'Velocity, filtered twice.')


def started(q, qd):
    """Return the memory at the begin of a passive stop."""
    return Memory(0.0, q, qd, qd)


def update(m, q, qd, speeds, dt):
    """Return the memory after `dt` seconds."""
    fast = any_of([absolute(v) > _SLOW * most for v, most in zip(qd, speeds)])
    slow = when(fast, 0.0, m.slow + dt)
    part = minimum(_FILTER * dt, 1.0)
    once = [old + part * (new - old) for old, new in zip(m.once, qd)]
    return Memory(slow, when(slow >= _WAIT, m.q, q), once,
                  [old + part * (new - old) for old, new in zip(m.twice, once)])


def rests(m):
    """Return whether the arm has been slow for a while."""
    return m.slow >= _WAIT


def torque(body, m, q, qd, gains_, limit, lowered):
    """Return the torque of damping and spring; lowered: flag that a joint has oscillated."""
    part = when(no(rests(m)), 0.0, smooth_step((m.slow - _WAIT) / _GROWTH))
    most = scaled(_SPRING, limit)
    away = [part * _RATE * (x0 - x) for x0, x in zip(m.q, q)]

    def together():
        return [scaled(_DECAY, body.part('inertial', q, gains_.armature, each))
                for each in (away, qd)]

    def alone():
        held, slowed = (scaled(_SOFT_DECAY, product(gains_.lightest_inertia, each))
                        for each in (away, m.once))
        return held, added(slowed, scaled(_SOFT_DECAY, body.part(
            'inertial', q, gains_.armature, m.twice)))

    held, slowed = choose(lowered, [together, alone])
    return difference(clipped(held, [-each for each in most], most), slowed)


def gains(gains_):
    """Return the gains of the floating arm in a passive stop."""
    nothing = zeros(gains_.damping)
    return replace(gains_, damping=nothing, float_friction=nothing,
                   gravity_scale=gains_.safe_gravity_scale)
