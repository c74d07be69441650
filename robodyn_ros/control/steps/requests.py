"""Requests of the program and received states, and their effect on mode and memory."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    collision, disturbance, external_law, feedback, gravity_check, law_state, laws, learning,
    loads, modes, observer, predict, reflection, runaway, shutdown, transition, wrenches)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.dynamics.jit.flags import (
    all_of, any_above, any_of, equal, first_of, flag, no, when)
from robodyn_ros.dynamics.jit.flow import call, choose
from robodyn_ros.dynamics.jit.nested import flatten, unflatten
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import difference, element, largest, magnitudes, zeros
from robodyn_ros.safety import acceptance, MAX_PLAUSIBLE_VALUE, oscillation, plausibility, walls
from robodyn_ros.safety.acceptance import BETWEEN, FROM_STATE, REQUESTS, SILENT
from robodyn_ros.safety.events import Event

_WANDERED = 0.2  # s at the velocity limit: way from its place of a joint that is not held
_SANK = 0.02     # rad or m, from its place in a soft hold


class NewRequests:
    """New requests of the program, as flags."""

    def __init__(self, state, m, p, resumes):
        new = no(equal(p.motion.request, m.motion.request))
        to = {name: new & equal(p.motion.kind, kind) for name,
              kind in (('rest', modes.TO_REST), ('float', modes.TO_FLOAT),
                       ('follow', modes.TO_FOLLOW), ('take_over', modes.TO_TAKE_OVER),
                       ('deactivate', modes.TO_DEACTIVATE), ('resume', modes.TO_RESUME),
                       ('reach', modes.TO_REACH))}
        self.to = SimpleNamespace(**to)
        # an arm that is not under control is not resumed
        self.resumes = (to['resume'] | resumes) & no(equal(m.motion.mode, modes.INACTIVE))
        self.located = to['take_over'] | self.resumes
        disables = new & flag(p.motion.disables)
        self.disables_all = disables & (p.motion.disables > 1.5)
        self.disables_linear = disables
        self.fault = no(equal(p.motion.fault, m.motion.fault_request))
        self.reset = no(equal(p.motion.reset, m.motion.reset))
        self.switch = no(equal(p.switch, m.switch))
        self.start = no(equal(p.start, m.start))


def apply_requests(robot, functions, requests, state, m, p):
    """Return the memory of an arm that is taken over, resumed, or given a start torque."""
    located, begins = requests.located, requests.to.take_over
    q, qd = when(located, [state.q, state.qd], [m.q, m.qd])
    now = when(located, state.now, m.last_time)
    forgets = no(equal(p.learning.forget, m.learning.forget))
    loads_ = loads.requested(m.loads, p.loads, forgets)
    # an arm in gravity compensation stays in it
    restarts = begins | (requests.resumes & no(modes.no_reference(m.motion)))
    springs = law_state.requested(m.springs, p.springs, p.gains.stiffness,
                                  p.transition.duration)
    springs = law_state.refilled(law_state.completed(springs, restarts), p.tank, restarts)
    task = law_state.requested(m.task_springs, p.task_springs, p.task.stiffness,
                               p.transition.duration)
    task = law_state.refilled(law_state.completed(task, restarts), p.tank, restarts)
    ext_law = external_law.released(external_law.requested(
        m.external_law, p.external_law, begins), located)
    # of an arm that was carried twice, as the last torque of a controller that ends
    body = Body(robot, functions, loads.runtime(loads_),
                gravity_check.withdrawn(p, m.gravity_check).gains)
    learned = replace(m.learning, forget=p.learning.forget, estimate=when(
        forgets, zeros(m.learning.estimate), m.learning.estimate))
    learned, parameters = learning.bounded(
        body, learned, p.learning, loads_.learned, robot.slot)
    loads_ = replace(loads_, learned=parameters)
    gravity_torque = choose(begins, [lambda: zeros(q), lambda: body.safe_gravity(q)])
    start = when(begins, gravity_torque, p.start_torque)
    start = [when(absolute(t) < MAX_PLAUSIBLE_VALUE, minimum(maximum(t, -most), most), 0.0) for t,
             most in zip(start, p.limits.effort)]
    time_set_back = located & (m.feedback.since > now)  # the clock was set back
    intervals = feedback.growing(m.feedback, now, restarts | time_set_back)
    return replace(
        m, acceptance=acceptance.reset(m.acceptance, state, begins), last_time=now, q=q,
        qd=qd, coasting=when(located, 0.0, m.coasting),
        predicted=when(located, predict.Memory(q, qd), m.predicted), loads=loads_,
        external=wrenches.requested(m.external, p.external),
        target=wrenches.requested(m.target, p.target),
        learning=learned,
        external_law=ext_law, task_springs=task,
        reflection=when(begins, reflection.cleared(m.reflection, p.reflection), m.reflection),
        observer=observer.restarted(m.observer, located),
        collision=collision.reset(m.collision, begins),
        disturbance=disturbance.restarted(m.disturbance, begins),
        feedback=feedback.restarted(intervals, begins),
        gravity_check=gravity_check.started(m.gravity_check, begins, q, qd),
        runaway=runaway.restarted(m.runaway, begins | requests.reset),
        oscillation=oscillation.restarted(oscillation.reset(
            m.oscillation, requests.reset), begins),
        # no integral on joints without Ki
        integral=[when(flag(ki) & no(restarts), i, 0.0)
                  for ki, i in zip(p.gains.ki, m.integral)], springs=springs,
        sent=when(begins | requests.start, start, m.sent), start=p.start,
        walls=walls.reset(robot, m.walls, p.walls, q, located))


def cycle_flags(robot, state, m, p, requests, clock, stops, silence):
    """
    Return the kind of cycle and problems of the state, as a namespace of flags.

    clock: time at which the torque is sent. stops: flag that implausible or missing states are a
    fault. silence: event of it.
    """
    measured = equal(state.kind, FROM_STATE)
    usable, unusable = acceptance.usable(state, modes.UNUSABLE)
    computes = no(equal(state.kind, REQUESTS))
    now = when(computes, state.now, m.last_time)
    invalid = measured & no(usable)
    # gravity compensation at the end of a shutdown continues with any measurement
    stops = stops & no(equal(m.motion.mode, modes.CARRY))
    shakes, carries = m.oscillation, m.gravity_check
    # once: they stay true
    new = no(equal(m.motion.mode, modes.INACTIVE) | m.motion.fault.code)
    oscillates, wrong = shakes.failed & new, carries.carried & new
    driven = m.runaway.failed & new
    way = magnitudes(difference(m.q, m.motion.reference.q))
    away = [when(f < 1.0, w / v, 0.0) for f, w, v in zip(shakes.factor, way, robot.speeds)]
    # a spring may be pushed as far
    wanders = all_of([any_above(away, _WANDERED), equal(m.motion.mode, modes.HOLD), new,
                      laws.one_of(p.law, laws.INTEGRATE)])
    furthest = largest(away)
    failure, = first_of(
        # condition      event
        (requests.fault, modes.event(p.motion.fault_code)),
        (invalid,        unusable),
        (stops,          silence),
        (wrong,          modes.Event(
            when(equal(carries.carried, gravity_check.TWICE), modes.CARRIED_TWICE,
                 when(equal(carries.carried, gravity_check.PULLED), modes.PULLED,
                      modes.NOT_CARRIED)), carries.joint, carries.moved, 0.0, carries.elapsed)),
        (driven,         modes.Event(modes.DRIVEN, m.runaway.joint, element(
            way, m.runaway.joint), 0.0, 0.0)),
        (oscillates,     modes.Event(modes.OSCILLATES, shakes.joint, element(
            shakes.frequency, shakes.joint), 0.0, 0.0)),
        otherwise=(modes.Event(modes.WANDERS, furthest, element(way, furthest), 0.0, 0.0),))
    return SimpleNamespace(
        unattended=flag(state.unattended), now=now, clock=clock, computes=computes,
        dt=minimum(maximum(now - m.last_time, 0.0), robot.longest_pause), fresh=measured & usable,
        between=equal(state.kind, BETWEEN), silent=equal(state.kind, SILENT) | invalid,
        resumes=requests.resumes, suspect=oscillation.lowered(m.oscillation)
        | driven | (carries.carried & no(equal(carries.carried, gravity_check.NOT_AT_ALL))),
        too_fast=stops
        & equal(silence.code, plausibility.OVERSPEED),
        fails=any_of([requests.fault, invalid, stops, oscillates, wrong, driven, wanders]),
        failure=failure, silence=silence)


def update_shutdown(requests, flags, state, m, p):
    """Return the memory of a shutdown, and flags: the arm has come to rest; it swings."""
    off = any_of([requests.to.take_over, requests.to.deactivate,
                  equal(m.motion.mode, modes.INACTIVE)])
    before = shutdown.requested(m.motion.shutdown, p.motion.shutdown, off)

    def idle():
        return before, 0.0, 0.0

    def ending():
        mode = m.motion.mode
        at_rest = any_of([equal(mode, each) for each in (
            modes.HOLD, modes.FLOAT, modes.PASSIVE)])
        moves = flags.fresh & any_above(magnitudes(state.qd), shutdown.STILL)
        at_gravity = equal(mode, modes.CARRY)
        after = shutdown.update(before, flags.dt, at_rest, at_gravity, moves,
                                transition.under_way(m.transition),
                                any_of(m.verdict.rate_limited))
        settled = (no(at_gravity) & shutdown.has_settled(after, at_rest, flags.silent,
                                                         m.motion.stop.duration))
        swings = shutdown.swings(before, after, moves)
        return shutdown.next_stage(after, settled, swings), settled, swings

    return choose(flag(before.attempt), [idle, ending])


def sank(m, p):
    """
    Return whether the loop has become known of an arm that its soft hold did not keep in place.

    It is held where it is then: firm gains would throw it back.
    """
    return choose(equal(p.probe.use, m.probe.use), [
        lambda: equal(m.motion.mode, modes.HOLD) & any_above(
            magnitudes(difference(m.q, m.motion.reference.q)), _SANK),
        lambda: 0.0])


def update_mode(robot, requests, flags, hit, state, m, p):
    """
    Return the memory with the next mode, by requests, state and collisions.

    hit: flag that a collision begins that counts.
    """
    before = m.motion
    cleared = requests.reset | requests.to.take_over
    ending, settled, swings = update_shutdown(requests, flags, state, m, p)
    swings |= sank(m, p)
    motion_ = replace(before, shutdown=ending, fault=when(cleared, modes.NOTHING, before.fault),
                      message=when(requests.reset, modes.NOTHING, before.message))
    motion_ = modes.latched(motion_, flags.fails, flags.failure)
    joint = m.collision.joint
    collided = modes.Event(modes.COLLIDED, joint, m.collision.torque,
                           element(p.collision.threshold, joint), 0.0)
    motion_ = modes.latched(motion_, hit, collided)
    mode, action, message = modes.next_mode(motion_, p.motion, SimpleNamespace(
        **vars(flags), settled=settled, swings=swings, hit=hit, collision=collided,
        hit_floats=equal(p.collision.reaction, collision.FLOAT)))
    q, qd = when(flags.fresh, [state.q, state.qd], [m.q, m.qd])
    after = modes.acknowledged(modes.act(robot, motion_, p.motion, mode, action, message, q, qd),
                               p.motion)
    # a trajectory that was requested before a fault does not begin after it
    after = replace(after, dropped=when(
        flag(after.fault.code), p.motion.upcoming.number, after.dropped))
    floats = equal(before.mode, modes.FLOAT)
    blends = any_of(
        [requests.to.take_over, requests.to.float & no(floats), requests.to.follow & floats,
         requests.to.reach & modes.externally_driven(before), flags.silent & no(m.coasting),
         settled, swings, equal(action, modes.STOP_FROM_REFERENCE)
         & modes.externally_driven(before)])
    # a passive stop does not continue the torque of an unstable loop
    released = equal(after.mode, modes.PASSIVE) & no(equal(before.mode, modes.PASSIVE))
    cancelled = any_of([hit, released, requests.resumes & no(modes.no_reference(before))])
    blended = transition.begin(m.transition, p.transition, requests.switch | blends, m.followed
                               & no(blends))
    ext_law = external_law.disabled(m.external_law, flags.fails | requests.disables_all,
                                    when(flags.fails, flags.failure.code, p.motion.code))
    linear = equal(ext_law.chosen, external_law.LINEAR)
    ext_law = external_law.disabled(ext_law, requests.disables_linear & linear, p.motion.code)
    ext_law = external_law.disabled(ext_law, hit, modes.COLLIDED)
    ext_law = external_law.released(ext_law, hit | flags.silent)
    return replace(m, motion=after, switch=p.switch, external_law=ext_law,
                   transition=transition.cancel(blended, cancelled),
                   loads=loads.completed(m.loads, p.loads, requests.to.deactivate))


# --- received states -----------------------------------------------------------------------------

def receive(functions, state, m, p):
    """
    Return state and memory of the cycle that follows, its time, and the effect of missing states.

    The time is that at which a torque is sent: of the local clock, or of a simulation. The effect:
    flag that the arm was out of control, flag of a fault, event of the silence or of an
    implausible state.
    """
    inactive = equal(m.motion.mode, modes.INACTIVE)
    raw = state.kind > REQUESTS
    kept = flatten(m.acceptance)
    accepted = unflatten(m.acceptance, choose(raw, [lambda: kept, lambda: call(
        functions.accept, 0.0, flatten(state), kept, flatten(p.acceptance),
        [inactive, *m.sent], outputs=len(kept))]))
    kind, now, q, qd, effort = when(
        raw, [accepted.kind, accepted.now, accepted.q, accepted.qd, accepted.effort],
        [state.kind, state.now, state.q, state.qd, state.effort])
    state = replace(state, kind=kind, now=now, q=q, qd=qd, effort=effort)
    clock = when(raw & no(p.acceptance.simulated), state.arrival, now)
    requested = Event(modes.SILENT, 0.0, state.cause, 0.0, state.now)
    cause = when(flag(accepted.problem.code), accepted.problem, accepted.remark)
    silence = when(raw, replace(cause, bound=when(
        flag(accepted.problem.code), cause.bound, state.cause), time=accepted.age), requested)
    implausible = all_of([raw, flag(accepted.plausibility.fault.code), no(inactive),
                          state.permitted])
    return (state, replace(m, acceptance=accepted), clock, raw & accepted.resumes,
            (raw & accepted.is_fault) | implausible,
            when(implausible, accepted.plausibility.fault, silence))
