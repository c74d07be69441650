"""Terms of the torque, of an external or the built-in law; brakes, and what replaces a torque."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.steps import (
    collision, disturbance, external_law, feedback, laws, light_joints, loop_probe, modes,
    observer, reflection, shutdown, transition, wrenches)
from robodyn_ros.control.terms import rows_within_limits, SUMMANDS, Term
from robodyn_ros.dynamics.jit.flags import all_finite, all_of, any_above, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, minimum
from robodyn_ros.dynamics.jit.vectors import added, difference, product, scaled, sums, zeros
from robodyn_ros.safety import oscillation, passive_stop, walls


def law_terms(body, flags, used, wrench_torque, m, p):
    """
    Return the memory, and what the law that controls the arm computed, as a namespace.

    used: see `feedback.choose_gains`. wrench_torque: compensation of known wrenches. Of the
    namespace: `terms`, see `Term`; `drift`, change of the torque of the built-in law since the
    last cycle due to state and reference, where the law or its gains change; `report` of a
    Cartesian law; `q` and `qd`, the state as the law had it; `external`, memory of external laws.
    """
    q, qd = m.predicted.q, m.predicted.qd
    follows = no(modes.no_reference(m.motion)) & no(flags.silent)
    ready = all_of([follows, used.grown, no(m.motion.fault.code), no(flags.resumes),
                    no(walls.any_recovering(body.robot, m.walls, p.walls))])
    external, external_terms, m = external_law.terms(
        body, flags.now, ready, follows, q, qd, wrench_torque, m, p)
    # where the reference was when the state was measured
    q, qd = when(follows, feedback.caught_up(p.feedback, m.motion.reference, q, qd), [q, qd])
    m, terms, report, drift = built_in_terms(
        body, flags, follows, q, qd, wrench_torque, used.scale, m, p)
    terms = choose(flag(external.active), [lambda: terms, lambda: rows_within_limits(
        body.nv, dict(zip(SUMMANDS, external_terms)), p.limits.effort)])
    terms = shutdown_terms(body, m.predicted.q, terms, m.motion, p)
    return m, SimpleNamespace(terms=terms, drift=drift, report=report, q=q, qd=qd,
                              external=external)


def built_in_terms(body, flags, follows, q, qd, wrench_torque, feedback_scale, m, p):
    """Return memory, terms of the built-in law, report and drift, see `law_terms`."""
    now, dt, silent, reference = flags.now, flags.dt, flags.silent, m.motion.reference
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
    obeys = loop_probe.obeying(p.probe)
    # without the estimated payload, whose inertia may be too large
    known = replace(body, runtime=m.loads.known)
    x = SimpleNamespace(
        q=q, qd=oscillation.slowed(m.oscillation, qd, m.passive.once), q_ref=reference.q,
        qd_ref=reference.qd, qdd_ref=reference.qdd,
        effort=choose(passive, [
            lambda: when(floats, reflected.torque, reference.effort),
            lambda: product(obeys, passive_stop.torque(
                known, m.passive, q, qd, p.gains, p.limits.effort,
                oscillation.lowered(m.oscillation)))]),
        external=when(floats, nothing, added(wrench_torque, target_torque)),
        integral=when(silent, nothing, m.integral),
        disturbance=when(compensates & no(released), product(obeys, disturbance.torque(
            m.disturbance, p.disturbance, reference.qd)), nothing),
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
        m.feedback.gap + 2.0 * m.acceptance.plausibility.delay, m.feedback.lag, p.feedback)

    def evaluate(x):
        return laws.evaluate(body, row, x, laws.coasting(gains, silent), task,
                             feedback_scale, p.limits.effort)

    def change_of_torque():
        past, _ = evaluate(laws.with_motion(x, m.followed_motion))
        change = difference(sums(terms), sums(past))
        return choose(all_finite(change), [lambda: nothing, lambda: change])

    terms, report = evaluate(x)
    learns = all_of([flags.fresh, equal(feedback_scale, 1.0), no(any_above(
        [absolute(each) for each in terms[Term.LIMIT]], 0.0))])
    compensation = disturbance.compensated(body, m, p, gains, light, row, q, dt,
                                           (compensates & no(released), learns, flags.between))
    drift = choose(all_of([m.transition.begins, m.transition.changes, follows]), [
        lambda: nothing, change_of_torque])
    after = replace(m, reflection=reflected, target=target, light=light, disturbance=compensation,
                    followed_motion=laws.motion_of(x), followed=follows
                    & no(m.external_law.active))
    return after, terms, when(cartesian, report, m.report), drift


def shutdown_terms(body, q, terms, m, p):
    """Return the terms; at the end of a shutdown those of gravity compensation alone."""
    gravity_part = shutdown.gravity_part(m.shutdown, p.motion.shutdown)
    return choose(equal(m.mode, modes.CARRY), [lambda: terms, lambda: rows_within_limits(
        body.nv, {Term.GRAVITY: scaled(gravity_part, body.safe_gravity(q))}, p.limits.effort)])


def brake(body, torque, driven, free, m, p):
    """
    Return the torque with brakes at position limits, and without outward parts in recovery.

    driven: flag of an externally driven arm. free: flag of a cycle without brakes.
    """
    q, qd = m.predicted.q, m.predicted.qd
    # a brake is feedback, too
    passive = equal(m.motion.mode, modes.PASSIVE)
    decay = oscillation.least(m.oscillation.factor) * walls.brake_damping(m.feedback.gap, when(
        passive, passive_stop.DELAY, m.acceptance.plausibility.delay))

    def braked():
        obeys = loop_probe.obeying(p.probe)
        part = when(passive, product(obeys, product(m.passive.root, m.passive.root)), obeys)
        return walls.limit_outward(
            body, walls.brake(body, torque, q, qd, driven, m.walls, decay, part), q, qd, m.walls,
            p.walls, decay)

    return choose(free, [braked, lambda: torque])


def fallback(body, torque, silent, m, p):
    """Return gravity torque and damping, in place of a torque that is not finite."""
    q, qd = m.predicted.q, m.predicted.qd
    damping = when(silent, zeros(q), product(p.gains.damping, qd))
    return choose(all_finite(torque), [
        lambda: difference(body.safe_gravity(q), damping), lambda: zeros(q)])


def stop_on_invalid_torque(body, verdict, driven, blended, m, p):
    """Return motion, external laws and transition: stopped where the torque was not finite."""
    q, qd = m.predicted.q, m.predicted.qd
    failed, failure = flag(verdict.not_finite), modes.torque_failure(verdict)
    motion = modes.latched(m.motion, failed, failure)
    ext_law = external_law.disabled(m.external_law, failed, failure.code)
    stops = failed & modes.moves(motion, p.motion)
    blended = transition.begin(blended, p.transition, stops & driven)
    return modes.act(body.robot, motion, p.motion, when(stops, modes.STOP, motion.mode),
                     when(stops, modes.STOP_FROM_REFERENCE, modes.KEEP),
                     when(stops, motion.fault, motion.message), q, qd), ext_law, blended
