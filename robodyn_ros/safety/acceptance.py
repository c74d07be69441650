"""
Acceptance of received states, and the reaction to their absence.

A state is used if its numbers are finite, if the arm can have moved there since the one before,
and if its stamp is new and close to the clock. The time of the law is the time of measurement:
arrival, less the delay above the smallest one observed, so that a late state is compared with the
reference of its own time. The clock of the sender may have any offset.

Continuity: a slipping encoder or another arm on the same topic make a position jump. A state that
jumps, faster than its own velocity explains, is not used; the track of the arm is summed up
without the jumps, so that states are accepted again as soon as they continue it, or after
`patience`; and from then on, where they return to it. After a jump that is accepted, the reference
begins where the arm is found. Messages in which joints change places are not read at all.
"""

from __future__ import annotations

from dataclasses import replace
import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.blocks import block, joints, part, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_of, equal, finite, first_of, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, nearest
from robodyn_ros.dynamics.jit.vectors import difference, element, first_where, largest, magnitudes
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.safety import plausibility
from robodyn_ros.safety.events import (
    BACK, Event, event, FROZEN, JUMPED, LATE, NEVER, NOT_FINITE, NOTHING, SKEWED, UNSTAMPED)
from robodyn_ros.safety.limits import MAX_PLAUSIBLE_VALUE

# kinds of cycle: new state; torque due between two states; silence; requests only. `accept`
# derives one of these from the others: state received; no state; no state, and a torque is due
FROM_STATE, BETWEEN, SILENT, REQUESTS, RECEIVED, WAITING, DUE = map(float, range(7))
COAST = 0.005  # s between torques during silence
_TURN = 2.0 * math.pi
_LIVE_EFFORT = 0.1  # of the effort limit, that a live measured effort shows
_LATCHED = 0.05  # s that a fault is latched before states are used that do not continue the motion
_ANY = 1e9       # rad/s or m/s, for a joint without limit: infinity times 0 s would be NaN
_DRIFT = 2e-4   # s per s that the smallest delay may grow: clocks of two machines drift by less
_LONGEST = 0.1   # s; a larger delay, or one that counts as silence, is that of a pause or clock
_SPEED = 2.0    # times the velocity limit that a joint may reach
_SLIPPED = 0.2  # of the slack, above which a position that is accepted is another one


@block
class State:
    """State of the arm as the input of a cycle."""

    kind: float = scalar('', 'Kind of cycle: 0 state, 1 between states, 2 silence, 3 requests, '
                         '4 received, 5 waiting, 6 torque due.')
    now: float = scalar('s', 'Time of the law.')
    arrival: float = scalar('s', 'Time of the local steady clock.')
    stamp: float = scalar('s', 'Stamp of the state; 0: none.')
    clock: float = scalar('s', 'Time of the clock of the stamps at arrival.')
    permitted: float = scalar('', 'Flag: a torque may be sent.')
    unattended: float = scalar('', 'Flag: the process that supervises the cycle does not react.')
    cause: float = scalar('', 'Code of the text that names the cause of a silence.')
    q: list = joints('rad', 'Measured position.')
    qd: list = joints('rad/s', 'Measured velocity.')
    effort: list = joints('N m', 'Measured effort; not a number where none is reported.')


@block
class Program:
    hold: float = scalar('s', 'Age of the newest state above which the arm is brought to rest.')
    stop: float = scalar('s', 'Age above which that is a fault.')
    skew: float = scalar('s', 'Largest difference of stamp and clock; infinite: not checked.')
    slack: float = scalar('s', 'Time at the velocity limit by which a position may jump; '
                          'infinite: not checked.')
    patience: float = scalar('s', 'Time after which states that do not continue the track are '
                             'accepted.')
    simulated: float = scalar('', 'Flag: the time of the law is that of the stamps.')
    limit: list = joints('rad/s', 'Velocity limit.')
    continuous: list = joints('', 'Flag: positions are one angle, counted on over turns.')
    takeover_count: float = scalar('', 'Number of the last loss of the arm to another commander.')
    plausibility: plausibility.Program = part(plausibility.Program)


@block
class Track:
    """Track of the arm: its positions, summed up without the jumps."""

    known: float = scalar('', 'Flag: there is a state to continue.')
    time: float = scalar('s', 'Time of the last state.')
    accepted: float = scalar('s', 'Time of the last state that was used.')
    q: list = joints('rad', 'Position of the last state.')
    qd: list = joints('rad/s', 'Velocity of the last state.')
    position: list = joints('rad', 'Position along the track, without jumps.')
    origin: list = joints('rad', 'The same without the jumps that were accepted after `patience`.')


@block
class Memory:
    kind: float = scalar('', 'Kind of cycle that follows, see `State`.')
    now: float = scalar('s', 'Time of the law.')
    resumes: float = scalar('', 'Flag: the arm was out of control before this state.')
    is_fault: float = scalar('', 'Flag: the silence is a fault.')
    pause: float = scalar('s', 'Time for which this process was held up before; 0: it was not.')
    age: float = scalar('s', 'Age of the newest accepted state.')
    complete: float = scalar('', 'Flag: a state has been used.')
    q: list = joints('rad', 'Position of the last state that was used.')
    qd: list = joints('rad/s', 'Velocity used with it.')
    effort: list = joints('N m', 'Effort of it; not a number where none is reported.')
    refused: float = scalar('', 'Number of states that were not used.')
    problem: Event = part(Event)
    remark: Event = part(Event)
    measured: float = scalar('s', 'Arrival of the newest accepted state, less its delay.')
    stamp: float = scalar('s', 'Stamp of the last state that had one.')
    min_delay: float = scalar('s', 'Smallest difference of arrival and stamp.')
    last_stamped_arrival: float = scalar('s', 'Arrival of the last state that had a stamp.')
    offset: float = scalar('s', 'Arrival less time of the law.')
    latest: float = scalar('s', 'Time of the law of the newest accepted state.')
    track: Track = part(Track)
    moved: float = scalar('', 'Flag: the last state that was used is a jump from the one before.')
    waited: float = scalar('', 'Flag: it had waited during a pause of this process.')
    uncontrolled: float = scalar('', 'Flag: the arm is out of control since the last torque.')
    takeover_count: float = scalar('', 'Last loss that was handled.')
    last_answer: float = scalar('s', 'Arrival of the last state for which a torque was sent.')
    last_call: float = scalar('s', 'Time of the local clock at the last call.')
    pause_until: float = scalar('s', 'Time until which missing states are due to a pause of this '
                                'process; 0: none.')
    answered_law_time: float = scalar('s', 'Time of the law of that state.')
    last_between: float = scalar('s', 'Time of the law of the last torque between two states.')
    plausibility: plausibility.Memory = part(plausibility.Memory)


class Age(NamedTuple):
    """
    How old the newest accepted state is.

    Attributes
    ----------
    fresh : bool
        Whether it may be used.
    age : float
        Seconds since it was measured; infinite before any.
    reason : str
        Reason in words; empty while it is fresh.

    """

    fresh: bool
    age: float
    reason: str


def write_program(p: SimpleNamespace, model: RobotModel, usable: np.ndarray, simulated: bool,
                  **numbers: float) -> None:
    """
    Write the program of an arm.

    Parameters
    ----------
    p : namespace
        Fields of `Program`.
    model : RobotModel
        Model of the arm.
    usable : (nv,) array
        Effort limits, in N m or N.
    simulated : bool
        Whether the time of the law is that of the stamps.
    **numbers
        Fields of `Program` and of that of `plausibility`.

    """
    limit = np.asarray(model.velocity_limit, dtype=float)
    p.limit[:] = np.where(limit > 0.0, np.minimum(limit, _ANY), _ANY)
    p.continuous[:], p.simulated[()] = model.continuous, simulated
    p.plausibility.speed[:], p.plausibility.torque[:] = speeds(model), _LIVE_EFFORT * usable
    for name, value in numbers.items():
        getattr(p if hasattr(p, name) else p.plausibility, name)[()] = value
    p.patience[()] = p.stop + _LATCHED


def write_initial(m: SimpleNamespace) -> None:
    """Write the memory of an arm from which no state was received; m: zeros."""
    m.remark.code[()] = NEVER
    m.measured[()] = m.stamp[()] = m.last_call[()] = -np.inf
    m.min_delay[()] = np.inf


def body_of(dimensions):
    """Return `accept` as a function of lists of scalars; the last is (inactive, *sent)."""
    def body(*values):
        *given, (inactive, *sent) = values
        return accept(*(blocks.unpack(cls, each, dimensions)
                        for cls, each in zip((State, Memory, Program), given)), inactive, sent)

    return body


def accept(state, m, p, inactive, sent):
    """
    Return the memory after a call with or without a state; its `kind` is that of the next cycle.

    inactive: flag that the arm is not under control. sent: last torque.
    """
    received, now = equal(state.kind, RECEIVED), state.arrival
    # a pause of this process is no silence of the states, and those that waited are not late
    paused = finite(m.last_call) & (now - m.last_call > p.stop)
    pause_until = when(paused, m.measured + (now - m.last_call), minimum(m.pause_until, now))
    # an arm that is not under control may be moved, and its driver restarted
    m = replace(m, track=replace(m.track, known=m.track.known & no(inactive)),
                plausibility=plausibility.prepared(m.plausibility, inactive),
                pause_until=pause_until)
    sent = [when(inactive, math.nan, t) for t in sent]
    waited = m.waited
    accepted, m = choose(received, [lambda: (0.0, m), lambda: received_state(state, m, p, sent)])
    # a clock set back must not hide silence
    measured = minimum(maximum(m.measured, when(flag(pause_until), pause_until, -math.inf)), now)
    age = now - measured
    silent, time_of_law = no(age < p.hold), now - m.offset
    repeated = all_of([received, no(flag(m.problem.code)),
                       equal(m.remark.code, plausibility.REPEATED)])
    allowed = state.permitted & no(inactive)
    kind = first_of(
        (no(allowed), REQUESTS),
        # a copy of the last state must not restart the prediction
        (all_of([accepted, no(silent), m.plausibility.copied]), BETWEEN),
        (accepted & no(silent), FROM_STATE),
        (silent, SILENT),
        (equal(state.kind, DUE) | repeated, BETWEEN), otherwise=(REQUESTS,))[0]
    responds, coasts = equal(kind, FROM_STATE), equal(kind, SILENT)
    uncontrolled = flag(m.uncontrolled) | no(equal(m.takeover_count, p.takeover_count))
    pause = now - m.last_answer
    after_pause = all_of([responds, no(uncontrolled), pause > p.stop])
    # the arm is held where the last of the states that waited finds it
    between, resumes = equal(kind, BETWEEN), responds & any_of([
        uncontrolled, after_pause, time_of_law < m.answered_law_time, m.moved, waited])
    # the time of the law restarts where the clock of a simulation was set back
    ahead = responds & no(resumes)
    return replace(
        m, kind=kind, now=when(ahead, maximum(time_of_law, m.last_between), time_of_law),
        resumes=resumes, is_fault=coasts & no(age < p.stop),
        pause=when(after_pause, pause, 0.0), age=age,
        measured=measured, last_call=now, takeover_count=p.takeover_count,
        uncontrolled=no(responds) & (uncontrolled | coasts),
        last_answer=when(responds, now, m.last_answer),
        answered_law_time=when(responds, time_of_law, m.answered_law_time),
        last_between=when(between | resumes, time_of_law, m.last_between))


def usable(state, code):
    """Return whether all numbers of a state are usable, and the event of the first that is not."""
    good = [(absolute(x) < MAX_PLAUSIBLE_VALUE) & (absolute(v) < MAX_PLAUSIBLE_VALUE) for x,
            v in zip(state.q, state.qd)]
    j = first_where([no(each) for each in good])
    return all_of(good), Event(code, j, element(state.q, j), element(state.qd, j), 0.0)


def received_state(state, m, p, sent):
    """Return whether a received state is accepted, and the next memory."""
    state, judged = plausibility.completed(state, m.plausibility, p.plausibility)
    m = replace(m, plausibility=judged)
    good, invalid = usable(state, NOT_FINITE)
    return choose(good, [
        lambda: (0.0, replace(m, problem=invalid, refused=m.refused + 1.0)),
        lambda: continued(state, m, p, sent)])


def continued(state, m, p, sent):
    """Return the same for a state whose numbers are finite."""
    stamped = no(equal(state.stamp, 0.0))
    time = when(stamped, state.stamp, state.arrival)
    q = [when(c & m.complete, x - _TURN * nearest((x - old) / _TURN), x) for c, x,
         old in zip(p.continuous, state.q, m.q)]
    track, follows, moved, jump = continue_track(m.track, p, time, q, state.qd)
    # the first jump is reported until states are accepted again
    jumped = equal(m.problem.code, JUMPED)
    x = plausibility.check_state(state, q, time, m, jumped, m.plausibility, p.plausibility,
                                 p.limit, sent)
    fresh, after = stamp_checked(state, m, p, stamped, x.refusal)
    # an implausible state does not continue the track of this arm, unless it is known to jump
    q, qd, effort, kept = when(flag(x.refusal.code), [m.q, m.qd, m.effort, m.track],
                               [q, x.qd, state.effort, track])
    after = replace(
        after, problem=NOTHING, complete=1.0, q=q, qd=qd, effort=effort, track=kept,
        moved=fresh & (moved | x.slipped), plausibility=when(fresh, x.accepted, x.rejected))
    refused = replace(m, problem=when(jumped, m.problem, jump), track=track,
                      refused=m.refused + 1.0, plausibility=x.rejected)
    return follows & fresh, when(follows, after, refused)


def stamp_checked(state, m, p, stamped, refusal):
    """
    Return whether a state is accepted, and the memory with its delay.

    refusal: event of an implausible state.
    """
    delay = state.clock - state.stamp
    skewed, old = no(p.skew >= absolute(delay)), no(state.stamp > m.stamp)
    accepted = no(stamped & (skewed | old)) & no(flag(refusal.code))
    age = when(stamped & finite(p.skew), maximum(delay, 0.0), 0.0)
    remark = first_of((stamped & skewed, Event(SKEWED, 0.0, delay, 0.0, 0.0)),
                      (stamped & equal(state.stamp, m.stamp),
                       Event(FROZEN, 0.0, state.stamp, 0.0, 0.0)),
                      (stamped & old, Event(BACK, 0.0, m.stamp - state.stamp, 0.0, 0.0)),
                      (flag(refusal.code), refusal),
                      (age >= p.hold, Event(LATE, 0.0, age, 0.0, 0.0)),
                      otherwise=(event(UNSTAMPED),))[
        0]
    after = replace(m, remark=remark, stamp=when(stamped, state.stamp, m.stamp))
    return accepted, when(accepted, delayed(state, after, p, stamped, age), after)


def delayed(state, m, p, stamped, age):
    """Return the memory with the times of an accepted state; age: at its arrival."""
    now = state.arrival
    difference_ = now - state.stamp
    grown = m.min_delay + _DRIFT * maximum(now - m.last_stamped_arrival, 0.0)
    min_delay = minimum(difference_, grown)
    late = difference_ - min_delay
    waited = all_of([stamped, flag(m.pause_until), now - m.pause_until < p.hold, late >= p.hold])
    late = when(stamped & no(late > minimum(p.hold, _LONGEST)), late, 0.0)
    # a state with a smaller delay than all before must not set the time back
    late = minimum(late, maximum(now - m.latest, 0.0))
    offset = when(p.simulated, when(stamped, difference_, 0.0), late)
    keeps = p.simulated | no(stamped)
    return replace(
        m, waited=waited, measured=now - age, min_delay=when(keeps, m.min_delay, min_delay),
        last_stamped_arrival=when(keeps, m.last_stamped_arrival, now), offset=offset,
        latest=when(p.simulated, m.latest, now - offset))


def continue_track(m, p, time, q, qd):
    """
    Return the track, and what is found about a position.

    p: program of the acceptance. Findings: whether the position is accepted; whether it jumps and
    is accepted all the same; why it is not accepted.
    """
    restarts = no(m.known) | (time - m.time > p.patience)
    passed = maximum(time - m.time, 0.0)
    step, slack = difference(q, m.q), [p.slack * limit for limit in p.limit]
    # a falling arm exceeds its velocity limit, and reports so
    jumps = [(absolute(s) > d + _SPEED * passed * limit)
             & (absolute(s - 0.5 * passed * (v + before)) > d) for s, d, limit, v,
             before in zip(step, slack, p.limit, qd, m.qd)]
    track, origin = ([old + when(each, 0.0, s) for old, each, s in zip(row, jumps, step)]
                     for row in (m.position, m.origin))
    # where two arms report in turn, the step back may be just too small for a jump
    away = [minimum(*each) for each in zip(*(magnitudes(difference(q, position))
                                             for position in (track, m.position)))]
    near = all_of([d >= a for d, a in zip(slack, away)])
    returns = all_of([d >= absolute(x - old) for d, x, old in zip(slack, q, origin)])
    accepted = minimum(m.accepted, time)  # restarts where time went back
    follows = any_of([restarts, near, returns, time - accepted > p.patience])
    j = largest([a / limit for a, limit in zip(away, p.limit)])
    jump = Event(JUMPED, j, element(away, j), passed, 0.0)
    after = Track(1.0, time, when(follows, time, accepted), q, qd, when(follows, q, track),
                  when(restarts | returns, q, origin))
    # accepted elsewhere than on its track
    off = any_of([absolute(x - old) > _SLIPPED * d for x, old, d in zip(q, track, slack)])
    return after, follows, off & no(restarts), jump


def reset(m, state, begins):
    """Return the memory of an arm that is taken over, where a flag holds."""
    return replace(m, uncontrolled=when(begins, 0.0, m.uncontrolled),
                   answered_law_time=when(begins, state.now, m.answered_law_time),
                   last_between=when(begins, state.now, m.last_between),
                   last_answer=when(begins, state.arrival, m.last_answer))
