"""
Watch over joints that their own feedback drives away, as one whose torque has the other sign does.

Such a joint leaves its place at a velocity that grows with the distance: v / e stays what it was.
One that falls, or is pulled, has v as the root of e, and against its feedback less. As it moves
others, and these it, the arm gets no torque any more: arms are watched that their driver carries;
of others the gravity torque shows the sign, see `gravity_check`. Joints whose loop was measured
are not watched: a hand may push them so.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_of, flag, no, when
from robodyn_ros.dynamics.jit.vectors import largest, magnitudes, zeros

_BEGIN, _FAR = 2.5e-3, 0.01  # rad or m, from which an excursion is watched, and judged
_FURTHER = 2.5   # times its first distance
_ALIKE = 0.75    # of its first v / e


@block
class Memory:
    away: list = joints('rad', 'First distance of an excursion of the joint; 0: there is none.')
    speed: list = joints('rad/s', 'Its velocity there.')
    failed: float = scalar('', 'Flag: its feedback drives a joint away.')
    joint: float = scalar('', 'That joint.')


def restarted(m, flag_):
    """Return the memory after a take-over or a reset of faults, where a flag holds."""
    nothing = zeros(m.away)
    return when(flag_, Memory(nothing, nothing, 0.0, 0.0), m)


def update(m, may, measured, error, qd):
    """
    Return the memory after a state.

    Parameters
    ----------
    m : Memory
        Memory of this step.
    may : scalar
        Flag: the arm is held.
    measured : list of scalar
        Flags: the loop of the joint is known.
    error : list of scalar
        Position less that of the reference, rad or m.
    qd : list of scalar
        Velocity, rad/s or m/s.

    """
    distances, speeds = magnitudes(error), magnitudes(qd)
    beyond = [may & (e > _BEGIN) for e in distances]
    away, speed = ([when(each, when(flag(first), old, new), 0.0) for each, first, old, new in zip(
        beyond, m.away, before, now)] for before, now in (
            (m.away, distances), (m.speed, speeds)))
    found = [all_of([out, no(known), e > _FAR, e > _FURTHER * first, start > 0.0, x * y > 0.0,
                     v * first > _ALIKE * start * e])
             for out, known, e, v, first, start, x, y in zip(
                 beyond, measured, distances, speeds, away, speed, error, qd)]
    return Memory(away, speed, when(any_of(found), 1.0, m.failed), when(
        any_of(found) & no(flag(m.failed)), largest([when(each, 1.0, 0.0) for each in found]),
        m.joint))
