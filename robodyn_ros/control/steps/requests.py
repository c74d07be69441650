"""What the program asks for, and what that and the state of the arm make the cycle do."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.state import BETWEEN, FROM_STATE, REQUESTS, SILENT
from robodyn_ros.control.steps import (
    acceptance, collision, external_law, feedback_share, law_state, learning, loads, motion,
    observer, plausibility, predict, reflection, shutdown, transition, walls, wrenches)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.steps.vectors import element, magnitudes, zeros
from robodyn_ros.dynamics.jit.flags import (
    above, any_above, any_of, both, either, equal, flag, no, when)
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE


class Requests:
    """What the program asks for that the memory has not seen yet, as flags."""

    def __init__(self, state, m, p, resumes):
        new = no(equal(p.motion.request, m.motion.request))
        to = {name: both(new, equal(p.motion.kind, kind)) for name, kind in (
            ('rest', motion.TO_REST), ('float', motion.TO_FLOAT), ('follow', motion.TO_FOLLOW),
            ('take_over', motion.TO_TAKE_OVER), ('give_up', motion.TO_GIVE_UP),
            ('resume', motion.TO_RESUME), ('reach', motion.TO_REACH))}
        self.to = SimpleNamespace(**to)
        # an arm that is not under control is not resumed
        self.resumes = both(either(to['resume'], resumes),
                            no(equal(m.motion.mode, motion.INACTIVE)))
        self.located = either(to['take_over'], self.resumes)
        disables = both(new, flag(p.motion.disables))
        self.disables_all = both(disables, above(p.motion.disables, 1.5))
        self.disables_linear = disables
        self.fault = no(equal(p.motion.fault, m.motion.fault_request))
        self.reset = no(equal(p.motion.reset, m.motion.reset))
        self.switch = no(equal(p.switch, m.switch))
        self.start = no(equal(p.start, m.start))


def take_over(robot, functions, asked, state, m, p):
    """Return the memory of an arm that is taken over, or found again, or given a torque."""
    located, begins = asked.located, asked.to.take_over
    q, qd = when(located, [state.q, state.qd], [m.q, m.qd])
    now = when(located, state.now, m.before)
    forgets = no(equal(p.learning.forget, m.learning.forget))
    loads_ = loads.requested(m.loads, p.loads, forgets)
    # an arm that floats goes on floating
    anew = either(begins, both(asked.resumes, no(motion.free(m.motion))))
    springs = law_state.requested(m.springs, p.springs, p.gains.stiffness,
                                  p.transition.duration)
    springs = law_state.refilled(law_state.arrived(springs, anew), p.tank, anew)
    task = law_state.requested(m.task_springs, p.task_springs, p.task.stiffness,
                               p.transition.duration)
    task = law_state.refilled(law_state.arrived(task, anew), p.tank, anew)
    guest = external_law.released(external_law.requested(
        m.external_law, p.external_law, begins), located)
    body = Body(robot, functions, loads.runtime(loads_), p.gains)
    learned = replace(m.learning, forget=p.learning.forget, estimate=when(
        forgets, zeros(m.learning.estimate), m.learning.estimate))
    learned, parameters = learning.bounded(
        functions.learning, body, learned, p.learning, loads_.learned, robot.slot)
    loads_ = replace(loads_, learned=parameters)
    weight = choose(begins, [lambda: zeros(q), lambda: body.safe_gravity(q)])
    begun = when(begins, weight, p.start_torque)
    begun = [when(above(MAX_PLAUSIBLE_VALUE, absolute(t)), minimum(maximum(t, -most), most), 0.0)
             for t, most in zip(begun, p.limits.effort)]
    back = both(located, above(m.share.since, now))  # the clock was set back
    share = feedback_share.growing(m.share, now, either(anew, back))
    return replace(
        m, acceptance=acceptance.begun(m.acceptance, state, begins), before=now, q=q,
        qd=qd, coasting=when(located, 0.0, m.coasting),
        guess=when(located, predict.Memory(q, qd), m.guess), loads=loads_,
        external=wrenches.requested(m.external, p.external),
        target=wrenches.requested(m.target, p.target),
        learning=learned,
        external_law=guest, task_springs=task,
        reflection=when(begins, reflection.cleared(m.reflection, p.reflection), m.reflection),
        observer=observer.restarted(m.observer, located),
        collision=collision.reset(m.collision, begins),
        share=feedback_share.restarted(share, begins),
        # of joints without Ki nothing stays
        integral=[when(both(flag(ki), no(anew)), i, 0.0)
                  for ki, i in zip(p.gains.ki, m.integral)], springs=springs,
        sent=when(either(begins, asked.start), begun, m.sent), start=p.start,
        walls=walls.found(robot, m.walls, p.walls, q, located))


def judge(robot, state, m, p, asked, stops, silence):
    """
    Return what kind of cycle it is, and what is wrong with the state, as flags.

    stops: flag of a fault of what is measured, or of its absence. silence: event of that.
    """
    measured = equal(state.kind, FROM_STATE)
    usable, unusable = acceptance.usable(state, motion.UNUSABLE)
    due = no(equal(state.kind, REQUESTS))
    now = when(due, state.now, m.before)
    spoiled = both(measured, no(usable))
    # what is left is carried, whatever is measured of it
    stops = both(stops, no(equal(m.motion.mode, motion.CARRY)))
    return SimpleNamespace(
        unattended=flag(state.unattended),
        now=now, dt=minimum(maximum(now - m.before, 0.0), robot.longest_pause), due=due,
        fresh=both(measured, usable), between=equal(state.kind, BETWEEN),
        silent=either(equal(state.kind, SILENT), spoiled), resumes=asked.resumes,
        too_fast=both(stops, equal(silence.code, plausibility.OVERSPEED)),
        fails=any_of([asked.fault, spoiled, stops]),
        failure=when(asked.fault, motion.event(p.motion.fault_code), when(
            spoiled, unusable, silence)), silence=silence)


def end(asked, seen, state, m, p):
    """Return the memory of a shutdown, and add to `seen` what it makes the arm do, as flags."""
    off = any_of([asked.to.take_over, asked.to.give_up, equal(m.motion.mode, motion.INACTIVE)])
    before = shutdown.requested(m.motion.shutdown, p.motion.shutdown, off)

    def idle():
        return before, 0.0, 0.0

    def ending():
        mode = m.motion.mode
        rests = either(equal(mode, motion.HOLD), equal(mode, motion.FLOAT))
        moves = both(seen.fresh, any_above(magnitudes(state.qd), shutdown.STILL))
        carries = equal(mode, motion.CARRY)
        after = shutdown.advance(before, seen.dt, rests, carries, moves,
                                 transition.under_way(m.transition),
                                 any_of(m.verdict.rate_limited))
        settled = both(no(carries), shutdown.has_settled(
            after, rests, seen.silent, m.motion.stop.duration))
        swings = shutdown.swings(before, after, moves)
        return shutdown.entered(after, settled, swings), settled, swings

    after, seen.settled, seen.swings = choose(flag(before.attempt), [idle, ending])
    return after


def decide(robot, asked, seen, state, m, p):
    """Return the memory in the mode that requests, state and collisions ask for."""
    before = m.motion
    cleared = either(asked.reset, asked.to.take_over)
    ending = end(asked, seen, state, m, p)
    what = replace(before, shutdown=ending, fault=when(cleared, motion.NOTHING, before.fault),
                   message=when(asked.reset, motion.NOTHING, before.message))
    what = motion.latched(what, seen.fails, seen.failure)
    touched = m.collision.joint
    seen.collision = motion.Event(motion.COLLIDED, touched, m.collision.torque,
                                  element(p.collision.threshold, touched), 0.0)
    what = motion.latched(what, seen.hit, seen.collision)
    seen.hit_floats = equal(p.collision.reaction, collision.FLOAT)
    mode, action, message = motion.decide(what, p.motion, seen)
    q, qd = when(seen.fresh, [state.q, state.qd], [m.q, m.qd])
    after = motion.seen(motion.act(robot, what, p.motion, mode, action, message, q, qd),
                        p.motion)
    # what was asked for before a fault does not begin after it
    after = replace(after, dropped=when(
        flag(after.fault.code), p.motion.upcoming.number, after.dropped))
    floats = equal(before.mode, motion.FLOAT)
    others = any_of([
        asked.to.take_over, both(asked.to.float, no(floats)),
        both(asked.to.follow, floats),
        both(asked.to.reach, motion.externally_driven(before)), both(seen.silent, no(m.coasting)),
        seen.settled, seen.swings,
        both(equal(action, motion.STOP_FROM_REFERENCE), motion.externally_driven(before))])
    cancelled = either(seen.hit, both(asked.resumes, no(motion.free(before))))
    blended = transition.begin(m.transition, p.transition, either(asked.switch, others),
                               both(m.followed, no(others)))
    guest = external_law.disabled(m.external_law, either(seen.fails, asked.disables_all),
                                  when(seen.fails, seen.failure.code, p.motion.code))
    linear = equal(guest.chosen, external_law.LINEAR)
    guest = external_law.disabled(guest, both(asked.disables_linear, linear), p.motion.code)
    guest = external_law.disabled(guest, seen.hit, motion.COLLIDED)
    guest = external_law.released(guest, either(seen.hit, seen.silent))
    return replace(m, motion=after, switch=p.switch, external_law=guest,
                   transition=transition.cancel(blended, cancelled),
                   loads=loads.finished(m.loads, p.loads, asked.to.give_up))
