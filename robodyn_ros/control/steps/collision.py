"""Collisions: external torque that nothing explains, beyond a threshold and for a while."""

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
    threshold: list = joints('N m', 'External torque above which it is a collision.')
    release: list = joints('N m', 'External torque below which it is over.')
    duration: float = scalar('s', 'Time above the threshold after which it begins.')


@block
class Memory:
    struck: list = joints('', 'Flag: takes part in a collision now.')
    time: list = joints('s', 'Time above the threshold.')
    count: float = scalar('', 'Collisions since the start.')
    joint: float = scalar('', 'Joint that felt the last one most, when it began.')
    torque: float = scalar('N m', 'External torque of that joint then.')


def present(m, p):
    """Return whether a collision is not over."""
    return both(p.on, any_of(m.struck))


def most_affected(m, p, torque):
    """Return the joint that feels the collision most, and its external torque."""
    share = [when(f, absolute(t) / limit, 0.0)
             for f, t, limit in zip(m.struck, torque, p.threshold)]
    joint = largest(share)
    return joint, element(torque, joint)


def advance(m, p, dt, excess, torque):
    """
    Return the memory after `dt` seconds, and whether a collision has begun.

    excess: unexplained external torque beyond what a model error may cause, as a size.
    torque: unexplained external torque.
    """
    over = [above(e, limit) for e, limit in zip(excess, p.threshold)]
    time = [when(below(e, low), 0.0, when(o, t + dt, t))
            for e, low, o, t in zip(excess, p.release, over, m.time)]
    stays = [either(both(f, at_least(e, low)), both(o, at_least(t, p.duration)))
             for f, e, low, o, t in zip(m.struck, excess, p.release, over, time)]
    joints_ = [both(p.on, each) for each in stays]
    begun = both(no(present(m, p)), any_of(joints_))
    after = Memory(joints_, [when(p.on, t, 0.0) for t in time], m.count + begun, m.joint,
                   m.torque)
    joint, value = most_affected(after, p, torque)
    return Memory(after.struck, after.time, after.count, when(begun, joint, m.joint),
                  when(begun, value, m.torque)), begun


def reset(m, flag_):
    """Return the memory of an arm that is taken over, where a flag holds."""
    return Memory([both(each, no(flag_)) for each in m.struck],
                  [when(flag(flag_), 0.0, each) for each in m.time], m.count, m.joint, m.torque)
