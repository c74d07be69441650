"""
Force reflection: the external torque of another arm, reflected to the hand that guides this one.

tau = g(q) - D qd + gain tau_ext of the other arm (Lawrence 1993, the force channel).
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import when
from robodyn_ros.dynamics.jit.trace import minimum
from robodyn_ros.dynamics.jit.vectors import clipped, product, zeros

_TIME_CONSTANT = 0.02  # s of the filter


@block
class Program:
    number: float = scalar('', 'Number of the torque that was received last.')
    torque: list = joints('N m', 'External torque of the other arm.')
    end: float = scalar('s', 'Time of the law until which it is valid.')
    gain: list = joints('', 'Part of it that is reflected.')
    limit: list = joints('N m', 'Largest reflected torque.')


@block
class Memory:
    torque: list = joints('N m', 'Reflected torque.')
    dropped: float = scalar('', 'Number of the last torque that is not valid any more.')


def update(m, p, now, dt):
    """Return the memory of a floating arm after `dt` seconds; the torque never steps."""
    counts = (p.end > now) & (p.number > m.dropped)
    wanted = when(counts, product(p.gain, p.torque), zeros(p.torque))
    wanted = clipped(wanted, [-x for x in p.limit], p.limit)
    rate = minimum(dt / _TIME_CONSTANT, 1.0)
    return Memory([t + (w - t) * rate for t, w in zip(m.torque, wanted)], m.dropped)


def cleared(m, p):
    """Return the memory of an arm that is not hand-guided."""
    return Memory(zeros(m.torque), p.number)
