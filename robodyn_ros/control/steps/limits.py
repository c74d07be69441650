"""
Limits of the torque: brakes at position limits, rate and effort limits, the finite check.

The torque sent is always finite, within the effort limits, and within the rate limit of the last
one. The guard has its own, `safety.torque_limiter`.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, any_above, finite, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import element, first_where, magnitudes, positive, scaled

_DAMPING = 160.0   # 1/s, of the brake, per unit of the joint's inertia
_MAX_DAMPING_DT = 1.6       # of that times interval and delay of the torques; unstable from 2 on
_CRITICAL = 4.0        # of that times the time to the limit, above which it does not overshoot
_TIME = 0.1        # s to the limit at which the brake of a hand-guided joint begins
_SOFTNESS = 0.02   # rad/s or m/s of excess speed over which the brake is faded in
_ROUNDING = 1e-9   # of the effort limit
_ANY = 1e9         # N m, no rate limit
_LONGEST = 0.05    # s, longest interval for the rate limit: a pause permits no jump


@block
class Program:
    effort: list = joints('N m', 'Largest torque that may be sent.')
    rate: list = joints('N m/s', 'Largest change of the torque.')


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


def brake(body, torque, q, qd, externally_driven, walls, damping=_DAMPING):
    """
    Return the torque plus brakes in front of position limits, or of walls beyond them.

    The inertia is that of the joint in the present pose while the others are free, 1 over the
    diagonal of M^-1. The brake begins earlier for an externally driven arm, and if it must be
    soft.
    """
    time = maximum(when(externally_driven, _TIME, 0.25 * _TIME), _CRITICAL / damping)
    speeds = [brake_speed(*each, time) for each in zip(
        q, qd, walls.lower, walls.upper)]

    def braked():
        inertia = body.part('apparent_inertia', q, body.gains.armature)
        return [t + when(absolute(s), damping * s * m, 0.0)
                for t, s, m in zip(torque, speeds, inertia)]

    return choose(any_above(magnitudes(speeds), 0.0), [lambda: list(torque), braked])


@block
class Verdict:
    """Changes of the torque of a cycle by supervision."""

    saturated: list = joints('', 'Flag: cut to the effort limit.')
    rate_limited: list = joints('', 'Flag: limited by the rate limit.')
    not_finite: float = scalar('', 'Torque that was not finite: 0 none; 1 law; 2 law and '
                               'fallback: the last torque was sent again.')
    joint: float = scalar('', 'Joint whose torque was not finite.')
    value: float = scalar('N m', 'Torque of that joint.')


def supervise(desired, fallback, sent, dt, p, at_once=0.0):
    """
    Return the torque to send, and the changes.

    desired, fallback: of the law; gravity plus damping. sent: the last torque. dt: seconds since
    then; a period that is not above 0 keeps the last torque. The effort limit has the last word,
    after the rate limit; a torque above a lowered effort limit decreases within the rate limit.
    The brakes are part of `desired`, and lose to both. at_once: flag of a final torque, without
    rate limit.
    """
    good, second = all_finite(desired), all_finite(fallback)
    torque = when(good, desired, when(second, fallback, sent))
    bad = first_where([no(finite(each)) for each in desired])
    span = when(dt > 0.0, minimum(dt, _LONGEST), 0.0)
    step = when(at_once, [_ANY for _ in sent], scaled(span, p.rate))
    slowed = [minimum(maximum(t, s - d), s + d) for t, s, d in zip(torque, sent, step)]
    bound = [maximum(most, absolute(s) - d) for most, s, d in zip(p.effort, sent, step)]
    out = [minimum(maximum(t, -most), most) for t, most in zip(slowed, bound)]
    verdict = Verdict(
        _changed(slowed, out, p), _changed(torque, slowed, p),
        when(good, 0.0, when(second, 1.0, 2.0)), bad, element(desired, bad))
    return out, verdict


def _changed(before, after, p):
    """Return flags of the torques changed by more than rounding."""
    return [absolute(b - a) > _ROUNDING * most for a, b, most in zip(before, after, p.effort)]
