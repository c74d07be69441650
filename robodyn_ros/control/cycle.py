"""
The control cycle: everything that happens between a joint state and a torque.

A pure function: measured state, memory and program in; torque and memory out. It computes on
floats, and is traced on symbols. There are three kinds of cycle (a state was received; a torque is
due between two states; the states are silent), and a call that handles requests only.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    external_law, feedback_share, laws, limits, loads, mean_torque, modes, observer, shutdown,
    stable_gains, transition, walls, wrenches)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.steps.contact import observe
from robodyn_ros.control.steps.reception import receive
from robodyn_ros.control.steps.reference import locate, move
from robodyn_ros.control.steps.requests import decide, judge, Requests, take_over
from robodyn_ros.control.steps.torque import (
    built_in_law, external_law_terms, remember, shutdown_terms)
from robodyn_ros.control.steps.vectors import added, difference, product, zeros
from robodyn_ros.control.terms import compose, Term
from robodyn_ros.dynamics.jit.flags import all_finite, all_of, both, either, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import minimum


def cycle(robot, functions, table, state, m, p):
    """
    Return the torque for a state, or for its absence, and the memory of the next cycle.

    Parameters
    ----------
    robot : Robot
        Structure and limits of this robot.
    functions : table of functions
        Compiled laws and parts, see `laws` and `body`.
    table : table of rows
        Segments of the trajectories, see `path`.
    state, m, p : State, Memory, Program
        Measured state, memory of the last cycle, and present program.

    """
    # received state, new requests, measured and observed quantities
    state, m, clock, resumes, stops, silence = receive(functions, state, m, p)
    requests = Requests(state, m, p, resumes)
    m = take_over(robot, functions, requests, state, m, p)
    flags = judge(robot, state, m, p, requests, clock, stops, silence)
    m = observe(robot, functions, flags, state, m, p)
    # mode
    m = decide(robot, requests, flags, state, m, p)
    return choose(flags.due, [
        lambda: (m.sent, m), lambda: respond(robot, functions, table, flags, state, m, p)])


def respond(robot, functions, table, flags, state, m, p):
    """Return the torque of a cycle, and the memory of the next."""
    now, dt, silent = flags.now, flags.dt, flags.silent
    before = Body(robot, functions, loads.runtime(m.loads), p.gains)
    external = wrenches.update(m.external, p.external, now, dt)
    predicted, wrench_torque = locate(robot, before, external, flags, state, m)
    m = replace(m, loads=loads.update(m.loads, p.loads, dt), external=external,
                mean_torque=when(flags.between, mean_torque.added(m.mean_torque, dt, m.sent),
                                 m.mean_torque))
    body = replace(before, runtime=loads.runtime(m.loads))

    # reference
    motion_, predicted = move(robot, body, table, flags, predicted, m, p)
    q, qd = predicted.q, predicted.qd
    walls_ = walls.update(robot, m.walls, p.walls, q, dt, flags.fresh)
    motion_ = replace(motion_, reference=walls.confine(robot, walls_, motion_.reference))
    follows = both(no(modes.no_reference(motion_)), no(silent))

    # law
    share = when(both(silent, no(m.coasting)), feedback_share.restarted(m.share, 1.0),
                 feedback_share.update(m.share, dt, when(
                     p.acceptance.simulated, 0.0, m.acceptance.offset)))
    rates = when(silent, laws.COASTING_RATES, (p.law_damping, p.law_stiffness))
    p = stable_gains.reduced(p, feedback_share.interval(share), m.schedule)
    growth = feedback_share.growth(share, p.share, now)
    feedback_scale = feedback_share.stable_share(share, *rates, when(
        silent, 0.0, m.acceptance.plausibility.delay)) * growth
    undelayed_scale = feedback_share.stable_share(share, *rates) * growth
    wrench_torque = when(silent, wrench_torque, wrenches.torque(body, q, external.wrench))
    m = replace(m, share=share, motion=motion_, predicted=predicted, walls=walls_)
    ready = all_of([follows, equal(growth, 1.0), no(motion_.fault.code), no(flags.resumes),
                    no(walls.any_recovering(robot, walls_, p.walls))])
    ext_law, ext_terms, m = external_law_terms(robot, functions, body, now, ready, follows, q, qd,
                                               wrench_torque, m, p)
    m, terms, report, drift = built_in_law(functions, body, flags, follows, now, dt, q, qd,
                                           wrench_torque, feedback_scale, m, p)
    terms = choose(flag(ext_law.active), [
        lambda: terms, lambda: compose(body.nv, dict(zip(Term, ext_terms)), p.limits.effort)])
    m = replace(m, external_law=ext_law)
    motion_ = m.motion
    terms = shutdown_terms(body, q, terms, motion_, p)

    # limits
    desired, blended = transition.blend(terms[Term.TOTAL], added(m.sent, drift), dt,
                                        p.limits.effort, m.transition, p.transition)
    driven = modes.externally_driven(motion_)
    last = shutdown.over(motion_.shutdown, p.motion.shutdown)
    desired = when(last, terms[Term.TOTAL], desired)
    decay = limits.brake_damping(m.share.gap, m.acceptance.plausibility.delay)
    desired = choose(either(silent, last), [
        lambda: walls.limit_outward(
            body, limits.brake(body, desired, q, qd, driven, m.walls, decay), q, qd, m.walls,
            p.walls, decay),
        lambda: desired])
    damping = when(silent, zeros(q), product(p.gains.damping, qd))
    fallback = choose(all_finite(desired), [
        lambda: difference(body.safe_gravity(q), damping), lambda: zeros(q)])
    # the time of the law jumps where a delay of the states ends
    passed = minimum(now - m.before, flags.clock - m.sent_time)
    torque, verdict = limits.supervise(desired, fallback, m.sent, passed, p.limits, last)
    terms[Term.LIMIT] = added(terms[Term.LIMIT], difference(torque, terms[Term.TOTAL]))
    terms[Term.TOTAL] = torque

    # memory
    failed, failure = flag(verdict.not_finite), modes.torque_failure(verdict)
    motion_ = modes.latched(motion_, failed, failure)
    ext_law = external_law.disabled(ext_law, failed, failure.code)
    stops = both(failed, modes.moves(motion_, p.motion))
    blended = transition.begin(blended, p.transition, both(stops, driven))
    motion_ = modes.act(robot, motion_, p.motion, when(stops, modes.STOP, motion_.mode),
                        when(stops, modes.STOP_FROM_REFERENCE, modes.KEEP),
                        when(stops, motion_.fault, motion_.message), q, qd)
    following = all_of([no(modes.no_reference(motion_)), no(silent), no(ext_law.active)])
    m = remember(robot, functions, body, m, p, dt, q, qd, terms, report, SimpleNamespace(
        silent=silent, follows=following, healthy=no(motion_.fault.code), undisturbed=both(
            equal(undelayed_scale, 1.0), no(transition.under_way(blended)))))
    measured_q, measured_qd = when(flags.fresh, [state.q, state.qd], [m.q, m.qd])
    return torque, replace(
        m, before=now, q=measured_q, qd=measured_qd, coasting=when(silent, 1.0, 0.0),
        observer=observer.restarted(m.observer, silent), motion=motion_, external_law=ext_law,
        transition=blended, terms=[x for term in terms for x in term], report=report,
        sent=torque, sent_time=flags.clock, verdict=verdict)
