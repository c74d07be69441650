"""
Which of the states that come are used, and what their absence means.

A state is used if its numbers are finite, if the arm can have got there from the one before, and
if its stamp is new and near the clock. Time of the law is that at which it was measured: arrival,
less the delay beyond the least one seen, so that a late state is compared with the reference of
its own time. The clock of the sender may differ from ours by any amount.

Continuity: names of joints that are swapped, an encoder that slips, or another arm on the same
topic make a position jump. What jumps, and moves faster than its own velocity says, is not used;
the way of the arm is added up without the jumps, so that states count again as soon as they
continue it, or after some patience. Where joints have changed places they never do.
"""

from __future__ import annotations

from dataclasses import replace
import math

from robodyn_ros.control.blocks import block, joints, part, scalar
from robodyn_ros.control.state import BETWEEN, DUE, FROM_STATE, RECEIVED, REQUESTS, SILENT
from robodyn_ros.control.steps import plausibility
from robodyn_ros.control.steps.event import Event, event, NOTHING
from robodyn_ros.control.steps.vectors import difference, element, first_where, largest, magnitudes
from robodyn_ros.dynamics.jit.flags import (
    above, all_of, any_of, at_least, below, both, either, equal, finite, first_of, flag, no, when)
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, nearest
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE

# why no state counts; codes of `messages`
(NEVER, UNSTAMPED, SKEWED, FROZEN, BACK, LATE, JUMPED, EXCHANGED, NOT_FINITE) = map(
    float, range(101, 110))
_TURN = 2.0 * math.pi
_DRIFT = 2e-4   # s per s that the least delay may grow: clocks of two machines drift by less
_LONGEST = 0.02  # s; what is later is no jitter but a pause, or a clock that was set
_SPEED = 2.0    # times the velocity limit that a joint may be fast
_NEAR = 0.1     # of the slack that a joint may move from one state to the next and be in place


@block
class Program:
    hold: float = scalar('s', 'Age of the newest state from which on the arm is brought to rest.')
    stop: float = scalar('s', 'Age from which on that is a fault.')
    skew: float = scalar('s', 'Largest difference of stamp and clock; infinite: not judged.')
    slack: float = scalar('s', 'Time at the velocity limit by which a position may be off; '
                          'infinite: not judged.')
    patience: float = scalar('s', 'Time after which states count that do not continue the way.')
    simulated: float = scalar('', 'Flag: time of the law is that of the stamps.')
    limit: list = joints('rad/s', 'Velocity limit.')
    continuous: list = joints('', 'Flag: positions are one angle, counted on over turns.')
    lost: float = scalar('', 'Number of the last time that another commander had the arm.')
    plausibility: plausibility.Program = part(plausibility.Program)


@block
class Way:
    """The way of the arm, without jumps."""

    known: float = scalar('', 'Flag: there is a state to continue.')
    exchanged: float = scalar('', 'Flag: joints have changed places.')
    time: float = scalar('s', 'Time of the last state.')
    accepted: float = scalar('s', 'Time of the last state that was used.')
    q: list = joints('rad', 'Position of the last state.')
    qd: list = joints('rad/s', 'Velocity of the last state.')
    place: list = joints('rad', 'Position along the way.')


@block
class Memory:
    kind: float = scalar('', 'Kind of cycle that came of it, see `State`.')
    now: float = scalar('s', 'Time of the law.')
    resumes: float = scalar('', 'Flag: the arm was out of control before this state.')
    fails: float = scalar('', 'Flag: the silence is a fault.')
    pause: float = scalar('s', 'Time that this process was held up before it; 0: it was not.')
    age: float = scalar('s', 'Age of the newest state that counts.')
    complete: float = scalar('', 'Flag: there has been a state that was used.')
    q: list = joints('rad', 'Position of the last state that was used.')
    qd: list = joints('rad/s', 'Velocity of it that is used.')
    effort: list = joints('N m', 'Effort of it; not a number where it has none.')
    refused: float = scalar('', 'States that were not used.')
    problem: Event = part(Event)
    remark: Event = part(Event)
    measured: float = scalar('s', 'Arrival of the newest state that counts, less its delay.')
    stamp: float = scalar('s', 'Stamp of the last state that had one.')
    least: float = scalar('s', 'Least difference of arrival and stamp.')
    before: float = scalar('s', 'Arrival of the last state that had a stamp.')
    offset: float = scalar('s', 'Arrival less time of the law.')
    latest: float = scalar('s', 'Time of the law of the newest state that counts.')
    way: Way = part(Way)
    out: float = scalar('', 'Flag: the arm is out of control since the last answer.')
    lost: float = scalar('', 'Last loss that was looked at.')
    answered: float = scalar('s', 'Arrival of the last state that was answered.')
    turned: float = scalar('s', 'Time of the local clock at the last call.')
    law: float = scalar('s', 'Time of the law of that state.')
    predicted: float = scalar('s', 'Time of the law of the last torque between two states.')
    plausibility: plausibility.Memory = part(plausibility.Memory)


def accept(state, m, p, inactive, sent):
    """
    Return the memory after a state has come, or not: with the kind of cycle that follows.

    inactive: flag that the arm is not under control. sent: last torque.
    """
    received, now = equal(state.kind, RECEIVED), state.arrival
    # who else moves an arm that is not under control, or starts its driver anew, may do so
    m = replace(m, way=replace(m.way, known=both(m.way.known, no(inactive))),
                plausibility=plausibility.begun(m.plausibility, inactive))
    sent = [when(inactive, math.nan, t) for t in sent]
    # a pause of this process is no silence of the states, and what has waited for it is not late
    paused = both(finite(m.turned), above(now - m.turned, p.stop))
    known = when(paused, m.measured + (now - m.turned), -math.inf)
    counts, m = choose(received, [lambda: (0.0, m), lambda: taken(state, m, p, sent)])
    # a clock set back must not hide silence
    measured = minimum(maximum(m.measured, known), now)
    age = now - measured
    silent, moment = no(below(age, p.hold)), now - m.offset
    repeated = all_of([received, no(flag(m.problem.code)),
                       equal(m.remark.code, plausibility.REPEATED)])
    allowed = both(state.permitted, no(inactive))
    kind = first_of(
        (no(allowed), REQUESTS),
        # a copy of the last state is no reason to predict from there once more
        (all_of([counts, no(silent), m.plausibility.copied]), BETWEEN),
        (both(counts, no(silent)), FROM_STATE),
        (silent, SILENT),
        (either(equal(state.kind, DUE), repeated), BETWEEN), otherwise=(REQUESTS,))[0]
    answers, coasts = equal(kind, FROM_STATE), equal(kind, SILENT)
    out = either(flag(m.out), no(equal(m.lost, p.lost)))
    pause = now - m.answered
    held_up = all_of([answers, no(out), above(pause, p.stop)])
    between, resumes = equal(kind, BETWEEN), both(
        answers, any_of([out, held_up, below(moment, m.law)]))
    # where the clock of a simulation was set back the time of the law begins anew
    ahead = both(answers, no(resumes))
    return replace(
        m, kind=kind, now=when(ahead, maximum(moment, m.predicted), moment), resumes=resumes,
        fails=both(coasts, no(below(age, p.stop))), pause=when(held_up, pause, 0.0), age=age,
        measured=measured, turned=now, lost=p.lost, out=both(no(answers), either(out, coasts)),
        answered=when(answers, now, m.answered), law=when(answers, moment, m.law),
        predicted=when(either(between, resumes), moment, m.predicted))


def usable(state, code):
    """Return whether a state has only usable numbers, and the event of the first that is not."""
    good = [both(below(absolute(x), MAX_PLAUSIBLE_VALUE), below(absolute(v), MAX_PLAUSIBLE_VALUE))
            for x, v in zip(state.q, state.qd)]
    j = first_where([no(each) for each in good])
    return all_of(good), Event(code, j, element(state.q, j), element(state.qd, j), 0.0)


def taken(state, m, p, sent):
    """Return whether a state counts, and the memory that has taken note of it."""
    state, seen = plausibility.completed(state, m.plausibility, p.plausibility)
    m = replace(m, plausibility=seen)
    good, spoilt = usable(state, NOT_FINITE)
    return choose(good, [
        lambda: (0.0, replace(m, problem=spoilt, refused=m.refused + 1.0)),
        lambda: continued(state, m, p, sent)])


def continued(state, m, p, sent):
    """Return the same for a state of finite numbers."""
    stamped = no(equal(state.stamp, 0.0))
    time = when(stamped, state.stamp, state.arrival)
    q = [when(both(c, m.complete), x - _TURN * nearest((x - old) / _TURN), x)
         for c, x, old in zip(p.continuous, state.q, m.q)]
    way, follows, jump = follow(m.way, p, time, q, state.qd)
    # the first jump is named until states count again
    named = either(equal(m.problem.code, JUMPED), equal(m.problem.code, EXCHANGED))
    x = plausibility.judge(state, q, time, m, named, m.plausibility, p.plausibility, p.limit,
                           sent)
    fresh, after = stamp_checked(state, m, p, stamped, x.refusal)
    # what is not plausible does not continue the way of this arm
    q, qd, effort, way = when(flag(x.refusal.code), [m.q, m.qd, m.effort, m.way],
                              [q, x.qd, state.effort, way])
    after = replace(after, problem=NOTHING, complete=1.0, q=q, qd=qd, effort=effort, way=way,
                    plausibility=when(fresh, x.used, x.seen))
    refused = replace(m, problem=when(named, replace(m.problem, code=jump.code), jump), way=way,
                      refused=m.refused + 1.0, plausibility=x.seen)
    return both(follows, fresh), when(follows, after, refused)


def stamp_checked(state, m, p, stamped, refusal):
    """
    Return whether a state counts, and the memory with its delay.

    refusal: event of a state that is not plausible.
    """
    delay = state.clock - state.stamp
    skewed, old = no(at_least(p.skew, absolute(delay))), no(above(state.stamp, m.stamp))
    counts = both(no(both(stamped, either(skewed, old))), no(flag(refusal.code)))
    age = when(both(stamped, finite(p.skew)), maximum(delay, 0.0), 0.0)
    remark = first_of(
        (both(stamped, skewed), Event(SKEWED, 0.0, delay, 0.0, 0.0)),
        (both(stamped, equal(state.stamp, m.stamp)), Event(FROZEN, 0.0, state.stamp, 0.0, 0.0)),
        (both(stamped, old), Event(BACK, 0.0, m.stamp - state.stamp, 0.0, 0.0)),
        (flag(refusal.code), refusal),
        (at_least(age, p.hold), Event(LATE, 0.0, age, 0.0, 0.0)),
        otherwise=(event(UNSTAMPED),))[0]
    after = replace(m, remark=remark, stamp=when(stamped, state.stamp, m.stamp))
    return counts, when(counts, delayed(state, after, p, stamped, age), after)


def delayed(state, m, p, stamped, age):
    """Return the memory after a state that counts, of an age at its arrival: times of the law."""
    now = state.arrival
    difference_ = now - state.stamp
    grown = m.least + _DRIFT * maximum(now - m.before, 0.0)
    least = minimum(difference_, grown)
    late = difference_ - least
    late = when(both(stamped, no(above(late, _LONGEST))), late, 0.0)
    # a state that is less late than all before it does not turn the time back
    late = minimum(late, maximum(now - m.latest, 0.0))
    offset = when(p.simulated, when(stamped, difference_, 0.0), late)
    keeps = either(p.simulated, no(stamped))
    return replace(
        m, measured=now - age, least=when(keeps, m.least, least),
        before=when(keeps, m.before, now), offset=offset,
        latest=when(p.simulated, m.latest, now - offset))


def follow(m, p, time, q, qd):
    """Return the way, whether a position continues it, and the jump if it does not."""
    anew = either(no(m.known), above(time - m.time, p.patience))
    passed = maximum(time - m.time, 0.0)
    step, slack = difference(q, m.q), [p.slack * limit for limit in p.limit]
    # an arm that falls is faster than it should be, and reports so
    jumps = [both(above(absolute(s), d + _SPEED * passed * limit),
                  above(absolute(s - 0.5 * passed * (v + before)), d))
             for s, d, limit, v, before in zip(step, slack, p.limit, qd, m.qd)]
    jumped = any_of(jumps)
    places = choose(jumped, [lambda: 0.0, lambda: change_places(q, m.q, slack)])
    exchanged = when(places, no(m.exchanged), flag(m.exchanged))
    way = [old + when(each, 0.0, s) for old, each, s in zip(m.place, jumps, step)]
    # where two arms report by turns the step back may just be none that jumps
    away = [minimum(*each) for each in zip(*(magnitudes(difference(q, place))
                                             for place in (way, m.place)))]
    near = all_of([at_least(d, a) for d, a in zip(slack, away)])
    accepted = minimum(m.accepted, time)  # time that went back begins anew
    given_up = both(above(time - accepted, p.patience), no(exchanged))
    follows = any_of([anew, near, given_up])
    j = largest([a / limit for a, limit in zip(away, p.limit)])
    jump = Event(when(exchanged, EXCHANGED, JUMPED), j, element(away, j), passed, 0.0)
    return Way(1.0, when(follows, 0.0, exchanged), time, when(follows, time, accepted), q, qd,
               when(follows, q, way)), follows, jump


def change_places(q, before, slack):
    """Return whether the positions are those before, of other joints."""
    moved = [above(absolute(x - old), _NEAR * d) for x, old, d in zip(q, before, slack)]
    several = above(sum(when(each, 1.0, 0.0) for each in moved), 1.5)
    least = math.inf
    for each, d in zip(moved, slack):
        least = minimum(when(each, d, math.inf), least)
    rows = [in_order([when(each, x, math.inf) for each, x in zip(moved, values)])
            for values in (q, before)]
    same = all_of([either(equal(a, b), at_least(least, absolute(a - b))) for a, b in zip(*rows)])
    return both(several, same)


def in_order(values):
    """Return the numbers in rising order, by exchanges of neighbours."""
    values = list(values)
    for last in range(len(values) - 1, 0, -1):
        for k in range(last):
            low, high = values[k:k + 2]
            values[k:k + 2] = minimum(low, high), maximum(low, high)
    return values


def begun(m, state, begins):
    """Return the memory of an arm that is taken over, where a flag holds."""
    return replace(m, out=when(begins, 0.0, m.out), law=when(begins, state.now, m.law),
                   predicted=when(begins, state.now, m.predicted),
                   answered=when(begins, state.arrival, m.answered))
