"""
Share of the feedback that is used: grown from nothing at activation, limited by the sample time.

A torque acts until the next one comes. With torques that are T apart, the error of a joint with
e'' = -c (kd e' + kp e) between them dies out if and only if
    c kd T < 2    and    kp T < 2 kd
(the criterion of Jury, for a double integrator behind a zero-order hold). So gains that are calm
at 1 kHz throw an arm about as soon as its computer is too busy to answer in time. After torques
that were far apart feedback is weaker for a moment, down to none.
"""

from __future__ import annotations

from robodyn_ros.control.blocks import block, scalar
from robodyn_ros.control.steps.vectors import positive, smooth_step
from robodyn_ros.dynamics.jit.flags import above, both, flag, no, when
from robodyn_ros.dynamics.jit.trace import maximum, minimum

DAMPED = 0.8    # of kd T, below which an error dies out without oscillation
_MEMORY = 0.1    # s in which a gap is forgotten
_USUAL = 2.0     # s in which a distance of torques becomes the usual one
_IRREGULAR = 3   # times the usual distance: gains are made for less than that,
_LATE = 0.02     # s, and for no more than this


@block
class Program:
    activation_time: float = scalar('s', 'Time in which feedback grows from nothing.')


@block
class Memory:
    since: float = scalar('s', 'Time of the law at which feedback began to grow.')
    gap: float = scalar('s', 'Largest distance of two torques of late.')
    usual: float = scalar('s', 'Usual distance of two torques; 0: not known yet.')


def noted(m, dt):
    """Return the memory after a torque that came `dt` after the one before."""
    usual = when(flag(m.usual), m.usual + (dt - m.usual) * minimum(dt / _USUAL, 1.0), dt)
    gap = maximum(dt, m.gap * maximum(1.0 - dt / _MEMORY, 0.0))
    return Memory(m.since, gap, usual)


def restarted(m, flag_):
    """Return the memory without the past of an arm that was not under control."""
    return Memory(m.since, when(flag_, 0.0, m.gap), when(flag_, 0.0, m.usual))


def growing(m, now, flag_):
    """Return the memory of an arm whose feedback begins to grow, where a flag holds."""
    return Memory(when(flag_, now, m.since), m.gap, m.usual)


def authority(m, p, now):
    """Return how far feedback has grown, in [0, 1]."""
    ahead = maximum(now - m.since, 0.0)
    grown = no(above(p.activation_time, ahead))
    return when(grown, 1.0, smooth_step(ahead / positive(p.activation_time)))


def stable_share(m, damping, stiffness, delay=0.0):
    """
    Return the share of the feedback that the distance of the torques allows, in [0, 1].

    damping, stiffness: the largest kd, and kp / kd, of the law (1/s). delay: of estimated
    velocities, s; a torque that acts for T is as late as one that is T / 2 old.
    """
    usual = no(above(m.gap, minimum(_IRREGULAR * m.usual, _LATE)))
    gap = when(both(usual, no(flag(delay))), 0.0, m.gap) + 2.0 * delay
    share = (minimum(DAMPED / maximum(gap * damping, DAMPED), 1.0)
             * minimum(maximum(2.0 - gap * stiffness, 0.0), 1.0))
    return share
