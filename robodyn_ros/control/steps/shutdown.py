"""
Shutdown: controlled end of the control of an arm.

The arm comes to rest. Then feedback is blended out, leaving the gravity torque (mode CARRY); an
arm that swings without feedback is brought to rest once more. The last torque is the gravity
torque, or zero after that has been faded out.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.dynamics.jit.blocks import block, scalar
from robodyn_ros.dynamics.jit.flags import all_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.trace import maximum
from robodyn_ros.dynamics.jit.vectors import positive

STILL = 0.02    # rad/s or m/s below which a joint is at rest,
_DWELL = 0.1    # and s for which it must stay so: a swinging joint is at rest for a moment, too
_SETTLE = 1.0   # s for the arm to follow its reference to rest
_LONGEST = 3.0  # s for the torque to become the gravity torque under a low rate limit
_ATTEMPTS = 2.0


@block
class Program:
    number: float = scalar('', 'Number of the last shutdown.')
    releases: float = scalar('', 'Flag: the gravity torque is faded out at the end.')
    release: float = scalar('s', 'Duration of the fade.')


@block
class Memory:
    number: float = scalar('', 'Last shutdown that was handled.')
    attempt: float = scalar('', 'Attempt to come to rest, from 1 on; 0: no shutdown.')
    elapsed: float = scalar('s', 'Time since the attempt, or mode CARRY, began.')
    still: float = scalar('s', 'Time for which the arm has been at rest.')
    gravity_time: float = scalar('s', 'Time for which the torque has been the gravity '
                                 'torque.')


def requested(m, p, off):
    """Return the memory after requests; off: flag that the arm is not under control."""
    begins, none = no(equal(p.number, m.number)), Memory(p.number, 0.0, 0.0, 0.0, 0.0)
    return when(off, none, when(begins, replace(none, attempt=1.0), m))


def update(m, dt, at_rest, at_gravity, moves, blends, limited):
    """
    Return the memory after `dt` seconds.

    Flags: the reference is at rest; the mode is CARRY; the measured velocity is not zero; a
    transition of the torque is under way; the rate limit is active.
    """
    elapsed = m.elapsed + dt
    waits = flag(m.attempt) & (at_rest | at_gravity)
    # the fade begins when the torque has become the gravity torque
    counts = ((elapsed - m.gravity_time >= _LONGEST)
              | (no(limited) & (no(blends) | (m.gravity_time >= _DWELL))))
    gravity_time = when(counts, m.gravity_time + dt, m.gravity_time)
    return replace(m, elapsed=elapsed, still=when(waits & no(moves), m.still + dt, 0.0),
                   gravity_time=when(waits & at_gravity, gravity_time, 0.0))


def has_settled(m, at_rest, silent, duration):
    """
    Return whether to enter CARRY: at rest, or out of time.

    duration: of the stop, in s. With sparse states each of them begins another stop.
    """
    return (flag(m.attempt)
            & ((m.elapsed >= duration + _SETTLE) | (at_rest & (silent | (m.still >= _DWELL)))))


def swings(before, m, moves):
    """Return whether the arm moves under the gravity torque alone."""
    return all_of([moves, before.gravity_time < _DWELL, m.gravity_time >= _DWELL,
                   m.attempt < _ATTEMPTS])


def next_stage(m, at_gravity, swings_):
    """Return the memory at the start of the next stage, where a flag holds."""
    return when(at_gravity | swings_, replace(m, attempt=m.attempt + when(swings_, 1.0, 0.0),
                                              elapsed=0.0, still=0.0, gravity_time=0.0), m)


def gravity_part(m, p):
    """Return the part of the gravity torque that is sent."""
    faded = (m.gravity_time - _DWELL) / positive(p.release)
    return when(p.releases, 1.0 - when(faded > 1.0, 1.0, maximum(faded, 0.0)), 1.0)


def over(m, p):
    """Return whether the torque is the last one."""
    return all_of([flag(m.attempt), m.gravity_time >= _DWELL,
                   m.gravity_time >= _DWELL + when(p.releases, p.release, 0.0)])
