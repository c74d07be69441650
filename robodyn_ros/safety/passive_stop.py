"""
Passive stop: the reaction to a fault of the feedback itself.

An arm whose loop is unstable must not be stopped by this loop. The torque is the gravity torque of
the measured position, and a damping. - d M(q) qd lets all velocities decay at the rate d, without
coupling, and with T from torque to velocity for d T below pi / 2. If a joint has oscillated, each
joint has d times its lightest inertia and M(q) instead, both below the frequencies of resonances
only, which damping behind a delay would drive: slow sagging is better than shaking, but without
damping a late gravity torque drives an arm away from an equilibrium that is unstable. When the arm
has been slow for a while, a soft spring that grows keeps it where it is.

A stop trusts no inertia that it has not seen. Damping for a rotor that is not there drives the
joint to a hundred times its limits; so that of measured rotors begins with none, and grows as long
as the joint moves on in one direction and hardly slower. It shrinks when the joint turns. With r
the root of the part of each joint, the damping is d r M(q) r, which takes energy from any motion.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import any_of, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
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
_GROW, _SHRINK = 5.0, 12.0  # 1/s, of the root of the damping
_REGROW = 1.0    # 1/s, of that of a joint that has turned
LEAST = 0.05     # of that root
_MOVES = 0.02    # of the velocity limit, above which a joint shows what it bears,
_KEEPS = 0.7     # as long as it exceeds this part of its filtered velocity


@block
class Memory:
    slow: float = scalar('s', 'Time for which the arm has been slow.')
    q: list = joints('rad', 'Position of the spring.')
    once: list = joints('rad/s', 'Velocity, filtered once.')
    twice: list = joints('rad/s', 'Velocity, filtered twice.')
    root: list = joints('', 'Root of the part of the damping of a joint.')
    turned: list = joints('', 'Flag: the joint has turned.')


def started(q, qd):
    """Return the memory at the begin of a passive stop."""
    return Memory(0.0, q, qd, qd, [1.0 for _ in q], zeros(q))


def update(m, q, qd, speeds, dt):
    """Return the memory after `dt` seconds."""
    fast = any_of([absolute(v) > _SLOW * most for v, most in zip(qd, speeds)])
    slow = when(fast, 0.0, m.slow + dt)
    part = minimum(_FILTER * dt, 1.0)
    once = [old + part * (new - old) for old, new in zip(m.once, qd)]
    return replace(m, slow=slow, q=when(slow >= _WAIT, m.q, q), once=once,
                   twice=[old + part * (new - old) for old, new in zip(m.twice, once)])


def trusting(m, qd, speeds, dt):
    """Return the memory after `dt` seconds with the damping that the joints have shown to bear."""
    rows = [_trusted(*each, dt) for each in zip(m.root, m.turned, qd, m.once, speeds)]
    root, turned = (list(each) for each in zip(*rows))
    return replace(m, root=root, turned=turned)


def _trusted(root, turned, qd, filtered, speed, dt):
    """Return the root of the part of the damping of a joint, and whether it has turned."""
    turns = (absolute(qd) > _SLOW * speed) & (qd * filtered < 0.0)
    keeps = (absolute(qd) > _MOVES * speed) & (qd * filtered > _KEEPS * filtered * filtered)
    turned = when(turns, 1.0, turned)
    rate = when(turns, -_SHRINK, when(keeps, when(turned, _REGROW, _GROW), 0.0))
    return maximum(minimum(root * (1.0 + rate * dt), 1.0), LEAST), turned


def rests(m):
    """Return whether the arm has been slow for a while."""
    return m.slow >= _WAIT


def torque(body, m, q, qd, gains_, limit, lowered):
    """Return the torque of damping and spring; lowered: flag that a joint has oscillated."""
    part = when(no(rests(m)), 0.0, smooth_step((m.slow - _WAIT) / _GROWTH))
    most = scaled(_SPRING, limit)
    away = [part * _RATE * (x0 - x) for x0, x in zip(m.q, q)]

    def inertial(each):
        return product(m.root, body.part('inertial', q, gains_.armature, product(m.root, each)))

    def together():
        return [scaled(_DECAY, inertial(each)) for each in (away, qd)]

    def alone():
        held, slowed = (scaled(_SOFT_DECAY, product(
            product(m.root, m.root), product(gains_.lightest_inertia, each)))
            for each in (away, m.once))
        return held, added(slowed, scaled(_SOFT_DECAY, inertial(m.twice)))

    held, slowed = choose(lowered, [together, alone])
    return difference(clipped(held, [-each for each in most], most), slowed)


def gains(gains_):
    """Return the gains of the floating arm in a passive stop."""
    nothing = zeros(gains_.damping)
    return replace(gains_, damping=nothing, float_friction=nothing,
                   gravity_scale=gains_.safe_gravity_scale)
