"""
The control cycle: everything that happens between a joint state and a torque.

Pure: what is measured, what was kept and what is set come in; torque and memory go out. On floats
it computes, on symbols it is traced. There are three kinds of cycle, and one that only looks at
requests: a state has come; a torque is due between two states; the states are silent.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    external_law, feedback_share, laws, limits, loads, mean_torque, motion, observer, shutdown,
    transition, walls, wrenches)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.steps.contact import observe
from robodyn_ros.control.steps.reception import receive
from robodyn_ros.control.steps.reference import locate, move
from robodyn_ros.control.steps.requests import decide, judge, Requests, take_over
from robodyn_ros.control.steps.torque import ask, ask_outside, carry, remember
from robodyn_ros.control.steps.vectors import added, difference, product, zeros
from robodyn_ros.control.terms import compose, Term
from robodyn_ros.dynamics.jit.flags import all_finite, all_of, both, either, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose


def cycle(robot, functions, table, state, m, p):
    """
    Return the torque for a state, or for its absence, and the memory of the next cycle.

    Parameters
    ----------
    robot : Robot
        Structure and limits of this robot.
    functions : table of functions
        The laws, see `laws`.
    table : table of rows
        Segments of the trajectories, see `path`.
    state, m, p : State, Memory, Program
        What is measured, what was kept, what is set.

    """
    # what has come, what was asked since the last cycle, and what is known of the arm
    state, m, resumes, stops, silence = receive(functions, state, m, p)
    asked = Requests(state, m, p, resumes)
    m = take_over(robot, functions, asked, state, m, p)
    seen = judge(robot, state, m, p, asked, stops, silence)
    m = observe(robot, functions, seen, state, m, p)
    # what it does
    m = decide(robot, asked, seen, state, m, p)
    return choose(seen.due, [
        lambda: (m.sent, m), lambda: answer(robot, functions, table, seen, state, m, p)])


def answer(robot, functions, table, seen, state, m, p):
    """Return the torque of a cycle, and the memory of the next."""
    now, dt, silent = seen.now, seen.dt, seen.silent
    before = Body(robot, functions, loads.runtime(m.loads), p.gains)
    external = wrenches.advance(m.external, p.external, now, dt)
    guess, pushed = locate(robot, before, external, seen, state, m)
    m = replace(m, loads=loads.advance(m.loads, p.loads, dt), external=external,
                given=when(seen.between, mean_torque.added(m.given, dt, m.sent), m.given))
    body = replace(before, runtime=loads.runtime(m.loads))

    # the reference
    what, guess = move(robot, body, table, seen, guess, m, p)
    q, qd = guess.q, guess.qd
    walls_ = walls.advance(robot, m.walls, p.walls, q, dt, seen.fresh)
    what = replace(what, reference=walls.confined(robot, walls_, what.reference))
    follows = both(no(motion.free(what)), no(silent))

    # the law
    share = when(both(silent, no(m.coasting)), feedback_share.restarted(m.share, 1.0),
                 feedback_share.noted(m.share, dt))
    rates = when(silent, laws.COASTING_RATES, (p.law_damping, p.law_stiffness))
    grown = feedback_share.authority(share, p.share, now)
    part_ = feedback_share.stable_share(share, *rates, when(
        silent, 0.0, m.acceptance.plausibility.delay)) * grown
    calm = feedback_share.stable_share(share, *rates) * grown
    pushed = when(silent, pushed, wrenches.torque(body, q, external.wrench))
    m = replace(m, share=share, motion=what, guess=guess, walls=walls_)
    ready = all_of([follows, equal(grown, 1.0), no(what.fault.code), no(seen.resumes),
                    no(walls.any_recovering(robot, walls_, p.walls))])
    guest, rows_, m = ask_outside(robot, functions, body, now, ready, follows, q, qd, pushed, m,
                                  p)
    m, terms, report, drift = ask(functions, body, seen, follows, now, dt, q, qd, pushed, part_,
                                  m, p)
    terms = choose(flag(guest.active), [
        lambda: terms, lambda: compose(body.nv, dict(zip(Term, rows_)), p.limits.effort)])
    m = replace(m, external_law=guest)
    what = m.motion
    terms = carry(body, q, terms, what, p)

    # what it takes
    desired, blended = transition.blend(terms[Term.TOTAL], added(m.sent, drift), dt,
                                        p.limits.effort, m.transition, p.transition)
    led, last = motion.externally_driven(what), shutdown.over(what.shutdown, p.motion.shutdown)
    desired = when(last, terms[Term.TOTAL], desired)
    decay = limits.brake_damping(m.share.gap, m.acceptance.plausibility.delay)
    desired = choose(either(silent, last), [
        lambda: walls.inwards(body, limits.brake(body, desired, q, qd, led, m.walls, decay), q, qd,
                              m.walls, p.walls, decay), lambda: desired])
    damping = when(silent, zeros(q), product(p.gains.damping, qd))
    fallback = choose(all_finite(desired), [
        lambda: difference(body.safe_gravity(q), damping), lambda: zeros(q)])
    torque, verdict = limits.supervise(desired, fallback, m.sent, now - m.before, p.limits, last)
    terms[Term.LIMIT] = added(terms[Term.LIMIT], difference(torque, terms[Term.TOTAL]))
    terms[Term.TOTAL] = torque

    # what the next cycle must know
    failed, failure = flag(verdict.not_finite), motion.torque_failure(verdict)
    what = motion.latched(what, failed, failure)
    guest = external_law.disabled(guest, failed, failure.code)
    stops = both(failed, motion.moves(what, p.motion))
    blended = transition.begin(blended, p.transition, both(stops, led))
    what = motion.act(robot, what, p.motion, when(stops, motion.STOP, what.mode),
                      when(stops, motion.STOP_FROM_REFERENCE, motion.KEEP),
                      when(stops, what.fault, what.message), q, qd)
    following = all_of([no(motion.free(what)), no(silent), no(guest.active)])
    m = remember(robot, functions, body, m, p, dt, q, qd, terms, report, SimpleNamespace(
        silent=silent, follows=following, healthy=no(what.fault.code), undisturbed=both(
            equal(calm, 1.0), no(transition.under_way(blended)))))
    seen_q, seen_qd = when(seen.fresh, [state.q, state.qd], [m.q, m.qd])
    return torque, replace(
        m, before=now, q=seen_q, qd=seen_qd, coasting=when(silent, 1.0, 0.0),
        observer=observer.restarted(m.observer, silent), motion=what, external_law=guest,
        transition=blended, terms=[x for term in terms for x in term], report=report,
        sent=torque, verdict=verdict)
