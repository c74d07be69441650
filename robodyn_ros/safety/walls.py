"""
Position limits: walls, brakes in front of them, and recovery beyond them.

A wall is the outermost permitted position of a joint, at a position limit or beyond it.

A joint may be beyond its limit after a fall or a push. Its wall is then at its position, and
moves inwards with it up to the limit. Brakes act at the wall, so that a joint at rest is not
pushed. The reference stays inside of a wall beyond a limit. Within the tolerance this is all.
Further out the joint is in recovery: torque beyond gravity compensation may act outwards only to
damp an inward motion.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import any_above, any_of, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import difference, magnitudes, positive, product

_SLACK = 1e-3     # rad or m between joint and wall, so that noise does not move it
_DAMPING = 160.0   # 1/s, of the brake, per unit of the joint's inertia
_MAX_DAMPING_DT = 1.6       # of that times interval and delay of the torques; unstable from 2 on
_CRITICAL = 4.0        # of that times the time to the limit, above which it does not overshoot
_TIME = 0.1        # s to the limit at which the brake of a hand-guided joint begins
_SOFTNESS = 0.02   # rad/s or m/s of excess speed over which the brake is faded in


@block
class Program:
    tolerance: float = scalar('rad', 'Distance beyond a limit that counts as inside.')
    furthest: float = scalar('rad', 'Largest distance of a wall beyond a limit.')
    speed: float = scalar('rad/s', 'Largest speed of a wall.')


@block
class Memory:
    lower: list = joints('rad', 'Lower wall.')
    upper: list = joints('rad', 'Upper wall.')


def reset(robot, m, p, q, located):
    """Return the walls of an arm that is located at `q`, where a flag holds."""
    return when(located, Memory(
        [maximum(minimum(x, low), low - p.furthest) for x, low in zip(q, robot.lower)],
        [minimum(maximum(x, high), high + p.furthest) for x, high in zip(q, robot.upper)]), m)


def update(robot, m, p, q, dt, fresh):
    """Return the walls after `dt` seconds for a measured position; they move inwards only."""
    step = p.speed * dt
    after = Memory(
        [minimum(low, minimum(wall + step, maximum(wall, x - _SLACK)))
         for x, low, wall in zip(q, robot.lower, m.lower)],
        [maximum(high, maximum(wall - step, minimum(wall, x + _SLACK)))
         for x, high, wall in zip(q, robot.upper, m.upper)])
    return when(fresh, after, m)


def recovering(robot, m, p):
    """Return flags of joints beyond the tolerance: below their lower, above their upper limit."""
    return ([low - p.tolerance > wall for low, wall in zip(robot.lower, m.lower)],
            [wall > high + p.tolerance for high, wall in zip(robot.upper, m.upper)])


def any_recovering(robot, m, p):
    """Return whether any joint is in recovery."""
    return any_of(sum(recovering(robot, m, p), []))


def confine(robot, m, reference):
    """Return the reference inside of the walls that are beyond a limit."""
    rows = [_confine(*each) for each in zip(
        reference.q, reference.qd, reference.qdd, robot.lower, m.lower, robot.upper, m.upper)]
    q, qd, qdd = (list(column) for column in zip(*rows))
    return replace(reference, q=q, qd=qd, qdd=qdd)


def _confine(q, qd, qdd, low, lower, high, upper):
    past = ((low > lower) & (lower > q)) | ((upper > high) & (q > upper))
    return when(past, (minimum(maximum(q, lower), upper), 0.0, 0.0), (q, qd, qdd))


def limit_outward(body, torque, q, qd, m, p, decay):
    """Return the torque without outward parts on joints in recovery, except damping by `decay`."""
    below, beyond = recovering(body.robot, m, p)

    def bounded():
        gravity_torque = body.safe_gravity(q)
        inertia = body.apparent_inertia(q)
        damping = [decay * i * v for i, v in zip(inertia, qd)]
        least = [w - maximum(d, 0.0) for w, d in zip(gravity_torque, damping)]
        most = difference(gravity_torque, [minimum(d, 0.0) for d in damping])
        return [when(low, maximum(t, a), when(high, minimum(t, b), t))
                for t, a, b, low, high in zip(torque, least, most, below, beyond)]

    return choose(any_of(below + beyond), [lambda: list(torque), bounded])


# --- brakes --------------------------------------------------------------------------------------

def brake_speed(q, qd, lower, upper, time):
    """
    Return the excess speed of a joint in front of its limit, pointing inwards.

    A joint may approach a limit at distance / time; speed beyond that is excess. Excess below
    `_SOFTNESS` is rounded off as a parabola, so that the torque has no kink.
    """
    headed = q + time * qd
    beyond = headed - minimum(maximum(headed, lower), upper)
    excess = absolute(beyond) / time
    blend = minimum(excess, _SOFTNESS)
    excess = blend * (excess - 0.5 * blend) / _SOFTNESS
    return when(beyond > 0.0, -excess, excess)


def brake_damping(gap, delay):
    """Return the admissible decay of a brake, 1/s; gap: of the torques, delay: of `qd`, in s."""
    return minimum(_DAMPING, _MAX_DAMPING_DT / positive(gap + delay))


def brake(body, torque, q, qd, externally_driven, walls, damping=_DAMPING, part=None):
    """
    Return the torque plus brakes in front of position limits, or of walls beyond them.

    The inertia is that of the joint in the present pose while the others are free, 1 over the
    diagonal of M^-1; part: what counts of each. The brake begins earlier for an externally driven
    arm, and if it must be soft.
    """
    time = maximum(when(externally_driven, _TIME, 0.25 * _TIME), _CRITICAL / damping)
    speeds = [brake_speed(*each, time) for each in zip(
        q, qd, walls.lower, walls.upper)]

    def braked():
        inertia = product(part or [1.0 for _ in q], body.apparent_inertia(q))
        return [t + when(absolute(s), damping * s * m, 0.0)
                for t, s, m in zip(torque, speeds, inertia)]

    return choose(any_above(magnitudes(speeds), 0.0), [lambda: list(torque), braked])
