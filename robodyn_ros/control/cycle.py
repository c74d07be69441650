"""
The control cycle: everything that happens between a joint state and a torque.

A pure function: measured state, memory and program in; torque and memory out. It computes on
floats, and is traced on symbols. There are three kinds of cycle (a state was received; a torque is
due between two states; the states are silent), and a call that handles requests only.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import (
    disturbance, feedback, feedback_share, gravity_check, loads, loop_probe, mean_torque, modes,
    observer, shutdown, transition, wrenches)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.steps.modes import advance_reference
from robodyn_ros.control.steps.observer import observe
from robodyn_ros.control.steps.predict import predict_state
from robodyn_ros.control.steps.requests import (
    apply_requests, cycle_flags, decide, NewRequests, receive)
from robodyn_ros.control.steps.torque import (
    brake, built_in_law, external_law_terms, fallback, shutdown_terms, stop_on_invalid_torque,
    update_law_state)
from robodyn_ros.control.terms import compose, Term
from robodyn_ros.dynamics.jit.flags import all_of, equal, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import minimum
from robodyn_ros.dynamics.jit.vectors import added, difference
from robodyn_ros.safety import limits, walls


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
    # state: accepted, silent or implausible; kind of the cycle
    state, m, clock, resumes, stops, silence = receive(functions, state, m, p)
    # requests of the program: taking over, loads, springs, external laws
    requests = NewRequests(state, m, p, resumes)
    m = apply_requests(robot, functions, requests, state, m, p)
    flags = cycle_flags(robot, state, m, p, requests, clock, stops, silence)
    # contact: external torque, collision
    m = observe(robot, functions, flags, state, m, p)
    # mode: float, hold, track, stop, ...; fault
    m = decide(robot, requests, flags, state, m, p)
    return choose(flags.computes, [
        lambda: (m.sent, m), lambda: compute_torque(robot, functions, table, flags, state, m, p)])


def compute_torque(robot, functions, table, flags, state, m, p):
    """Return the torque of a cycle, and the memory of the next."""
    now, dt, silent = flags.now, flags.dt, flags.silent
    p = gravity_check.withdrawn(p, m.gravity_check)

    # position and velocity: measured, or predicted from the last torque
    before = Body(robot, functions, loads.runtime(m.loads), p.gains)
    external = wrenches.update(m.external, p.external, now, dt)
    predicted, wrench_torque = predict_state(robot, before, external, flags, state, m)
    m = replace(m, loads=loads.update(m.loads, p.loads, dt), external=external,
                mean_torque=when(flags.between, mean_torque.added(m.mean_torque, dt, m.sent),
                                 m.mean_torque))
    body = replace(before, runtime=loads.runtime(m.loads))

    # reference: of the trajectory, pose, stop or rest, inside of the walls
    motion, predicted = advance_reference(robot, body, table, flags, predicted, m, p)
    # the reference of a motion off its path is that of the arm from here on
    left = all_of([equal(m.motion.mode, modes.TRACK), equal(motion.mode, modes.STOP),
                   equal(motion.result, modes.PATH_TOLERANCE_VIOLATED)])
    m = replace(m, disturbance=disturbance.restarted(m.disturbance, left),
                transition=transition.begin(m.transition, p.transition, left))
    q, qd = predicted.q, predicted.qd
    around = walls.update(robot, m.walls, p.walls, q, dt, flags.fresh)
    motion = replace(motion, reference=walls.confine(robot, around, motion.reference))
    follows = no(modes.no_reference(motion)) & no(silent)

    # feedback: gains and scale that are stable at the interval between torques
    m, p, used = feedback.choose_gains(flags, m, p)
    wrench_torque = when(silent, wrench_torque, wrenches.torque(body, q, external.wrench))
    m = feedback.watch(robot, body, flags, replace(
        m, motion=motion, predicted=predicted, walls=around), p)

    # law: external or built in; gravity compensation at the end of a shutdown
    ready = all_of([follows, used.grown, no(motion.fault.code), no(flags.resumes),
                    no(walls.any_recovering(robot, around, p.walls))])
    ext_law, ext_terms, m = external_law_terms(robot, functions, body, now, ready, follows, q, qd,
                                               wrench_torque, m, p)
    # the state as the law has it: where the reference was when it was measured
    law_q, law_qd = when(follows, feedback_share.caught_up(
        p.share, motion.reference, q, qd), [q, qd])
    m, terms, report, drift = built_in_law(functions, body, flags, follows, now, dt, law_q, law_qd,
                                           wrench_torque, used.scale, m, p)
    terms = choose(flag(ext_law.active), [
        lambda: terms, lambda: compose(body.nv, dict(zip(Term, ext_terms)), p.limits.effort)])
    m = replace(m, external_law=ext_law)
    terms = shutdown_terms(body, q, terms, m.motion, p)

    # limits: continuity, brakes at position limits, finite, rate and effort limits
    desired, blended = transition.blend(terms[Term.TOTAL], added(m.sent, drift), dt,
                                        p.limits.effort, m.transition, p.transition)
    driven = modes.externally_driven(m.motion)
    last = shutdown.over(m.motion.shutdown, p.motion.shutdown)
    desired = when(last, terms[Term.TOTAL], desired)
    desired = brake(body, desired, q, qd, driven, silent | last, m, p)
    desired = choose(loop_probe.under_way(m.probe), [
        lambda: desired, lambda: loop_probe.applied(m.probe, p.probe, desired)])
    # the time of the law jumps where a delay of the states ends
    passed = minimum(now - m.before, flags.clock - m.sent_time)
    torque, verdict = limits.supervise(desired, fallback(body, desired, q, qd, silent, p), m.sent,
                                       passed, p.limits, last)
    terms[Term.LIMIT] = added(terms[Term.LIMIT], difference(torque, terms[Term.TOTAL]))
    terms[Term.TOTAL] = torque

    # memory: fault of a torque that was not finite, state of the laws, what was measured and sent
    motion, ext_law, blended = stop_on_invalid_torque(robot, verdict, driven, blended, q, qd, m, p)
    m = update_law_state(
        robot, functions, body, m, p, dt, law_q, law_qd, terms, report, silent=silent,
        follows=all_of([no(modes.no_reference(motion)), no(silent), no(ext_law.active)]),
        healthy=no(motion.fault.code), undisturbed=equal(used.undelayed, 1.0)
        & no(transition.under_way(blended)))
    measured_q, measured_qd = when(flags.fresh, [state.q, state.qd], [m.q, m.qd])
    return torque, replace(
        m, before=now, q=measured_q, qd=measured_qd, coasting=when(silent, 1.0, 0.0),
        observer=observer.restarted(m.observer, silent), motion=motion, external_law=ext_law,
        transition=blended, terms=[x for term in terms for x in term], report=report,
        sent=torque, sent_time=flags.clock, verdict=verdict)
