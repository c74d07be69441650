"""Torque of the built-in law or an external law, and the memory of the laws."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    collision, disturbance, external_law, feedback_share, law_state, laws, learning, light_joints,
    loads, modes, observer, reflection, shutdown, transition, wrenches)
from robodyn_ros.control.terms import compose, Term
from robodyn_ros.dynamics.jit.flags import (
    all_finite, all_of, any_above, any_of, equal, flag, no, when)
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, minimum
from robodyn_ros.dynamics.jit.vectors import added, difference, product, scaled, zeros
from robodyn_ros.safety import oscillation, passive_stop, walls


def external_law_terms(robot, functions, body, now, ready, follows, q, qd, wrench_torque, m, p):
    """Return the state of the external laws, the rows of their torque, and the memory."""
    ext_law, motion_ = m.external_law, m.motion
    at_rest = equal(motion_.mode, modes.HOLD)
    active_law = external_law.candidate(ext_law, p.external_law, now, ready, at_rest)
    reference, nothing = motion_.reference, zeros(q)
    x = SimpleNamespace(
        q=q, qd=qd, q_ref=reference.q, qd_ref=reference.qd, qdd_ref=reference.qdd,
        effort=reference.effort, external=wrench_torque, integral=nothing, disturbance=nothing,
        contact=nothing)
    none = [nothing for _ in Term], 0.0

    def own():
        rows_, report = laws.evaluate(functions.laws, laws.OWN, body, x, p.gains, p.task, 1.0,
                                      p.limits.effort)
        return rows_, report[0]

    def linear():
        rows_ = [nothing for _ in Term]
        rows_[Term.EFFORT] = p.external_law.feedforward
        rows_[Term.FEEDBACK] = external_law.linear_torque(p.external_law, q, qd)
        return rows_, 0.0

    rows_, problem = choose(active_law, [lambda: none, own, linear])
    failed = flag(problem)
    motion_ = modes.latched(motion_, failed, modes.event(problem))
    # an interrupted motion in addition to that of the law itself
    interrupted = when(failed & modes.moves(motion_, p.motion), 1.0, 0.0)
    motion_ = replace(motion_, interruptions=motion_.interruptions + interrupted)
    ext_law = external_law.disabled(ext_law, failed, problem)
    active_law = when(failed, external_law.NONE, active_law)
    changes = follows & no(equal(active_law, ext_law.active))
    takes_over = changes & equal(active_law, external_law.LINEAR)
    ends = all_of([changes, no(takes_over), equal(ext_law.active, external_law.LINEAR)
                   | flag(ext_law.disabled)])
    silence = when(equal(ext_law.chosen, external_law.LINEAR), modes.NO_LINEAR_FEEDBACK, 0.0)
    reason = modes.event(when(ext_law.disabled, ext_law.reason, silence))
    # a fault has more evidence than its code
    reason = when(equal(reason.code, motion_.fault.code), motion_.fault, reason)
    motion_ = modes.act(
        robot, motion_, p.motion,
        when(takes_over, modes.LINEAR, when(ends, modes.STOP, motion_.mode)),
        when(takes_over, modes.RELEASE, when(ends, modes.STOP_FROM_STATE, modes.KEEP)),
        when(takes_over, modes.NOTHING, when(ends, reason, motion_.message)), q, qd)
    driven = follows & equal(active_law, external_law.LINEAR)
    motion_ = replace(motion_, reference=when(
        driven, modes.Reference(q, qd, nothing, nothing), motion_.reference))
    ext_law = replace(ext_law, active=when(follows, active_law, external_law.NONE),
                      disabled=when(changes | no(follows), 0.0, ext_law.disabled))
    return ext_law, rows_, replace(
        m, motion=motion_, transition=transition.begin(m.transition, p.transition, changes))


def built_in_law(functions, body, flags, follows, now, dt, q, qd, wrench_torque, feedback_scale, m,
                 p):
    """
    Return memory, terms of the built-in law, report of a Cartesian law, and drift.

    The drift is the change of its torque since the last cycle due to state and reference; it is
    computed where the law or its gains change, see `transition`.
    """
    silent, reference = flags.silent, m.motion.reference
    floats = no(follows) & no(silent)
    passive = equal(m.motion.mode, modes.PASSIVE)
    reflected = when(floats, reflection.update(m.reflection, p.reflection, now, dt),
                     when(silent, m.reflection, reflection.cleared(m.reflection, p.reflection)))
    cartesian = follows & laws.one_of(p.law, laws.CARTESIAN)
    has_target = cartesian & no(m.external_law.active)
    target = when(has_target, wrenches.update(m.target, p.target, now, dt),
                  wrenches.cleared(m.target))
    target_torque = choose(has_target, [
        lambda: zeros(q), lambda: wrenches.torque(body, q, target.wrench)])
    released = flag(p.collision.reaction) & collision.present(m.collision, p.collision)
    nothing = zeros(q)
    compensates = all_of([follows, no(m.external_law.active), laws.one_of(p.law, laws.INTEGRATE)])
    contact = choose(follows & laws.one_of(p.law, laws.SHAPE), [
        lambda: nothing, lambda: observer.stable_external(
            body, m.observer.q, m.observer.external, m.springs.value)])
    # without the estimated payload, whose inertia may be too large
    known = replace(body, runtime=m.loads.known)
    x = SimpleNamespace(
        q=q, qd=oscillation.slowed(m.oscillation, qd, m.passive.once), q_ref=reference.q,
        qd_ref=reference.qd, qdd_ref=reference.qdd,
        effort=choose(passive, [
            lambda: when(floats, reflected.torque, reference.effort),
            lambda: passive_stop.torque(known, m.passive, q, qd, p.gains, p.limits.effort,
                                        oscillation.lowered(m.oscillation))]),
        external=when(floats, nothing, added(wrench_torque, target_torque)),
        integral=when(silent, nothing, m.integral),
        disturbance=when(compensates & no(released),
                         disturbance.torque(m.disturbance, p.disturbance, reference.qd), nothing),
        contact=contact)
    row = when(silent, laws.ROWS['computed_torque'], when(floats, 0.0, p.law))
    gains, task = oscillation.softened(
        replace(p.gains, stiffness=m.springs.value),
        replace(p.task, stiffness=m.task_springs.value), [
            minimum(minimum(f, 1.0 - soft) / (1.0 - lowered), 1.0) for f, soft, lowered in zip(
                m.oscillation.factor, p.probe.softness, p.probe.lowered)])
    gains = when(passive, passive_stop.gains(gains), gains)
    gains, task, light = light_joints.reduced(
        known, m.light, row, q, gains, task,
        m.share.gap + 2.0 * m.acceptance.plausibility.delay, m.share.lag, p.share)

    def evaluate(x):
        return laws.evaluate(functions.laws, row, body, x, laws.coasting(gains, silent), task,
                             feedback_scale, p.limits.effort)

    def change_of_torque():
        past, _ = evaluate(laws.with_motion(x, m.followed_motion))
        change = difference(terms[Term.TOTAL], past[Term.TOTAL])
        return choose(all_finite(change), [lambda: nothing, lambda: change])

    terms, report = evaluate(x)
    learns = all_of([flags.fresh, equal(feedback_scale, 1.0), no(any_above(
        [absolute(each) for each in terms[Term.LIMIT]], 0.0))])
    compensation = compensated(body, m, p, gains, light, row, q, dt,
                               (compensates & no(released), learns, flags.between))
    drift = choose(all_of([m.transition.begins, m.transition.changes, follows]), [
        lambda: nothing, change_of_torque])
    after = replace(m, reflection=reflected, target=target, light=light, disturbance=compensation,
                    followed_motion=laws.motion_of(x), followed=follows
                    & no(m.external_law.active))
    return after, terms, when(cartesian, report, m.report), drift


def compensated(body, m, p, gains, light, row, q, dt, flags):
    """
    Return the memory of the compensation of disturbances after a torque of a law.

    gains, light: in use. flags: the law compensates; the error is that of its whole feedback; the
    torque is one between two states.
    """
    compensates, learns, between = flags
    error, seen = difference(m.motion.reference.q, q), m.acceptance.plausibility
    estimated = flag(seen.delay)
    # with the compensation the feedback is stiffer than that of the law alone
    prompt = equal(feedback_share.stable_share(
        m.share, 2.0 * p.law_damping, 2.0 * p.law_stiffness), 1.0)
    # loads that change may have been learned
    settled = loads.settled(m.loads)
    shaken = oscillation.recent(m.oscillation)  # what was learned then drives a soft joint away
    kept = disturbance.kept(m.disturbance, gains, compensates, prompt, dt, fades=estimated
                            | shaken, bias_fades=any_of([estimated, no(settled), shaken]))
    computed_torque = equal(row, laws.ROWS['computed_torque'])
    # the error of a joint with strongly reduced gains shows little
    significant = computed_torque | all_of([part >= 0.9 for part in light.scale])

    def learned():
        K = disturbance.bandwidth(replace(gains, feedback_inertia=p.gains.feedback_inertia),
                                  when(computed_torque, light.scale, zeros(q)))

        def moved(acceleration):
            return choose(computed_torque, [
                lambda: product(product(light.scale, gains.inertia), acceleration),
                lambda: added(body.part('inertial', q, gains.armature, acceleration),
                              product(gains.feedback_inertia, acceleration))])

        return disturbance.update(
            kept, p.disturbance, gains, moved, error, m.motion.reference, K)

    steady = all_of([
        compensates, learns, disturbance.ready(kept), significant, settled, no(estimated),
        no(seen.undecided), no(m.motion.fault.code), no(transition.under_way(m.transition)),
        no(collision.present(m.collision, p.collision))])
    return choose(steady, [
        lambda: when(between, kept, disturbance.interrupted(kept)), learned])


def shutdown_terms(body, q, terms, m, p):
    """Return the terms; at the end of a shutdown those of gravity compensation alone."""
    gravity_part = shutdown.gravity_part(m.shutdown, p.motion.shutdown)
    return choose(equal(m.mode, modes.CARRY), [lambda: terms, lambda: compose(
        body.nv, {Term.GRAVITY: scaled(gravity_part, body.safe_gravity(q))}, p.limits.effort)])


def brake(body, torque, q, qd, driven, free, m, p):
    """
    Return the torque with brakes at position limits, and without outward parts in recovery.

    driven: flag of an externally driven arm. free: flag of a cycle without brakes.
    """
    # a brake is feedback, too
    decay = oscillation.least(m.oscillation.factor) * walls.brake_damping(m.share.gap, when(
        equal(m.motion.mode, modes.PASSIVE), passive_stop.DELAY, m.acceptance.plausibility.delay))
    return choose(free, [
        lambda: walls.limit_outward(
            body, walls.brake(body, torque, q, qd, driven, m.walls, decay), q, qd, m.walls,
            p.walls, decay),
        lambda: torque])


def fallback(body, torque, q, qd, silent, p):
    """Return gravity torque and damping, in place of a torque that is not finite."""
    damping = when(silent, zeros(q), product(p.gains.damping, qd))
    return choose(all_finite(torque), [
        lambda: difference(body.safe_gravity(q), damping), lambda: zeros(q)])


def stop_on_invalid_torque(robot, verdict, driven, blended, q, qd, m, p):
    """Return motion, external laws and transition: stopped where the torque was not finite."""
    failed, failure = flag(verdict.not_finite), modes.torque_failure(verdict)
    motion = modes.latched(m.motion, failed, failure)
    ext_law = external_law.disabled(m.external_law, failed, failure.code)
    stops = failed & modes.moves(motion, p.motion)
    blended = transition.begin(blended, p.transition, stops & driven)
    return modes.act(robot, motion, p.motion, when(stops, modes.STOP, motion.mode),
                     when(stops, modes.STOP_FROM_REFERENCE, modes.KEEP),
                     when(stops, motion.fault, motion.message), q, qd), ext_law, blended


def update_law_state(robot, functions, body, m, p, dt, q, qd, terms, report, *, silent, follows,
                     healthy, undisturbed):
    """
    Return the memory after updating the state of the laws; unchanged in a cycle of silence.

    Flags. follows: the built-in law follows a reference. healthy: there is no fault. undisturbed:
    the torque is that of the law, with its whole feedback.
    """
    reference = m.motion.reference
    error = difference(reference.q, q)
    integrates, has_springs, adapts, cartesian = (
        follows & laws.one_of(p.law, names) for names in (
            laws.INTEGRATE, laws.SPRING, laws.ADAPT, laws.CARTESIAN))

    def integrated():
        cut = choose(any_above([absolute(x) for x in terms[Term.LIMIT]], 0.0), [
            lambda: zeros(q), lambda: body.response(q, terms[Term.LIMIT])])
        return law_state.integrate(m.integral, dt, error, cut, p.gains)

    integral = choose(integrates & any_above(p.gains.ki, 0.0),
                      [lambda: zeros(q),
                       lambda: choose(undisturbed, [lambda: m.integral, integrated])])

    def stiffness_changed():
        feedback = terms[Term.FEEDBACK]
        spring_torque = choose(laws.one_of(p.law, laws.SHAPE), [lambda: feedback, lambda: product(
            p.gains.apparent_inertia, body.response(q, feedback))])
        damping = difference(spring_torque, product(m.springs.value, error))
        power = sum(d * (r - v) for d, r, v in zip(damping, reference.qd, qd))
        return law_state.update_stiffness(m.springs, dt, error, power, p.tank)

    springs = choose(has_springs, [
        lambda: law_state.completed(m.springs, 1.0),
        lambda: choose(undisturbed, [lambda: m.springs, stiffness_changed])])
    # the power of filtered velocities is not that of the dampers
    dissipated = when(oscillation.filters(m.oscillation), 0.0, report[19])
    task = choose(cartesian, [
        lambda: law_state.completed(m.task_springs, 1.0),
        lambda: choose(undisturbed, [
            lambda: m.task_springs, lambda: law_state.update_stiffness(
                m.task_springs, dt, report[:6], dissipated, p.tank)])])
    learns = all_of([
        adapts, undisturbed, healthy, no(oscillation.lowered(m.oscillation)),
        *[equal(x, 0.0) for term in (Term.LIMIT, Term.EXTERNAL, Term.EFFORT)
          for x in terms[term]],
        # the error must be that of full gravity compensation
        *[equal(x, 1.0) for x in p.gains.gravity_scale],
        # an estimate from a joint with strongly reduced gains is not reliable
        *[x >= 0.9 for x in m.light.scale]])
    kept = replace(m.learning, active=learns), m.loads.learned
    learned, parameters = kept if robot.slot is None else choose(learns, [
        lambda: kept, lambda: learning.update(
            functions.learning, body, kept[0], p.learning, dt,
            [q, qd, reference.q, reference.qd, reference.qdd,
             p.gains.sliding], kept[1], robot.slot)])
    after = replace(m, integral=integral, springs=springs, task_springs=task, learning=learned,
                    loads=replace(m.loads, learned=parameters))
    idle = replace(m, learning=replace(m.learning, active=0.0))
    return when(silent, idle, after)
