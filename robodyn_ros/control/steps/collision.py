"""Collisions: unexplained external torque beyond a threshold for some time."""

from __future__ import annotations

from robodyn_ros.control.blocks import block, joints, scalar
from robodyn_ros.control.steps.vectors import element, largest
from robodyn_ros.dynamics.jit.flags import (
    above, any_of, at_least, below, both, either, flag, no, when)
from robodyn_ros.dynamics.jit.trace import absolute

REPORT, STOP, FLOAT = 0.0, 1.0, 2.0


@block
class Program:
    on: float = scalar('', 'Flag: collisions are detected.')
    reaction: float = scalar('', 'Reaction: 0 report, 1 stop, 2 float.')
    threshold: list = joints('N m', 'External torque above which a joint collides.')
    release: list = joints('N m', 'External torque below which the collision is over.')
    duration: float = scalar('s', 'Time above the threshold after which a collision begins.')


@block
class Memory:
    colliding: list = joints('', 'Flag: the joint takes part in a collision.')
    time: list = joints('s', 'Time above the threshold.')
    count: float = scalar('', 'Number of collisions since the start.')
    joint: float = scalar('', 'Most affected joint when the last collision began.')
    torque: float = scalar('N m', 'Its external torque at that time.')


def present(m, p):
    """Return whether there is a collision."""
    return both(p.on, any_of(m.colliding))


def most_affected(m, p, torque):
    """Return the joint most affected by the collision, and its external torque."""
    share = [when(f, absolute(t) / limit, 0.0)
             for f, t, limit in zip(m.colliding, torque, p.threshold)]
    joint = largest(share)
    return joint, element(torque, joint)


def update(m, p, dt, excess, torque):
    """
    Return the memory after `dt` seconds, and whether a collision has begun.

    excess: magnitude of the unexplained external torque beyond the allowance for model errors.
    torque: unexplained external torque.
    """
    over = [above(e, limit) for e, limit in zip(excess, p.threshold)]
    time = [when(below(e, low), 0.0, when(o, t + dt, t))
            for e, low, o, t in zip(excess, p.release, over, m.time)]
    stays = [either(both(f, at_least(e, low)), both(o, at_least(t, p.duration)))
             for f, e, low, o, t in zip(m.colliding, excess, p.release, over, time)]
    joints_ = [both(p.on, each) for each in stays]
    begun = both(no(present(m, p)), any_of(joints_))
    after = Memory(joints_, [when(p.on, t, 0.0) for t in time], m.count + begun, m.joint,
                   m.torque)
    joint, value = most_affected(after, p, torque)
    return Memory(after.colliding, after.time, after.count, when(begun, joint, m.joint),
                  when(begun, value, m.torque)), begun


def reset(m, flag_):
    """Return the memory of an arm that is taken over, where a flag holds."""
    return Memory([both(each, no(flag_)) for each in m.colliding],
                  [when(flag(flag_), 0.0, each) for each in m.time], m.count, m.joint, m.torque)
