"""
Check of who carries the arm, in the first moments of control.

An arm at rest that is given its gravity torque stays where it is, before the feedback grows. If
the driver adds the gravity torque as well, it leaves upwards with M^-1 g; if neither does, it
falls with the opposite. The work of the gravity torque g along the displacement d since activation
is compared with that of such a motion e:

    r = d . g / (e . g),    e = t^2 / 2 M^-1 g.

An arm whose masses are wrong by a part has this part as |r|; one that is held, by a brake,
friction or a large rotor, has nearly zero. d must be such a motion, too: d^T M d is hardly more
than r^2 e^T M e. A load that is not known moves the arm otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_above, any_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import (
    difference, element, largest, magnitudes, positive, product, total, zeros)

TWICE, NOT_AT_ALL, AGAINST, PULLED = 1.0, 2.0, 3.0, 4.0  # carried
WITHDRAWN = TWICE, AGAINST  # of these the gravity torque is not sent any more
_LONGEST = 0.3   # s after activation
_MOVED = 3e-3    # rad or m, displacement that is judged
_ADDED, _LACKING = 0.6, 0.7  # of the gravity torque
_AGAINST, _TURNED = 1.4, 3.0  # of it, downwards: the torque of that joint has the other sign
_PULLED = 0.1    # rad or m, displacement in this time that gravity does not explain
_MOST = 2.0      # of it; more has other causes, such as noise in the first moment
_ALIKE = 1.3     # of the energy of the expected motion
_SEEN = 3.0      # states in a row that show it
_STILL = 0.02    # rad/s or m/s, speed of an arm at rest


@block
class Memory:
    checks: float = scalar('', 'Flag: the arm was at rest at activation, and is being checked.')
    elapsed: float = scalar('s', 'Time since activation.')
    q: list = joints('rad', 'Position at activation.')
    seen: float = scalar('', 'States in a row that show the same.')
    carried: float = scalar('', 'How the arm is carried: 0 once, 1 twice, 2 not at all, 3 '
                            'downwards, 4 pulled by something else.')
    joint: float = scalar('', 'Joint that moved most.')
    moved: float = scalar('rad', 'Distance by which it moved.')


def started(m, flag_, q, qd):
    """Return the memory of an arm that is taken over, where a flag holds."""
    at_rest = no(any_above(magnitudes(qd), _STILL))
    return when(flag_, Memory(at_rest, 0.0, q, 0.0, 0.0, 0.0, 0.0), m)


def withdrawn(p, m):
    """Return the program without gravity torque, for an arm that it would not carry."""
    twice, nothing = any_of([equal(m.carried, each) for each in WITHDRAWN]), zeros(m.q)
    return replace(p, gains=replace(p.gains, **{
        name: when(twice, nothing, getattr(p.gains, name))
        for name in ('gravity_scale', 'safe_gravity_scale')}))


def interrupted(m):
    """Return the memory after a cycle without a state, or in motion, which has other causes."""
    return replace(m, checks=0.0)


def passed(m, dt):
    """Return the memory after a cycle between two states."""
    return replace(m, elapsed=m.elapsed + when(flag(m.checks), dt, 0.0))


def update(body, m, q, qd, dt):
    """Return the memory after a state, `dt` seconds after the last cycle."""
    def compared():
        elapsed, away, g = m.elapsed + dt, difference(q, m.q), body.part('gravity', q)
        moving = body.part('inertial', q, body.gains.armature, away)
        expected = 0.5 * elapsed * elapsed * _dot(g, body.response(q, g))
        part = _dot(away, g) / positive(expected)
        energy = _dot(away, moving)
        alike = _ALIKE * part * part * 0.5 * elapsed * elapsed * expected > energy
        j = largest(magnitudes(away))
        # the velocity must have risen likewise
        speed = 0.5 * elapsed * _dot(g, qd) / positive(expected)
        judged = all_of([any_above(magnitudes(away), _MOVED), expected > 0.0, alike,
                         absolute(part) < _MOST, absolute(speed) < _MOST])
        found = when(judged & (minimum(part, speed) > _ADDED), TWICE,
                     when(judged & (-maximum(part, speed) > _LACKING), NOT_AT_ALL, 0.0))
        # what moves the joint with most gravity torque, in that torque
        heavy = largest(magnitudes(g))
        share = element(moving, heavy) / positive(0.5 * elapsed * elapsed * absolute(
            element(g, heavy))) * when(element(g, heavy) > 0.0, 1.0, -1.0)
        alone = _only(heavy, moving)
        # alone, or as all of them do
        like = alike | (_ALIKE * _dot(alone, body.response(q, alone)) > energy)
        against = all_of([any_above(magnitudes(away), _MOVED), like, -share > _AGAINST,
                          _TURNED > -share])
        # of an arm that its driver carries; others may have a load that is not known
        pulled = all_of([no(flag(found)), any_above(magnitudes(away), _PULLED),
                         no(any_above(body.gains.safe_gravity_scale, 0.0))])
        found = when(against, AGAINST, when(pulled, PULLED, found))
        seen = when(flag(found), m.seen + 1.0, 0.0)
        carried = when(seen >= _SEEN, found, 0.0)
        return Memory(all_of([elapsed < _LONGEST, no(flag(carried))]), elapsed, m.q, seen, carried,
                      j, element(away, j))

    return choose(flag(m.checks), [lambda: m, compared])


def _only(index, a):
    """Return a list with one element of it, all others zero."""
    return [when(equal(index, float(k)), x, 0.0) for k, x in enumerate(a)]


def _dot(a, b):
    return total(product(a, b))
