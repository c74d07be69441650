"""
Collisions: unexplained external torque beyond a threshold for some time.

A reported velocity that becomes wrong looks like the change of momentum of a collision. As long
as the velocity differs from the change of position, and shortly after, no collision begins: until
the velocity is in doubt and replaced, or the observer has forgotten the change. The time for this
is limited.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_of, flag, no, when
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import element, largest

_LONGEST = 0.12   # s for which a collision waits for a velocity, at most,
_AFTER = 0.03     # s for which it waits after the velocity has differed from positions
_RECOVERY = 0.1   # s per s by which that time is available again
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
    waits: float = scalar('s', 'Time for which no collision begins.')
    waited: float = scalar('s', 'Time for which none could begin, less what has recovered.')
    count: float = scalar('', 'Number of collisions since the start.')
    joint: float = scalar('', 'Most affected joint when the last collision began.')
    torque: float = scalar('N m', 'Its external torque at that time.')


def present(m, p):
    """Return whether there is a collision."""
    return flag(p.on) & any_of(m.colliding)


def most_affected(m, p, torque):
    """Return the joint most affected by the collision, and its external torque."""
    share = [when(f, absolute(t) / limit, 0.0)
             for f, t, limit in zip(m.colliding, torque, p.threshold)]
    joint = largest(share)
    return joint, element(torque, joint)


def update(m, p, dt, excess, torque, undecided=0.0):
    """
    Return the memory after `dt` seconds, and whether a collision has begun.

    excess: magnitude of the unexplained external torque beyond the allowance for model errors.
    torque: unexplained external torque. undecided: flag that a velocity differs from positions.
    """
    waits = when(undecided, _AFTER, maximum(m.waits - dt, 0.0))
    waited = when(flag(waits), m.waited + dt, maximum(m.waited - _RECOVERY * dt, 0.0))
    begins = no(waits) | (waited >= _LONGEST)
    waited = minimum(waited, _LONGEST)
    over = [e > limit for e, limit in zip(excess, p.threshold)]
    time = [when(e < low, 0.0, when(o, t + dt, t)) for e, low, o,
            t in zip(excess, p.release, over, m.time)]
    stays = [(f & (e >= low)) | all_of([o, t >= p.duration, begins]) for f, e, low, o,
             t in zip(m.colliding, excess, p.release, over, time)]
    joints_ = [p.on & each for each in stays]
    begun = no(present(m, p)) & any_of(joints_)
    after = Memory(joints_, [when(p.on, t, 0.0) for t in time], waits, waited,
                   m.count + begun, m.joint, m.torque)
    joint, value = most_affected(after, p, torque)
    return replace(after, joint=when(begun, joint, m.joint),
                   torque=when(begun, value, m.torque)), begun


def reset(m, flag_):
    """Return the memory of an arm that is taken over, where a flag holds."""
    return replace(m, colliding=[each & no(flag_) for each in m.colliding],
                   time=[when(flag(flag_), 0.0, each) for each in m.time])
