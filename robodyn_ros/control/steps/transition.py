"""Transition from one law to another without a step of torque."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, any_of, flag, no, when
from robodyn_ros.dynamics.jit.trace import absolute
from robodyn_ros.dynamics.jit.vectors import difference, positive, smooth_step

_NEGLIGIBLE = 0.01  # of the effort limit


@block
class Program:
    duration: float = scalar('s', 'Time in which the difference to a new law decays; 0: none.')


@block
class Memory:
    begins: float = scalar('', 'Flag: the next torque starts from the last one sent.')
    changes: float = scalar('', 'Flag: only the law or its gains change.')
    offset: list = joints('N m', 'Difference to the torque of the law.')
    elapsed: float = scalar('s', 'Time since the transition began.')
    duration: float = scalar('s', 'Duration of the transition under way; 0: none is.')


def blend(torque, sent, dt, limit, m, p):
    """
    Return the torque plus the remaining difference, and the next memory.

    sent: the last torque, corrected by the effect of changed state and reference on it.
    Differences below a hundredth of the effort limit are omitted: the torque changes as much
    from cycle to cycle.
    """
    offset = when(m.begins, difference(sent, torque), m.offset)
    matters = (all_finite(offset)
               & any_of([absolute(o) > _NEGLIGIBLE * most for o, most in zip(offset, limit)]))
    running = when(m.begins, matters, flag(m.duration))
    elapsed = when(m.begins, 0.0, m.elapsed + dt)
    duration = when(m.begins, p.duration, m.duration)
    left = when(running, 1.0 - smooth_step(elapsed / positive(duration)), 0.0)
    remains = left > 0.0
    torque = when(remains, [t + left * o for t, o in zip(torque, offset)], torque)
    return torque, Memory(False, False, offset, elapsed, when(remains, duration, 0.0))


def begin(m, p, flag_, changes=False):
    """
    Return the memory of a transition that begins at the last torque sent, where a flag holds.

    changes: flag that only the law or its gains change. State and reference have changed since
    the last torque, too; as a part of the decaying difference that would hold back a torque
    whose gains change in every cycle.
    """
    begins = flag_ & flag(p.duration)
    alone = changes & no(m.begins)
    return Memory(m.begins | begins, when(begins, alone, m.changes & m.begins), m.offset,
                  m.elapsed, m.duration)


def cancel(m, flag_):
    """Return the memory without a transition, where a flag holds."""
    return Memory(when(flag_, False, m.begins), m.changes, m.offset, m.elapsed,
                  when(flag_, 0.0, m.duration))


def under_way(m):
    """Return whether a transition is under way."""
    return flag(m.begins) | flag(m.duration)
