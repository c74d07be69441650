"""
Watch over the feedback: a joint that oscillates because of it.

A loop with a delay that no stamp shows, an elastic joint, or an inertia that the model does not
have is unstable above a certain natural frequency; the error of its velocity then alternates, and
its half waves grow. A few of them lower the natural frequency of the joint, at the same damping
ratio, long before it exceeds its velocity limit; a joint that still oscillates with the least
feedback is a fault. What counts must be regular, as noise is not; and the torque must have been
able to cause it, in the joint with its lightest inertia: that of noise of a higher frequency, of a
hand or a contact is too small. Those do not grow from one half wave to the next, either.

With a delay T the loop kd s + kp oscillates where atan(w kd / kp) = w T.
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import reduce
import math
from types import SimpleNamespace

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_of, flag, no, when
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import largest, positive, product, scaled, zeros

LEAST = 0.02       # of the natural frequency; a joint that still oscillates is a fault
_LOWER = 0.25       # of the natural frequency, at each alarm
_MEAN = 0.1        # s, time constant of motion that is no oscillation
_SHORTEST = 2e-3   # s of a half wave: shorter ones are noise
_PERIODS, _TWO = 2.5, 1.5  # of the states, that a half wave lasts at least; a loud one
# s of a half wave that no hand makes so small, of one that alternates quickly, of a loud one that
# does, of the longest one
_FASTEST, _FAST, _FAST_LOUD, _LONGEST = 0.065, 0.09, 0.115, 0.13
_REGULAR = 0.34    # of a half wave, by which the next may differ
_CAUSED = 0.1      # of the torque for this motion of the lightest inertia, that alternates with it
_GROWTH = 1.15     # from one half wave to the next,
_GROWN = 2.0       # so many times, then once more,
_HUGE = 0.1        # of the velocity limit; once more for slow half waves, and for smaller ones
_MANY, _FEW = 6.0, 4.0  # fast half waves in a row, loud ones, that together
_TWICE = 2.0       # have grown by this,
_REMAINS = 1.2     # or by this, and are larger
_LARGE = 0.05      # than this part of the velocity limit
_LASTING, _LOUD = 20.0, 0.2  # or so many do not end, above this part of the limit
_BREAK = 2.0       # of them are forgotten for another one in between
_SMOOTH = 0.3      # weight of a half wave in the mean of them
_SMALL, _SMALLEST = 0.01, 0.004  # of the velocity limit that half waves exceed; fastest
_TURN = 0.3        # of its peak, beyond which a half wave of the other side begins
_FILTERED = 0.1    # of the natural frequency, below which its velocities are filtered
_RESONANCE = 125.0  # rad/s, of joints that oscillate faster
_RECENT = 1.0      # s after an alarm, for which what was learned before may be wrong
_WAIT = 3.0        # half waves after an alarm, before the next lowers the feedback further


@block
class Memory:
    mean: list = joints('rad/s', 'Error of the velocity without its oscillation.')
    torque: list = joints('N m', 'Torque without its oscillation.')
    side: list = joints('', 'Sign of the half wave; 0: none yet.')
    elapsed: list = joints('s', 'Time since it began.')
    peak: list = joints('rad/s', 'Its largest value.')
    effort: list = joints('N m', 'Largest oscillation of the torque meanwhile.')
    last: list = joints('rad/s', 'Largest value of the half wave before.')
    last_effort: list = joints('N m', 'Largest oscillation of the torque in it.')
    half: list = joints('s', 'Its duration.')
    grown: list = joints('', 'Half waves in a row that were larger than the one before.')
    count: list = joints('', 'Fast half waves in a row.')
    level: list = joints('rad/s', 'Mean of their largest values.')
    base: list = joints('rad/s', 'Least mean of them.')
    waited: list = joints('s', 'Time since the feedback was lowered.')
    factor: list = joints('', 'Part of the natural frequency of a joint.')
    frequency: list = joints('rad/s', 'Frequency of the oscillation for which it was lowered.')
    time: float = scalar('s', 'Time of the law at the last state.')
    failed: float = scalar('', 'Flag: a joint oscillates with the least feedback.')
    joint: float = scalar('', 'That joint.')


_ROWS = [each.name for each in fields(Memory)][:-3]


def restarted(m, flag_):
    """Return the memory of an arm that is taken over, where a flag holds."""
    nothing = {name: zeros(m.factor) for name in _ROWS}
    empty = Memory(**{**nothing, 'factor': [1.0 for _ in m.factor]}, time=m.time, failed=0.0,
                   joint=0.0)
    return when(flag_, empty, m)


def unchanged(m, before, flags):
    """Return the memory, as before for joints whose flag is set: they are moved on purpose."""
    return replace(m, **{name: [when(each, old, new) for each, old, new in zip(
        flags, getattr(before, name), getattr(m, name))] for name in _ROWS})


def restored(m, flags):
    """Return the memory with the whole feedback of joints whose flag is set."""
    return replace(m, factor=[when(each, 1.0, f) for each, f in zip(flags, m.factor)])


def reset(m, flag_):
    """Return the memory after a reset of faults, where a flag holds; the feedback stays low."""
    return replace(m, failed=when(flag_, 0.0, m.failed))


def lowered(m):
    """Return whether the feedback of a joint is lowered."""
    return any_of([f < 1.0 for f in m.factor])


def rings(m):
    """
    Return whether the feedback of a joint was lowered for a resonance.

    Differences of positions cannot follow it, and wrong velocities are not its cause.
    """
    return any_of([(f < 1.0) & (w > _RESONANCE) for f, w in zip(m.factor, m.frequency)])


def recent(m):
    """Return whether the feedback of a joint was lowered a moment ago."""
    return any_of([(f < 1.0) & (t < _RECENT) for f, t in zip(m.factor, m.waited)])


def update(m, error, torque, speeds, inertia, now, interval):
    """
    Return the memory after a state.

    All joints that take part in an oscillation are lowered together, to the feedback of the joint
    with the alarm: in a mode of the arm it is not always the joint with the unstable loop that
    moves most. None is lowered below that for the oscillation of another, since an arm without
    feedback falls.

    Parameters
    ----------
    m : Memory
        Memory of this step.
    error : list of scalar
        Velocity less that of the reference, rad/s or m/s.
    torque : list of scalar
        Torque that was sent last, N m or N.
    speeds : list of scalar
        Velocity limits, or usual values.
    inertia : list of scalar
        Lightest inertia of the joints, kg m^2 or kg.
    now : scalar
        Time of the law, s.
    interval : scalar
        Usual interval of the torques, s.

    """
    dt = minimum(maximum(now - m.time, 0.0), _LONGEST)
    old = [SimpleNamespace(**dict(zip(_ROWS, each)))
           for each in zip(*(getattr(m, name) for name in _ROWS))]
    rows = [_half_wave(x, dt, interval, *each)
            for x, *each in zip(old, error, torque, speeds, inertia)]
    acts = [x.alarm & (x.waited > _WAIT * x.half) for x in rows]
    period = reduce(maximum, [when(each, x.half, 0.0) for each, x in zip(acts, rows)])
    lower = [maximum(_LOWER * x.factor, LEAST) for x in rows]
    together = reduce(maximum, [when(each, f, 0.0) for each, f in zip(acts, lower)])
    fails = []
    for x, own, factor in zip(rows, acts, lower):
        fails.append(own & no(x.factor > LEAST))
        factor = when(own, factor, minimum(x.factor, together))
        lowers = (own
                  | all_of([period > 0.0, x.takes_part, factor < x.factor,
                            x.waited > _WAIT * period]))
        x.factor = when(lowers, factor, x.factor)
        x.frequency = when(lowers, math.pi / positive(period), x.frequency)
        x.grown, x.count, x.waited = (when(lowers, 0.0, each)
                                      for each in (x.grown, x.count, x.waited))
    return Memory(**{name: [getattr(x, name) for x in rows] for name in _ROWS}, time=now,
                  failed=m.failed | any_of(fails),
                  joint=when(any_of(fails) & no(m.failed), largest(fails), m.joint))


def _half_wave(x, dt, interval, error, torque, speed, inertia):
    """Return the memory of a joint after a state, with the flags `alarm` and `takes_part`."""
    mean, usual = (old + (new - old) * minimum(dt / _MEAN, 1.0)
                   for old, new in ((x.mean, error), (x.torque, torque)))
    size, elapsed = absolute(error - mean), x.elapsed + dt
    turns = (mean - error) * x.side > _TURN * x.peak
    peak = when(turns, x.peak, maximum(x.peak, size))
    effort = maximum(x.effort, absolute(torque - usual))
    # the half wave that ends, or is under way
    impulse = maximum(effort, x.last_effort) * maximum(elapsed, x.half)
    caused = impulse >= _CAUSED * math.pi * inertia * peak
    loud = peak > _LOUD * speed
    quick = elapsed < when(loud, _FAST_LOUD, _FAST)
    period = maximum(interval, dt)
    # steps of a coarse encoder last one state
    shortest = when(loud, _TWO * period, maximum(_SHORTEST, _PERIODS * period))
    lasts = (elapsed > shortest) & (elapsed < _LONGEST)
    small = speed * when(maximum(elapsed, x.half) < _FASTEST, _SMALLEST, _SMALL)
    # a loud one of a resonance needs little torque
    counts = all_of([lasts, caused | loud, peak > small])
    # those of a loud one may last two states, then three
    regular = maximum(_REGULAR * x.half, when(loud, 1.1 * dt, 0.0)) >= absolute(elapsed - x.half)
    grows = counts & (peak > _GROWTH * x.last)
    series = all_of([counts, quick, regular])
    level = when(flag(x.count), x.level + _SMOOTH * (peak - x.level), peak)
    base = when(flag(x.count), minimum(x.base, level), peak)
    needed = when(quick & (peak > _HUGE * speed), _GROWN, _GROWN + 1.0)
    grown = all_of([grows, x.grown >= needed, (1.0 + _REGULAR) * x.half >= elapsed])
    enough = minimum(_TWICE * base, maximum(_LARGE * speed, _REMAINS * base))
    lasting = (x.count >= _LASTING) & (level > _LOUD * speed)
    alarm = (grown
             | all_of([turns, series, lasting
                       | ((x.count >= when(loud, _FEW, _MANY) - 1.0) & (level > enough))]))
    begins = turns | no(flag(absolute(x.side)))
    return SimpleNamespace(
        mean=mean, torque=usual, side=when(begins, when(error > mean, 1.0, -1.0), x.side),
        elapsed=when(begins, 0.0, elapsed), peak=when(begins, size, peak),
        effort=when(begins, absolute(torque - usual), effort), last=when(turns, peak, x.last),
        last_effort=when(turns, effort, x.last_effort), half=when(turns, elapsed, x.half),
        grown=when(turns, when(grows, when(regular | no(flag(x.grown)), x.grown, 0.0) + 1.0, 0.0),
                   x.grown),
        count=when(turns, when(series, x.count + 1.0, maximum(x.count - _BREAK, 0.0)), x.count),
        level=when(turns, level, x.level), base=when(turns, base, x.base), waited=x.waited + dt,
        factor=x.factor, frequency=x.frequency, alarm=alarm, takes_part=alarm
        | (caused & (maximum(peak, x.last) > small)))


def least(factor):
    """Return the least factor of a natural frequency."""
    return reduce(minimum, factor, 1.0)


def filters(m):
    """Return whether the velocities of a joint are filtered, see `slowed`."""
    return any_of([f < _FILTERED for f in m.factor])


def slowed(m, qd, filtered):
    """
    Return the velocities of a law: filtered ones of joints with little feedback.

    Damping behind a delay drives the resonance of an elastic joint, also a hundredth of the usual
    one; a feedback that slow does without it there.
    """
    return [when(f < _FILTERED, x, v) for f, v, x in zip(m.factor, qd, filtered)]


def softened(gains, task, factor):
    """
    Return gains and those of Cartesian laws at lower natural frequencies, the same damping ratio.

    factor: of the natural frequency of each joint; Cartesian laws have the least of them.
    """
    smallest = least(factor)
    square = product(factor, factor)
    gains = replace(
        gains, ki=product(gains.ki, product(factor, square)),
        **{name: product(getattr(gains, name), square) for name in ('kp', 'pd_kp', 'stiffness')},
        **{name: product(getattr(gains, name), factor) for name in (
            'kd', 'pd_kd', 'joint_damping', 'sliding', 'sliding_damping')})
    springs = ('stiffness', 'kp', 'posture_kp', 'posture_stiffness')
    dampers = ('damping', 'kd', 'posture_kd', 'posture_damping')
    return gains, replace(
        task, **{name: scaled(smallest * smallest, getattr(task, name)) for name in springs},
        **{name: scaled(smallest, getattr(task, name)) for name in dampers})


def likely_delay(frequency, kp, kd):
    """Return the delay in s with which a loop of these gains oscillates at a frequency, rad/s."""
    return math.atan2(frequency * kd, kp) / frequency if frequency else 0.0
