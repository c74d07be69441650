"""
Plausibility of measured states: velocity against position, repeated states, speed.

The velocity of a joint in doubt (see `velocity_check`) is estimated from positions until the
reported one agrees again. The reported one meanwhile shows the cause: zero, which is a warning;
another sign or unit, or a velocity of a joint at rest, which are faults.

A velocity that contradicts position and estimate in a single state is an outlier; it is replaced
by the estimate. The estimate is that of a critically damped fading-memory filter; its delay is
twice its time constant. A position deviates if the joint cannot have moved there since the last
state; it is not differentiated, and the state is not used unless the next ones continue from
there. Several deviations are those of two arms on one topic: a fault; the arm is stopped with the
states of the one that was first.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.dynamics.jit.blocks import block, joints, part, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_above, any_of, equal, finite, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import difference, element, largest
from robodyn_ros.safety import velocity_check
from robodyn_ros.safety.events import ALTERNATING, Event, event, NOTHING, OVERSPEED, REPEATED

AUTO, MEASURED, ESTIMATED = 0.0, 1.0, 2.0
_GAP = 0.1        # s between two states above which all estimates restart
_COPIED = 1e-4    # rad or m of motion above which a repeated state is a copy of the last one
_RESPONSE = 0.05  # s within which a live measured effort follows a change of torque
_FAR = 0.15       # of the velocity limit, error of an estimate, plus
_NOISE = 0.2      # of `motion` / time constant: its noise
_STAYS = 0.5      # of the difference that makes an outlier, above which it remains one
_FAST = 1.5       # times the velocity limit, within which a position does not deviate
_JITTER = 5e-3    # s, error of the time between two states
_DEVIATIONS = 2.5  # deviations within the window, above which there are two arms
_CONFIRMED = 3.0  # consecutive deviating states after which an encoder has slipped
_TRIPPED = 1e6    # s, mark of a joint whose overspeed was reported


@block
class Program:
    source: float = scalar('', 'Source of velocities: 0 measured, or estimated where that '
                           'is implausible; 1 measured; 2 estimated.')
    smoothing: float = scalar('s', 'Time constant of the estimated velocity.')
    motion: float = scalar('rad', 'Motion that exceeds resolution and noise of positions; '
                           'infinite: velocities are not checked.')
    lag: float = scalar('s', 'Largest lag of measured velocities.')
    repeated: float = scalar('rad', 'Motion that repeated states may hide; infinite: any.')
    overspeed: float = scalar('', 'Overspeed threshold, as part of the velocity limit; '
                              'infinite: none.')
    overspeed_time: float = scalar('s', 'Time for which a joint may exceed it.')
    speed: list = joints('rad/s', 'Velocity limit, or a usual value where there is none.')
    torque: list = joints('N m', 'Change of torque that a live measured effort must follow.')


@block
class Memory:
    known: float = scalar('', 'Flag: there is a previous state.')
    time: float = scalar('s', 'Time of the last state that was used.')
    position: list = joints('rad', 'Position, filtered.')
    estimate: list = joints('rad/s', 'Velocity, estimated from positions.')
    rate: list = joints('rad/s', 'Reported velocity, without single outliers.')
    outlier: list = joints('', 'Flag: the reported velocity was an outlier.')
    persisted: list = joints('s', 'Time for which it has been one.')
    outliers: float = scalar('', 'Number of outliers replaced by the estimate.')
    change: list = joints('rad', 'Change of position within the window.')
    integral: list = joints('rad', 'Integral of the reported velocity within the window.')
    covariance: list = joints('rad^2', 'Mean product of both, over a longer time.')
    variance: list = joints('rad^2', 'Mean square of the change, over a longer time.')
    verified: list = joints('', 'Flag: the velocity has agreed with positions since '
                            'activation.')
    doubted: list = joints('', 'Flag: the velocity is in doubt.')
    agreed: list = joints('s', 'Time for which a velocity in doubt has agreed, in motion.')
    undecided: float = scalar('', 'Flag: a velocity in use differs from positions, and is not in '
                              'doubt yet.')
    mismatch: list = joints('', 'Ratio of velocity and change of position, less 1, since the '
                            'doubt began; 0: not determined yet.')
    absent: list = joints('', 'Flag: no velocity is reported.')
    same: float = scalar('s', 'Time for which states were identical.')
    copied: float = scalar('', 'Flag: the state is a copy of the last one that hides motion.')
    no_response: float = scalar('s', 'Time for which the effort has not followed a change of '
                                'torque.')
    effort_changes: float = scalar('', 'Flag: the measured effort has changed since activation.')
    torque: list = joints('N m', 'Torque sent when states and efforts began to repeat; not a '
                          'number before the arm was taken over.')
    deviating: list = joints('rad', 'Position of the last deviating state.')
    consecutive: float = scalar('', 'Consecutive states that continued from there.')
    deviations: float = scalar('', 'Deviations within the window.')
    two_arms: float = scalar('', 'Flag: two arms report states.')
    over: float = scalar('s', 'Time for which a joint has exceeded the overspeed threshold.')
    replaced: list = joints('', 'Flag: the estimate is used.')
    switched: float = scalar('', 'Flag: that changed with this state.')
    delay: float = scalar('s', 'Delay of the velocities in use.')
    fault: Event = part(Event)


def prepared(m, inactive):
    """Return the memory for the next call; inactive: flag that the arm is not under control."""
    return replace(m, fault=NOTHING, over=when(inactive, 0.0, m.over),
                   verified=[each & no(inactive) for each in m.verified])


def completed(state, m, p):
    """Return the state, with estimates where no velocity is reported, and the memory."""
    estimates = no(equal(p.source, MEASURED))
    absent = [estimates & no(float('inf') >= absolute(v)) for v in state.qd]
    qd = [when(each, e, v) for each, e, v in zip(absent, m.estimate, state.qd)]
    return replace(state, qd=qd), replace(m, absent=absent)


def check_state(state, q, time, before, jumped, m, p, limit, sent):
    """
    Check a state.

    q, time: of the state. before: memory of `acceptance`. jumped: flag that its last position was
    not used. limit: velocity limits, huge where there is none. sent: last torque, not a number if
    the arm is not under control.
    Returns a namespace: `accepted` is the memory if the state is used, `rejected` if it is not;
    `qd` are the velocities to use; `refusal` is the event of a state that must not be used;
    `slipped` is the flag that an encoder has slipped.
    """
    repetition, m = repeated(state, q, time, before, m, p, sent)
    dt = time - m.time
    restarts = any_of([no(m.known), dt > _GAP, jumped, no(dt > 0.0)])
    dt = when(restarts, _GAP, dt)
    # an arm that is not under control may be moved, and its driver repaired
    controlled = finite(sent[0])
    deviates, other_arm, m = check_position(
        q, state.qd, before, restarts, controlled, dt, m, p, limit)
    refusal = when(flag(repetition.code), repetition, when(other_arm, event(ALTERNATING), NOTHING))
    x = estimated(q, state.qd, dt, restarts, deviates, before.q, m, p, limit)
    m = replace(m, doubted=[each & no(restarts & no(controlled)) for each in m.doubted])
    after = velocity_check.compared(x, dt, restarts | deviates, m, p, equal(p.source, ESTIMATED))
    after = replace(
        after, position=x.position, estimate=x.estimate, outlier=x.outlier, replaced=x.replaced,
        outliers=m.outliers + sum(when(each, 1.0, 0.0) for each in x.outlier), delay=x.delay,
        switched=any_of([no(equal(*each)) for each in zip(x.replaced, m.replaced)]))
    after = too_fast(speeds(x.qd, after.doubted, difference(q, before.q), dt), dt, after, p,
                     limit)
    # a state refused for its stamp leaves a gap, unless it was sent twice
    rejected = replace(m, known=m.known & (flag(refusal.code) | equal(time, m.time)))
    return SimpleNamespace(accepted=replace(after, known=1.0, time=time), rejected=rejected,
                           qd=x.qd, refusal=refusal, slipped=controlled
                           & (deviates & no(other_arm)))


def repeated(state, q, time, before, m, p, sent):
    """Return the event of a state that is a repetition although the arm moves, and the memory."""
    track = before.track
    same = all_of([m.known, finite(sent[0]), *[equal(x, old) for x, old in zip(q, track.q)],
                   *[a | equal(v, old) for a, v, old in zip(m.absent, state.qd, track.qd)]])
    passed = maximum(time - track.time, 0.0)
    still = same & all_of([equal(e, old) for e, old in zip(state.effort, before.effort)])
    torque = when(still, m.torque, sent)

    def alike():
        # a blocked arm repeats its state, too, but not its effort
        changed = any_of([absolute(t - s) > d for t, s, d in zip(torque, sent, p.torque)])
        waits = all_of([still, m.effort_changes, (m.no_response > _RESPONSE) | changed])
        time = when(waits, m.no_response + passed, 0.0)
        span = m.same + passed
        hidden_motion = [when(a, 0.0, absolute(v)) * span for a, v in zip(m.absent, state.qd)]
        dead = finite(p.repeated) & (time > _RESPONSE)
        j = largest(hidden_motion)
        return when(any_above(hidden_motion, p.repeated) | dead,
                    Event(REPEATED, j, element(state.qd, j), 0.0, 0.0),
                    NOTHING), span, time, finite(p.repeated) & any_above(
            hidden_motion, _COPIED)

    changes = any_of([absolute(e - old) > 0.0 for e, old in zip(state.effort, before.effort)])
    effort_changes = finite(sent[0]) & (m.effort_changes | (m.known & changes))
    found, span, time, copied = choose(same, [lambda: (NOTHING, 0.0, 0.0, 0.0), alike])
    # the next state is compared with the same one if this one is not used
    span = when(flag(found.code), m.same, span)
    return found, replace(m, same=span, torque=torque, effort_changes=effort_changes,
                          no_response=time, copied=copied)


def check_position(q, qd, before, restarts, judged, dt, m, p, limit):
    """
    Return flags that a position deviates, and that it is of another arm, and the memory.

    before: memory of the last state that was used, `dt` ago. judged: flag that deviating states
    are not used. If the next states continue from there an encoder has slipped; otherwise it is
    a state of another arm. An arm that is thrown reports its velocity and does not deviate.
    """
    room = [p.motion + _FAST * most * maximum(dt, _JITTER) for most in limit]
    step = difference(q, before.q)
    deviates = (no(restarts)
                & any_of([(absolute(s) > d) & (absolute(s - 0.5 * dt * (v + old)) > d) for s, d, v,
                          old in zip(step, room, qd, before.qd)]))

    def deviates_again():
        goes_on = all_of([d >= absolute(x - other) for x, other, d in zip(q, m.deviating, room)])
        return when(goes_on, m.consecutive, 0.0) + 1.0, q

    consecutive, deviating = choose(deviates, [lambda: (0.0, m.deviating), deviates_again])
    other_arm = all_of([judged, deviates, consecutive < _CONFIRMED])
    remains = m.deviations * velocity_check.window_decay(dt)
    count = remains + when(other_arm & (consecutive < 1.5), 1.0, 0.0)

    def fault():
        part_ = [absolute(s) - d for s, d in zip(step, room)]
        j = largest(part_)
        return Event(ALTERNATING, j, absolute(element(step, j)), 0.0, 0.0)

    begins = (count > _DEVIATIONS) & no(m.two_arms)
    return deviates, other_arm, replace(
        m, deviating=deviating, consecutive=consecutive, deviations=count,
        two_arms=count > when(m.two_arms, 1.0, _DEVIATIONS),
        fault=choose(begins, [lambda: NOTHING, fault]))


def estimated(q, reported, dt, restarts, deviates, before, m, p, limit):
    """Return filtered position, its velocity, outliers, and the velocity to use."""
    time = maximum(p.smoothing, dt)
    # gains of position and velocity on the prediction error of a fading memory (Morrison,
    # Introduction to Sequential Smoothing and Prediction, 1969, chapter 9)
    rest = time / (time + dt)
    gain, slope = 1.0 - rest * rest, (1.0 - rest) * (1.0 - rest) / dt
    result = SimpleNamespace(position=[], estimate=[], outlier=[], qd=[], step=[], replaced=[],
                             reported=reported, delay=0.0)
    from_positions = equal(p.source, ESTIMATED)
    for x, v, old, position, rate, speed, most, doubted, absent, was_outlier in zip(
            q, reported, before, m.position, m.estimate, p.speed, limit, m.doubted, m.absent,
            m.outlier):
        ahead = position + rate * dt
        error, step = x - ahead, x - old
        error = when(deviates, 0.0, error)
        rate = minimum(maximum(rate + slope * error, -2.0 * most), 2.0 * most)
        unknown = any_of([absent, doubted, from_positions])
        rate = when(restarts, when(unknown, 0.0, v), rate)
        outlier = all_of(
            [no(restarts), no(absent), no(doubted), equal(p.source, AUTO),
             absolute(v - rate) > when(was_outlier, _STAYS,
                                       1.0) * (_FAR * speed + _NOISE * p.motion / time), deviates
             | (absolute(step - rate * dt) < absolute(step - v * dt))])
        replaced = no(equal(p.source, MEASURED)) & unknown
        result.position.append(when(restarts | deviates, x, ahead + gain * error))
        result.estimate.append(rate)
        result.outlier.append(outlier)
        result.step.append(step)
        result.replaced.append(replaced)
        result.qd.append(when(replaced | outlier, rate, v))
        result.delay = when(replaced, 2.0 * when(restarts, p.smoothing, time), result.delay)
    return result


def speeds(qd, doubted, step, dt):
    """
    Return velocities, and where these are in doubt at least those of the last change of position.

    An estimate hides an oscillation that is faster than its filter, and as the joint is in doubt
    because of it, so does everything else.
    """
    seen = [s / maximum(dt, _JITTER) for s in step]
    return [when(each & (absolute(s) > absolute(v)), s, v)
            for each, s, v in zip(doubted, seen, qd)]


def too_fast(qd, dt, m, p, limit):
    """Return the memory with the event of a joint that exceeded the threshold for too long."""
    over, far_over = (any_of([absolute(v) > factor * most for v, most in zip(qd, limit)])
                      for factor in (p.overspeed, 2.0 * p.overspeed - 1.0))
    # twice the excess trips at once; the fault is reported once only
    trips = all_of([over, m.over, m.over < _TRIPPED, (m.over + dt >= p.overspeed_time) | far_over])

    def fault():
        j = largest([absolute(v) / most for v, most in zip(qd, limit)])
        return Event(OVERSPEED, j, element(qd, j), element(limit, j), 0.0)

    return replace(m, over=when(over, when(trips, _TRIPPED, m.over + dt), 0.0),
                   fault=choose(trips, [lambda: m.fault, fault]))
