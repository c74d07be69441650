"""
The control cycle: everything that happens between a joint state and a torque.

A pure function: measured state, memory and program in; torque and memory out. It computes on
floats, and is traced on symbols. There are three kinds of cycle (a state was received; a torque is
due between two states; the states are silent), and a call that handles requests only.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import (
    gravity_check, loads, loop_probe, modes, observer, shutdown, transition)
from robodyn_ros.control.steps.body import Body
from robodyn_ros.control.steps.feedback import choose_gains, watch
from robodyn_ros.control.steps.law_state import update_law_state
from robodyn_ros.control.steps.predict import predict_state
from robodyn_ros.control.steps.reference import advance_reference
from robodyn_ros.control.steps.requests import (
    apply_requests, cycle_flags, NewRequests, receive, update_mode)
from robodyn_ros.control.steps.torque import brake, fallback, law_terms, stop_on_invalid_torque
from robodyn_ros.control.terms import SUMMANDS, Term
from robodyn_ros.dynamics.jit.flags import all_of, equal, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import minimum
from robodyn_ros.dynamics.jit.vectors import added, difference, sums, zeros
from robodyn_ros.safety import limits


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
    m, hit = observer.observe(Body(robot, functions, loads.runtime(m.loads), p.gains), flags,
                              state, m, p)
    # mode: float, hold, track, stop, ...; fault
    m = update_mode(robot, requests, flags, hit, state, m, p)
    return choose(flags.computes, [
        lambda: (m.sent, m), lambda: compute_torque(robot, functions, table, flags, state, m, p)])


def compute_torque(robot, functions, table, flags, state, m, p):
    """Return the torque of a cycle, and the memory of the next."""
    dt, silent = flags.dt, flags.silent
    p = gravity_check.withdrawn(p, m.gravity_check)

    # position and velocity: measured, or predicted from the last torque
    body = Body(robot, functions, loads.runtime(m.loads), p.gains)
    m, wrench_torque = predict_state(body, flags, state, m, p)
    m = replace(m, loads=loads.update(m.loads, p.loads, dt), mean_torque=when(
        flags.between, observer.torque_added(m.mean_torque, dt, m.sent), m.mean_torque))
    body = replace(body, runtime=loads.runtime(m.loads))

    # reference: of the trajectory, pose, stop or rest, inside of the walls
    m = advance_reference(body, table, flags, m, p)

    # feedback: gains and scale that are stable at the interval between torques
    m, p, used = choose_gains(flags, m, p)
    m = watch(body, flags, m, p)

    # law: external or built in; gravity compensation at the end of a shutdown
    m, law = law_terms(body, flags, used, wrench_torque, m, p)
    terms = law.terms

    # torque: INERTIA + CORIOLIS + GRAVITY + FRICTION + PAYLOAD + FEEDBACK + INTEGRAL + NULL_SPACE
    # + EXTERNAL + EFFORT + LIMIT, by which the feedback is reduced at effort limits
    total = sums([terms[each] for each in SUMMANDS])

    # then all that may change it: transition, brakes and recovery at position limits, probe of a
    # loop, finite, rate and effort limits; then turn.check may withhold it, and drive.command
    # gives it the form of the driver
    torque, blended = transition.blend(total, added(m.sent, law.drift), dt, p.limits.effort,
                                       m.transition, p.transition)
    last, driven = shutdown.over(m.motion.shutdown, p.motion.shutdown), modes.externally_driven(
        m.motion)
    torque = when(last, total, torque)
    torque = brake(body, torque, driven, silent | last, m, p)
    torque = loop_probe.applied(m.probe, p.probe, torque)
    torque = when(m.runaway.failed | equal(m.gravity_check.carried, gravity_check.AGAINST),
                  zeros(torque), torque)
    # the time of the law jumps where a delay of the states ends
    passed = minimum(flags.now - m.last_time, flags.clock - m.sent_time)
    torque, verdict = limits.supervise(torque, fallback(body, torque, silent, m, p), m.sent,
                                       passed, p.limits, last)
    terms[Term.LIMIT] = added(terms[Term.LIMIT], difference(torque, total))

    # memory: fault of a torque that was not finite, state of the laws, what was measured and sent
    motion, external, blended = stop_on_invalid_torque(
        body, verdict, driven, blended, replace(m, external_law=law.external), p)
    m = replace(m, motion=motion, external_law=external, transition=blended)
    follows = all_of([no(modes.no_reference(motion)), no(silent), no(external.active)])
    undisturbed = equal(used.undelayed, 1.0) & no(transition.under_way(blended))
    m = update_law_state(body, flags, law, terms, follows, undisturbed, m, p)
    measured_q, measured_qd = when(flags.fresh, [state.q, state.qd], [m.q, m.qd])
    return torque, replace(
        m, last_time=flags.now, q=measured_q, qd=measured_qd, coasting=when(silent, 1.0, 0.0),
        observer=observer.restarted(m.observer, silent), verdict=verdict, report=law.report,
        terms=flatten([*terms, torque]), sent=torque, sent_time=flags.clock)
