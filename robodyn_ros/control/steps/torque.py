"""Who gives the torque: a built-in law, or one from outside; and what the laws keep."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    collision, external_law, law_state, laws, learning, light_joints, motion, observer, reflection,
    schedule, shutdown, transition, wrenches)
from robodyn_ros.control.steps.vectors import added, difference, product, scaled, zeros
from robodyn_ros.control.terms import compose, Term
from robodyn_ros.dynamics.jit.flags import (
    all_finite, all_of, any_above, at_least, both, either, equal, flag, no, when)
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute


def ask_outside(robot, functions, body, now, ready, follows, q, qd, pushed, m, p):
    """Return which law from outside has the arm, the rows of its torque, and the memory."""
    guest, what = m.external_law, m.motion
    at_rest = equal(what.mode, motion.HOLD)
    who = external_law.candidate(guest, p.external_law, now, ready, at_rest)
    reference, nothing = what.reference, zeros(q)
    x = SimpleNamespace(
        q=q, qd=qd, q_ref=reference.q, qd_ref=reference.qd, qdd_ref=reference.qdd,
        effort=reference.effort, external=pushed, integral=nothing, disturbance=nothing,
        contact=nothing)
    none = [nothing for _ in Term], 0.0

    def own():
        rows_, report = laws.answer(functions.laws, laws.OWN, body, x, p.gains, p.task, 1.0,
                                    p.limits.effort)
        return rows_, report[0]

    def linear():
        rows_ = [nothing for _ in Term]
        rows_[Term.EFFORT] = p.external_law.feedforward
        rows_[Term.FEEDBACK] = external_law.linear_torque(p.external_law, q, qd)
        return rows_, 0.0

    rows_, problem = choose(who, [lambda: none, own, linear])
    failed = flag(problem)
    what = motion.latched(what, failed, motion.event(problem))
    # that is one more motion broken off, besides the one that the law made
    broken = when(both(failed, motion.moves(what, p.motion)), 1.0, 0.0)
    what = replace(what, interruptions=what.interruptions + broken)
    guest = external_law.disabled(guest, failed, problem)
    who = when(failed, external_law.NONE, who)
    changes = both(follows, no(equal(who, guest.active)))
    takes = both(changes, equal(who, external_law.LINEAR))
    leaves = all_of([changes, no(takes), either(
        equal(guest.active, external_law.LINEAR), flag(guest.disabled))])
    silence = when(equal(guest.chosen, external_law.LINEAR), motion.NO_LINEAR_FEEDBACK, 0.0)
    reason = motion.event(when(guest.disabled, guest.reason, silence))
    # a fault has more to show than its code
    reason = when(equal(reason.code, what.fault.code), what.fault, reason)
    what = motion.act(
        robot, what, p.motion,
        when(takes, motion.LINEAR, when(leaves, motion.STOP, what.mode)),
        when(takes, motion.RELEASE, when(leaves, motion.STOP_FROM_STATE, motion.KEEP)),
        when(takes, motion.NOTHING, when(leaves, reason, what.message)), q, qd)
    driven = both(follows, equal(who, external_law.LINEAR))
    what = replace(what, reference=when(
        driven, motion.Reference(q, qd, nothing, nothing), what.reference))
    guest = replace(guest, active=when(follows, who, external_law.NONE),
                    disabled=when(either(changes, no(follows)), 0.0, guest.disabled))
    return guest, rows_, replace(
        m, motion=what, transition=transition.begin(m.transition, p.transition, changes))


def ask(functions, body, seen, follows, now, dt, q, qd, pushed, part_, m, p):
    """
    Return the memory, the terms of the built-in law, and the report of a Cartesian one.

    Last, what state and reference have changed in its torque since the last cycle, where that is
    asked for by a change of the law or its gains, see `transition`.
    """
    silent, reference = seen.silent, m.motion.reference
    floats = both(no(follows), no(silent))
    reflected = when(floats, reflection.advance(m.reflection, p.reflection, now, dt),
                     when(silent, m.reflection, reflection.cleared(m.reflection, p.reflection)))
    cartesian = both(follows, laws.one_of(p.law, laws.CARTESIAN))
    presses = both(cartesian, no(m.external_law.active))
    target = when(presses, wrenches.advance(m.target, p.target, now, dt),
                  wrenches.dropped(m.target))
    pressed = choose(presses, [
        lambda: zeros(q), lambda: wrenches.torque(body, q, target.wrench)])
    yields = both(flag(p.collision.reaction), collision.present(m.collision, p.collision))
    nothing = zeros(q)
    contact = choose(both(follows, laws.one_of(p.law, laws.SHAPE)), [
        lambda: nothing, lambda: observer.stable_external(
            body, m.observer.q, m.observer.external, m.springs.value)])
    x = SimpleNamespace(
        q=q, qd=qd, q_ref=reference.q, qd_ref=reference.qd, qdd_ref=reference.qdd,
        effort=when(floats, reflected.torque, reference.effort),
        external=when(floats, nothing, added(pushed, pressed)),
        integral=when(silent, nothing, m.integral),
        disturbance=when(either(silent, yields), nothing, m.observer.against), contact=contact)
    row = when(silent, laws.ROWS['computed_torque'], when(floats, 0.0, p.law))
    used = schedule.scaled(body.robot.schedule, m.schedule,
                           replace(p.gains, stiffness=m.springs.value))
    # what was learned may be an inertia that is not there
    used, task, light = light_joints.borne(replace(body, runtime=m.loads.known), m.light, row, q,
                                           used, p.task, m.share.gap
                                           + 2.0 * m.acceptance.plausibility.delay)
    task = replace(task, stiffness=m.task_springs.value)

    def answer(x):
        return laws.answer(functions.laws, row, body, x, laws.coasting(used, silent), task, part_,
                           p.limits.effort)

    def since():
        past, _ = answer(laws.with_motion(x, m.followed_motion))
        change = difference(terms[Term.TOTAL], past[Term.TOTAL])
        return choose(all_finite(change), [lambda: nothing, lambda: change])

    terms, report = answer(x)
    drift = choose(all_of([m.transition.begins, m.transition.changes, follows]), [
        lambda: nothing, since])
    after = replace(
        m, reflection=reflected, target=target, light=light, followed_motion=laws.motion_of(x),
        followed=both(follows, no(m.external_law.active)))
    return after, terms, when(cartesian, report, m.report), drift


def carry(body, q, terms, m, p):
    """Return the terms, which are those of the weight alone at the end of a shutdown."""
    part_ = shutdown.part(m.shutdown, p.motion.shutdown)
    return choose(equal(m.mode, motion.CARRY), [lambda: terms, lambda: compose(
        body.nv, {Term.GRAVITY: scaled(part_, body.safe_gravity(q))}, p.limits.effort)])


def remember(robot, functions, body, m, p, dt, q, qd, terms, report, flags):
    """Return the memory with what the laws keep; as it was after a cycle of silence."""
    reference = m.motion.reference
    error = difference(reference.q, q)
    integrates, springs_on, adapts, cartesian = (
        both(flags.follows, laws.one_of(p.law, names))
        for names in (laws.INTEGRATE, laws.SPRING, laws.ADAPT, laws.CARTESIAN))

    def integrated():
        cut = choose(any_above([absolute(x) for x in terms[Term.LIMIT]], 0.0), [
            lambda: zeros(q), lambda: body.response(q, terms[Term.LIMIT])])
        return law_state.integrate(m.integral, dt, error, cut, p.gains)

    integral = choose(both(integrates, any_above(p.gains.ki, 0.0)), [
        lambda: zeros(q), lambda: choose(flags.undisturbed, [
            lambda: m.integral, integrated])])

    def moved():
        feedback = terms[Term.FEEDBACK]
        pulled = choose(laws.one_of(p.law, laws.SHAPE), [lambda: feedback, lambda: product(
            p.gains.apparent_inertia, body.response(q, feedback))])
        damping = difference(pulled, product(m.springs.value, error))
        power = sum(d * (r - v) for d, r, v in zip(damping, reference.qd, qd))
        return law_state.soften_or_stiffen(m.springs, dt, error, power, p.tank)

    springs = choose(springs_on, [
        lambda: law_state.arrived(m.springs, 1.0),
        lambda: choose(flags.undisturbed, [lambda: m.springs, moved])])
    task = choose(cartesian, [
        lambda: law_state.arrived(m.task_springs, 1.0),
        lambda: choose(flags.undisturbed, [
            lambda: m.task_springs, lambda: law_state.soften_or_stiffen(
                m.task_springs, dt, report[:6], report[19], p.tank)])])
    learns = all_of([
        adapts, flags.undisturbed, flags.healthy,
        *[equal(x, 0.0) for term in (Term.LIMIT, Term.EXTERNAL, Term.EFFORT)
          for x in terms[term]],
        # the error has to be that of the whole weight
        *[equal(x, 1.0) for x in p.gains.gravity_scale],
        # and what is learned of a joint that hardly follows could be anything
        *[at_least(x, 0.9) for x in m.light.borne]])
    kept = replace(m.learning, active=learns), m.loads.learned
    learned, parameters = kept if robot.slot is None else choose(learns, [
        lambda: kept, lambda: learning.advance(
            functions.learning, body, kept[0], p.learning, dt,
            [q, qd, reference.q, reference.qd, reference.qdd,
             p.gains.sliding], kept[1], robot.slot)])
    factor = schedule.advance(robot.schedule, m.schedule, p.gains, dt, q)
    after = replace(m, integral=integral, springs=springs, task_springs=task, learning=learned,
                    loads=replace(m.loads, learned=parameters), schedule=factor)
    idle = replace(m, learning=replace(m.learning, active=0.0))
    return when(flags.silent, idle, after)
