"""Transition from one law to another without a step of torque."""

from __future__ import annotations

from robodyn_ros.control.blocks import block, joints, scalar
from robodyn_ros.control.steps.vectors import difference, positive, smooth_step
from robodyn_ros.dynamics.jit.flags import above, all_finite, any_of, both, either, flag, no, when
from robodyn_ros.dynamics.jit.trace import absolute

_NEGLIGIBLE = 0.01  # of the effort limit


@block
class Program:
    duration: float = scalar('s', 'Time in which the difference to a new law dies out; 0: none.')


@block
class Memory:
    begins: float = scalar('', 'Flag: the next torque begins where the last one was.')
    changes: float = scalar('', 'Flag: as the law, or its gains, change, and nothing else does.')
    offset: list = joints('N m', 'Difference to the torque of the law.')
    elapsed: float = scalar('s', 'Time since the transition began.')
    duration: float = scalar('s', 'Duration of the transition under way; 0: none is.')


def blend(torque, sent, dt, limit, m, p):
    """
    Return the torque with what is left of the difference, and the next memory.

    sent: the last torque, moved on by what state and reference have changed in it.
    Differences below a hundredth of the effort limit are left out: the torque changes as much
    from cycle to cycle, and what is kept of that disturbs.
    """
    offset = when(m.begins, difference(sent, torque), m.offset)
    matters = both(all_finite(offset), any_of(
        [above(absolute(o), _NEGLIGIBLE * most) for o, most in zip(offset, limit)]))
    running = when(m.begins, matters, flag(m.duration))
    elapsed = when(m.begins, 0.0, m.elapsed + dt)
    duration = when(m.begins, p.duration, m.duration)
    left = when(running, 1.0 - smooth_step(elapsed / positive(duration)), 0.0)
    goes_on = above(left, 0.0)
    torque = when(goes_on, [t + left * o for t, o in zip(torque, offset)], torque)
    return torque, Memory(0.0, 0.0, offset, elapsed, when(goes_on, duration, 0.0))


def begin(m, p, flag_, changes=0.0):
    """
    Return the memory of an arm whose next torque is the last one sent, where a flag holds.

    changes: flag that this is for the law or its gains alone. State and reference have changed
    since the last torque as well; taken for a part of the difference that dies out, that would
    hold back a torque whose gains change at every cycle.
    """
    begins = both(flag_, flag(p.duration))
    alone = both(changes, no(m.begins))
    return Memory(either(m.begins, begins), when(begins, alone, both(m.changes, m.begins)),
                  m.offset, m.elapsed, m.duration)


def cancel(m, flag_):
    """Return the memory of an arm whose next torque is the law's, where a flag holds."""
    return Memory(when(flag_, 0.0, m.begins), m.changes, m.offset, m.elapsed,
                  when(flag_, 0.0, m.duration))


def under_way(m):
    """Return whether the torque is not yet the law's."""
    return either(flag(m.begins), flag(m.duration))
