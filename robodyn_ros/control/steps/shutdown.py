"""
Shutdown: how control of an arm ends.

The arm comes to rest. Then feedback gives way to the weight, in the mode CARRY; an arm that swings
without feedback is brought to rest once more. The last torque is the weight, or nothing once that
has faded away.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.blocks import block, scalar
from robodyn_ros.control.steps.vectors import positive
from robodyn_ros.dynamics.jit.flags import (
    above, all_of, at_least, below, both, either, equal, flag, no, when)
from robodyn_ros.dynamics.jit.trace import maximum

STILL = 0.02    # rad/s or m/s below which a joint is at rest,
_DWELL = 0.1    # and s for which it must stay so: what swings is still for a moment, too
_SETTLE = 1.0   # s in which the arm may follow its reference to rest
_LONGEST = 3.0  # s in which the torque may become the weight, if it may only change slowly
_ATTEMPTS = 2.0


@block
class Program:
    number: float = scalar('', 'Number of the last shutdown.')
    releases: float = scalar('', 'Flag: the weight fades away at the end.')
    release: float = scalar('s', 'Time in which it does.')


@block
class Memory:
    number: float = scalar('', 'Last shutdown that was looked at.')
    attempt: float = scalar('', 'Attempt to come to rest, from 1 on; 0: control does not end.')
    elapsed: float = scalar('s', 'Time since the attempt began, or the weight is carried.')
    still: float = scalar('s', 'Time for which the arm has been at rest.')
    carried: float = scalar('s', 'Time for which the torque has been the weight.')


def requested(m, p, off):
    """Return the memory after requests; off: flag of an arm that is not under control."""
    begins, none = no(equal(p.number, m.number)), Memory(p.number, 0.0, 0.0, 0.0, 0.0)
    return when(off, none, when(begins, replace(none, attempt=1.0), m))


def advance(m, dt, rests, carries, moves, blends, limited):
    """
    Return the memory after `dt` seconds.

    Flags: the reference is at rest; the weight is carried; the arm is seen to move; the torque
    goes over to the weight; it is held back by the rate limit.
    """
    elapsed = m.elapsed + dt
    waits = both(flag(m.attempt), either(rests, carries))
    # no part of the weight is taken off before the torque has followed
    counts = either(at_least(elapsed - m.carried, _LONGEST), both(
        no(limited), either(no(blends), at_least(m.carried, _DWELL))))
    carried = when(counts, m.carried + dt, m.carried)
    return replace(m, elapsed=elapsed,
                   still=when(both(waits, no(moves)), m.still + dt, 0.0),
                   carried=when(both(waits, carries), carried, 0.0))


def has_settled(m, rests, silent, duration):
    """
    Return whether the weight is to be carried: the arm rests, or has had its time.

    duration: of the stop, in s. Where states come only now and then each begins another stop.
    """
    return both(flag(m.attempt), either(at_least(m.elapsed, duration + _SETTLE), both(
        rests, either(silent, at_least(m.still, _DWELL)))))


def swings(before, m, moves):
    """Return whether the arm moves with its weight alone, and is to be brought to rest again."""
    return all_of([moves, below(before.carried, _DWELL), at_least(m.carried, _DWELL),
                   below(m.attempt, _ATTEMPTS)])


def entered(m, carries, swings_):
    """Return the memory at the begin of the next stage, where one of the flags holds."""
    return when(either(carries, swings_), replace(
        m, attempt=m.attempt + when(swings_, 1.0, 0.0), elapsed=0.0, still=0.0, carried=0.0), m)


def part(m, p):
    """Return the part of the weight that is sent."""
    faded = (m.carried - _DWELL) / positive(p.release)
    return when(p.releases, 1.0 - when(above(faded, 1.0), 1.0, maximum(faded, 0.0)), 1.0)


def over(m, p):
    """Return whether the last torque is sent."""
    return all_of([flag(m.attempt), at_least(m.carried, _DWELL),
                   at_least(m.carried, _DWELL + when(p.releases, p.release, 0.0))])
