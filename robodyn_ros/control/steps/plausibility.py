"""
Plausibility of what is measured: velocity against position, repeated states, speed.

Of a joint whose velocity is in doubt (see `velocity_check`) it is estimated from positions until
the reported one agrees again. What is reported meanwhile shows the cause: nothing, which is
remarked; another sign or unit, or a velocity of a joint that stands still, which are faults.

A velocity that contradicts position and estimate in one state is an outlier; the estimate takes
its place. The estimate is that of a fading-memory filter, critically damped; its delay is twice
its time constant. Positions that hop faster than the joint moves are not differentiated. A state
that hops is not used, unless the next ones go on from there. Several are those of two arms on one
topic: a fault, and the arm is stopped by the states of the one that was there first.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.blocks import block, joints, part, scalar
from robodyn_ros.control.steps import velocity_check
from robodyn_ros.control.steps.event import Event, event, NOTHING
from robodyn_ros.control.steps.vectors import difference, element, largest
from robodyn_ros.dynamics.jit.flags import (
    above, all_of, any_above, any_of, at_least, below, both, either, equal, finite, flag, no, when)
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.safety.velocity import fading_memory, FAR

# codes of `messages`
REPEATED, HOPPING, OVERSPEED = 120.0, 121.0, 122.0
AUTO, MEASURED, ESTIMATED = 0.0, 1.0, 2.0
_GAP = 0.1        # s between two states after which all begins anew
_COPIED = 1e-4    # rad or m of motion that a copy of the last state hides
_ANSWERED = 0.05  # s after which a live effort shows a change of torque
_NOISE = 0.2      # of `motion` / time constant, that resolution and noise have in an estimate
_FAST = 1.5       # times the velocity limit, that is no hop
_JITTER = 5e-3    # s by which the time between two states may be wrong
_HOPS = 2.5       # hops within the window, that are of two arms
_CONFIRMED = 3.0  # states in a row, that an encoder has slipped
_TRIPPED = 1e6    # s, that stand for a joint that was too fast for too long


@block
class Program:
    source: float = scalar('', 'Source of velocities: 0 measured or, where that is not '
                           'plausible, estimated; 1 measured; 2 estimated.')
    smoothing: float = scalar('s', 'Time constant of the estimated velocity.')
    motion: float = scalar('rad', 'Motion that positions show in spite of resolution and noise; '
                           'infinite: velocities are not judged.')
    lag: float = scalar('s', 'Lag of measured velocities at most.')
    repeated: float = scalar('rad', 'Motion that repeated states may hide; infinite: not judged.')
    overspeed: float = scalar('', 'Part of the velocity limit that is too fast; infinite: none.')
    overspeed_time: float = scalar('s', 'Time for which a joint may be that fast.')
    speed: list = joints('rad/s', 'Velocity limit, or what is usual where there is none.')
    torque: list = joints('N m', 'Change of torque that a live measured effort shows.')


@block
class Memory:
    known: float = scalar('', 'Flag: there is a state to go on from.')
    time: float = scalar('s', 'Time of the last state that was used.')
    place: list = joints('rad', 'Position, filtered.')
    estimate: list = joints('rad/s', 'Velocity, estimated from positions.')
    rate: list = joints('rad/s', 'Reported velocity, without single outliers.')
    outlying: list = joints('', 'Flag: that velocity was an outlier.')
    outliers: float = scalar('', 'Velocities that were replaced by the estimate.')
    change: list = joints('rad', 'Change of position of late.')
    integral: list = joints('rad', 'Integral of the reported velocity of late.')
    likeness: list = joints('rad^2', 'Mean of the product of both, over a longer time.')
    swing: list = joints('rad^2', 'Mean square of the change, over a longer time.')
    proven: list = joints('', 'Flag: the velocity has agreed since activation.')
    doubted: list = joints('', 'Flag: the velocity disagrees.')
    agreed: list = joints('s', 'Time for which a velocity in doubt has agreed, in motion.')
    mismatch: list = joints('', 'Ratio of velocity and change of position, less 1, since they '
                            'disagree; 0: not found yet.')
    absent: list = joints('', 'Flag: it is not a number.')
    same: float = scalar('s', 'Time for which states were the same.')
    copied: float = scalar('', 'Flag: the state is a copy of the last one, and hides motion.')
    unanswered: float = scalar('s', 'Time for which a change of torque is not in the effort.')
    lively: float = scalar('', 'Flag: the measured effort has changed since activation.')
    torque: list = joints('N m', 'Torque sent when states and efforts began to be the same; not a '
                          'number before the arm was taken over.')
    elsewhere: list = joints('rad', 'Position of the last state that hopped.')
    waiting: float = scalar('', 'States in a row that went on from there.')
    hops: float = scalar('', 'Hops of late.')
    two: float = scalar('', 'Flag: that are the states of two arms.')
    over: float = scalar('s', 'Time for which a joint was too fast.')
    replaced: list = joints('', 'Flag: the estimate is used.')
    switched: float = scalar('', 'Flag: that has changed with this state.')
    delay: float = scalar('s', 'Delay of the velocities that are used.')
    fault: Event = part(Event)


def begun(m, inactive):
    """Return the memory before a state or its absence; of an arm that is not under control."""
    return replace(m, fault=NOTHING, over=when(inactive, 0.0, m.over),
                   proven=[both(each, no(inactive)) for each in m.proven])


def completed(state, m, p):
    """Return the state with estimates where no velocity is reported, and the memory."""
    estimates = no(equal(p.source, MEASURED))
    absent = [both(estimates, no(at_least(float('inf'), absolute(v)))) for v in state.qd]
    qd = [when(each, e, v) for each, e, v in zip(absent, m.estimate, state.qd)]
    return replace(state, qd=qd), replace(m, absent=absent)


def judge(state, q, time, before, jumped, m, p, limit, sent):
    """
    Return what is found out about a state.

    q, time: of the state. before: memory of `acceptance`. jumped: flag that its last position was
    not used. limit: velocity limits, huge where there is none. sent: last torque, not a number if
    the arm is not under control.
    Of the result, `used` is the memory if the state is used, `seen` if it is not; `qd` are the
    velocities to use; `refusal` is the event of a state that is not to be used.
    """
    repetition, m = repeated(state, q, time, before, m, p, sent)
    dt = time - m.time
    anew = any_of([no(m.known), above(dt, _GAP), jumped, no(above(dt, 0.0))])
    dt = when(anew, _GAP, dt)
    # who else moves an arm that is not under control may do so, and mend its driver
    controlled = finite(sent[0])
    hops, foreign, m = hopped(q, state.qd, before, anew, controlled, dt, m, p, limit)
    refusal = when(flag(repetition.code), repetition, when(foreign, event(HOPPING), NOTHING))
    x = estimated(q, state.qd, dt, anew, hops, before.q, m, p, limit)
    m = replace(m, doubted=[both(each, no(both(anew, no(controlled)))) for each in m.doubted])
    after = velocity_check.compared(x, dt, either(anew, hops), m, p, equal(p.source, ESTIMATED))
    after = replace(
        after, place=x.place, estimate=x.estimate, outlying=x.outlying, replaced=x.replaced,
        outliers=m.outliers + sum(when(each, 1.0, 0.0) for each in x.outlying), delay=x.delay,
        switched=any_of([no(equal(*each)) for each in zip(x.replaced, m.replaced)]))
    after = too_fast(x.qd, dt, after, p, limit)
    # what its stamp keeps from being used leaves a gap, but for one that is sent twice
    seen = replace(m, known=both(m.known, either(flag(refusal.code), equal(time, m.time))))
    return SimpleNamespace(used=replace(after, known=1.0, time=time), seen=seen, qd=x.qd,
                           refusal=refusal)


def repeated(state, q, time, before, m, p, sent):
    """Return the event of a state that should have changed since the last, and the memory."""
    way = before.way
    same = all_of([
        m.known, finite(sent[0]), *[equal(x, old) for x, old in zip(q, way.q)],
        *[either(a, equal(v, old)) for a, v, old in zip(m.absent, state.qd, way.qd)]])
    passed = maximum(time - way.time, 0.0)
    still = both(same, all_of([equal(e, old) for e, old in zip(state.effort, before.effort)]))
    torque = when(still, m.torque, sent)

    def alike():
        # an arm that is blocked repeats its state as well, but not its effort
        changed = any_of([above(absolute(t - s), d) for t, s, d in zip(torque, sent, p.torque)])
        waits = all_of([still, m.lively, either(above(m.unanswered, _ANSWERED), changed)])
        time = when(waits, m.unanswered + passed, 0.0)
        span = m.same + passed
        hidden = [when(a, 0.0, absolute(v)) * span for a, v in zip(m.absent, state.qd)]
        dead = both(finite(p.repeated), above(time, _ANSWERED))
        j = largest(hidden)
        return when(either(any_above(hidden, p.repeated), dead), Event(
            REPEATED, j, element(state.qd, j), 0.0, 0.0), NOTHING), span, time, both(
                finite(p.repeated), any_above(hidden, _COPIED))

    changes = any_of([above(absolute(e - old), 0.0)
                      for e, old in zip(state.effort, before.effort)])
    lively = both(finite(sent[0]), either(m.lively, both(m.known, changes)))
    found, span, time, copied = choose(same, [lambda: (NOTHING, 0.0, 0.0, 0.0), alike])
    # a state that is not used is not passed: the next one is compared with the same as this one
    span = when(flag(found.code), m.same, span)
    return found, replace(m, same=span, torque=torque, lively=lively, unanswered=time,
                          copied=copied)


def hopped(q, qd, before, anew, judged, dt, m, p, limit):
    """
    Return whether a position has hopped, whether it is to be used, and the memory.

    before: memory of the last state that was used, `dt` ago. judged: flag that hops are not used.
    One that the next states go on from is of an encoder; others are states of another arm. An arm
    that is thrown is as fast as it reports.
    """
    room = [p.motion + _FAST * most * maximum(dt, _JITTER) for most in limit]
    step = difference(q, before.q)
    hops = both(no(anew), any_of([
        both(above(absolute(s), d), above(absolute(s - 0.5 * dt * (v + old)), d))
        for s, d, v, old in zip(step, room, qd, before.qd)]))

    def hopping():
        goes_on = all_of([at_least(d, absolute(x - other))
                          for x, other, d in zip(q, m.elsewhere, room)])
        return when(goes_on, m.waiting, 0.0) + 1.0, q

    waiting, elsewhere = choose(hops, [lambda: (0.0, m.elsewhere), hopping])
    foreign = all_of([judged, hops, below(waiting, _CONFIRMED)])
    count = m.hops * (velocity_check.kept(dt)) + when(
        both(foreign, below(waiting, 1.5)), 1.0, 0.0)

    def fault():
        part_ = [absolute(s) - d for s, d in zip(step, room)]
        j = largest(part_)
        return Event(HOPPING, j, absolute(element(step, j)), 0.0, 0.0)

    begins = both(above(count, _HOPS), no(m.two))
    return hops, foreign, replace(
        m, elsewhere=elsewhere, waiting=waiting, hops=count,
        two=above(count, when(m.two, 1.0, _HOPS)),
        fault=choose(begins, [lambda: NOTHING, fault]))


def estimated(q, reported, dt, anew, hops, before, m, p, limit):
    """Return the filtered position, its velocity, outliers, and the velocity to use."""
    time = maximum(p.smoothing, dt)
    gain, slope = fading_memory(time, dt)
    result = SimpleNamespace(place=[], estimate=[], outlying=[], qd=[], step=[], replaced=[],
                             reported=reported, delay=0.0)
    from_positions = equal(p.source, ESTIMATED)
    for x, v, old, place, rate, speed, most, doubted, absent in zip(
            q, reported, before, m.place, m.estimate, p.speed, limit, m.doubted, m.absent):
        ahead = place + rate * dt
        error, step = x - ahead, x - old
        error = when(hops, 0.0, error)
        rate = minimum(maximum(rate + slope * error, -2.0 * most), 2.0 * most)
        unknown = any_of([absent, doubted, from_positions])
        rate = when(anew, when(unknown, 0.0, v), rate)
        outlying = all_of([
            no(anew), no(absent), no(doubted), equal(p.source, AUTO),
            above(absolute(v - rate), FAR * speed + _NOISE * p.motion / time),
            either(hops, below(absolute(step - rate * dt), absolute(step - v * dt)))])
        replaced = both(no(equal(p.source, MEASURED)), unknown)
        result.place.append(when(either(anew, hops), x, ahead + gain * error))
        result.estimate.append(rate)
        result.outlying.append(outlying)
        result.step.append(step)
        result.replaced.append(replaced)
        result.qd.append(when(either(replaced, outlying), rate, v))
        result.delay = when(replaced, 2.0 * when(anew, p.smoothing, time), result.delay)
    return result


def too_fast(qd, dt, m, p, limit):
    """Return the memory with the event of a joint that is too fast for too long."""
    over, far_over = (any_of([above(absolute(v), factor * most) for v, most in zip(qd, limit)])
                      for factor in (p.overspeed, 2.0 * p.overspeed - 1.0))
    # what is twice as much too fast must not last as long; a brake does not begin again and again
    trips = all_of([over, m.over, below(m.over, _TRIPPED), either(
        at_least(m.over + dt, p.overspeed_time), far_over)])

    def fault():
        j = largest([absolute(v) / most for v, most in zip(qd, limit)])
        return Event(OVERSPEED, j, element(qd, j), element(limit, j), 0.0)

    return replace(m, over=when(over, when(trips, _TRIPPED, m.over + dt), 0.0),
                   fault=choose(trips, [lambda: m.fault, fault]))
