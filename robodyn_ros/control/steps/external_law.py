"""
External laws: when one of them controls the arm, and when it is disabled.

It takes over an arm that the built-in law controls, without a fault and fully activated. On any
problem with it, the built-in law brings the arm to rest from its present motion. A disabled law
takes over again when its mode is chosen again.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, scalar
from robodyn_ros.dynamics.jit.flags import all_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.vectors import difference

NONE, OWN, LINEAR = 0.0, 1.0, 2.0


@block
class Program:
    request: float = scalar('', 'Number of the last choice.')
    choice: float = scalar('', 'External law: 0 none, 1 own law, 2 linear feedback.')
    until: float = scalar('s', 'Time of the law until which the linear feedback is valid.')
    feedforward: list = joints('N m', 'Torque of the linear feedback at the desired state.')
    position: list = joints('rad', 'Desired position of the linear feedback.')
    velocity: list = joints('rad/s', 'Desired velocity of the linear feedback.')
    gain: list = numbers('feedback', 'N m/rad, N m s/rad', 'Gains of the linear feedback, row by '
                         'row: of positions, then of velocities.')


@block
class Memory:
    request: float = scalar('', 'Last choice that was handled.')
    chosen: float = scalar('', 'Chosen law.')
    active: float = scalar('', 'Law that controlled the arm in the last cycle.')
    disabled: float = scalar('', 'Flag: it has been disabled since, for `reason`.')
    reason: float = scalar('', 'Code of the reason.')


def requested(m, p, chooses):
    """Return the memory after a new choice; `chooses`: flag that the choice is applied again."""
    new = no(equal(p.request, m.request)) | chooses
    return Memory(p.request, when(new, p.choice, m.chosen), m.active,
                  when(new, 0.0, m.disabled), m.reason)


def disabled(m, flag_, code):
    """Return the memory with the law disabled until one is chosen again, where a flag holds."""
    flag_ = flag_ & flag(m.chosen)
    reports = flag_ & flag(m.active)
    return Memory(m.request, when(flag_, NONE, m.chosen), m.active, flag(m.disabled) | reports,
                  when(reports, code, m.reason))


def released(m, flag_):
    """Return the memory with the law suspended for this cycle, where a flag holds."""
    return Memory(m.request, m.chosen, when(flag_, NONE, m.active),
                  when(flag_, 0.0, m.disabled), m.reason)


def candidate(m, p, now, ready, at_rest):
    """Return the law to use; linear feedback takes over an arm at rest only."""
    current = (p.until > now) & (at_rest | equal(m.active, LINEAR))
    possible = no(equal(m.chosen, LINEAR)) | current
    return when(all_of([ready, possible]), m.chosen, NONE)


def linear_torque(p, q, qd):
    """Return K (x_des - x) of the linear feedback."""
    error = [*difference(p.position, q), *difference(p.velocity, qd)]
    width = len(error)
    return [sum(k * e for k, e in zip(p.gain[i * width:(i + 1) * width], error))
            for i in range(len(q))]
