"""
Modes and reference of an arm under control: the state machine.

There is one state machine, in two tables. `decide` evaluates requests, the measured state and
collisions before the reference is updated; `conclude` evaluates the progress of the reference. The
first row whose condition holds applies.
"""

from __future__ import annotations

from dataclasses import replace
import math

from robodyn_ros.control.steps import path, path_time, pose_motion, shutdown, stop_profile
from robodyn_ros.dynamics.jit.blocks import block, joints, part, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_of, equal, first_of, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute
from robodyn_ros.dynamics.jit.vectors import added, zeros
from robodyn_ros.safety.events import Event, event, NOTHING

INACTIVE, HOLD, FLOAT, TRACK, STOP, REACH, LINEAR, CARRY, PASSIVE = map(float, range(9))
# action of a row on the reference
(KEEP, RELEASE, RELEASE_AT_STATE, STOP_FROM_REFERENCE, STOP_FROM_STATE, FOLLOW, AIM) = map(
    float, range(7))
# requests
(NO_REQUEST, TO_REST, TO_FLOAT, TO_FOLLOW, TO_TAKE_OVER, TO_DEACTIVATE, TO_RESUME,
 TO_REACH) = map(float, range(8))
# results of a trajectory, as in control_msgs; RUNNING: none yet, or not ended by itself
RUNNING = 1.0
SUCCESSFUL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0.0, -4.0, -5.0


(SILENT, AT_GOAL, OFF_PATH, OFF_PATH_SPEED, OFF_GOAL, OFF_GOAL_SPEED, INTERRUPTED, UNUSABLE,
 LAW_NOT_FINITE, TORQUE_NOT_FINITE, COLLIDED, AT_POSE, OUT_OF_REACH, NO_LINEAR_FEEDBACK,
 OWN_LAW, UNATTENDED, OSCILLATES, CARRIED_TWICE, NOT_CARRIED, WANDERS,
 DRIVEN, PULLED) = map(float, range(1, 23))
REQUESTED = 1000.0  # first code of the texts of requests
_FASTEST = 2.0      # times the velocity limit, above which a velocity is an outlier


@block
class Reference:
    q: list = joints('rad', 'Position.')
    qd: list = joints('rad/s', 'Velocity.')
    qdd: list = joints('rad/s^2', 'Acceleration.')
    effort: list = joints('N m', 'Added effort.')


@block
class Program:
    request: float = scalar('', 'Number of the last request.')
    kind: float = scalar('', 'Kind of that request.')
    code: float = scalar('', 'Code of its text.')
    disables: float = scalar('', 'External laws that it disables: 0 none, 1 linear feedback, '
                             '2 all.')
    floats: float = scalar('', 'Flag: activation enters FLOAT.')
    fault: float = scalar('', 'Number of the last fault detected outside of the cycle.')
    fault_code: float = scalar('', 'Code of its text.')
    reset: float = scalar('', 'Number of the last reset of faults.')
    current: path.Path = part(path.Path)
    # replaced by the upcoming one before it began, unless a loop elsewhere began it meanwhile
    replaced: path.Path = part(path.Path)
    upcoming: path.Path = part(path.Path)
    time: path_time.Program = part(path_time.Program)
    pose: pose_motion.Program = part(pose_motion.Program)
    shutdown: shutdown.Program = part(shutdown.Program)
    deceleration: list = joints('rad/s^2', 'Largest deceleration of a stop.')


@block
class Memory:
    mode: float = scalar('', 'Mode.')
    message: Event = part(Event)
    result: float = scalar('', 'Result of the last trajectory.')
    fault: Event = part(Event)
    interruptions: float = scalar('', 'Motions interrupted, or dropped before their start.')
    request: float = scalar('', 'Last request that was handled.')
    fault_request: float = scalar('', 'Last fault from outside that was handled.')
    reset: float = scalar('', 'Last reset that was handled.')
    dropped: float = scalar('', 'Last trajectory that must not begin any more.')
    reference: Reference = part(Reference)
    path: path.Memory = part(path.Memory)
    time: path_time.Memory = part(path_time.Memory)
    stop: stop_profile.Memory = part(stop_profile.Memory)
    pose: pose_motion.Memory = part(pose_motion.Memory)
    shutdown: shutdown.Memory = part(shutdown.Memory)


def no_reference(m):
    """Return whether the joints have no reference."""
    return any_of([equal(m.mode, each) for each in (FLOAT, INACTIVE, CARRY, PASSIVE)])


def externally_driven(m):
    """Return whether the arm is moved by hand or by linear feedback, not by the reference."""
    return equal(m.mode, FLOAT) | equal(m.mode, LINEAR)


def pending(m, p):
    """Return whether a trajectory is about to begin."""
    return (p.upcoming.number > m.path.number) & (p.upcoming.number > m.dropped)


def moves(m, p):
    """Return whether a motion that a stop would end is under way, or about to begin."""
    return any_of([equal(m.mode, TRACK), equal(m.mode, REACH), externally_driven(m),
                   pending(m, p)])


def next_mode(m, p, flags):
    """
    Return the next mode before the reference is updated: mode, action, message.

    flags: flags and events of this cycle, see `requests.update_mode`.
    """
    new = no(equal(p.request, m.request))

    def requested(kind):
        return new & equal(p.kind, kind)

    inactive, healthy = equal(m.mode, INACTIVE), no(m.fault.code)
    text, no_process = event(p.code), event(UNATTENDED)
    moving = moves(m, p)
    floating, carrying = equal(m.mode, FLOAT), equal(m.mode, CARRY)
    passive = equal(m.mode, PASSIVE)
    passive_still = all_of([passive, no(healthy), no(flags.settled)])
    # the feedback may be the cause of the fault, and must not be the reaction
    unstable = flags.too_fast | (flags.fails & flags.suspect)
    stoppable = moving & no(floating)
    # one that continues the present trajectory begins at a time along it, see `update`
    continues = equal(m.mode, TRACK) & equal(p.upcoming.after, m.path.number)
    begins = all_of([pending(m, p), healthy, flags.now >= p.upcoming.moment, no(continues)])
    interrupted = when(equal(m.mode, TRACK) | equal(m.mode, REACH), event(INTERRUPTED), m.message)
    return first_of(
        # condition                          mode      action               message
        (requested(TO_TAKE_OVER) & p.floats, FLOAT,    RELEASE_AT_STATE,    NOTHING),
        (requested(TO_TAKE_OVER),            STOP,     STOP_FROM_STATE,     NOTHING),
        (requested(TO_DEACTIVATE),           INACTIVE, RELEASE,             m.message),
        (inactive,                           INACTIVE, KEEP,                m.message),
        (passive_still,                      PASSIVE,  KEEP,                m.message),
        (passive & healthy,                  STOP,     STOP_FROM_STATE,     NOTHING),
        (unstable,                           PASSIVE,  RELEASE_AT_STATE,    flags.failure),
        (flags.fails & moving,               STOP,     STOP_FROM_REFERENCE, flags.failure),
        (flags.resumes & floating,           FLOAT,    KEEP,                m.message),
        (flags.resumes & carrying,           CARRY,    KEEP,                m.message),
        (flags.resumes,                      STOP,     STOP_FROM_STATE,     interrupted),
        (requested(TO_REST),                 STOP,     STOP_FROM_REFERENCE, text),
        (requested(TO_FLOAT),                FLOAT,    RELEASE,             text),
        (flags.silent & moving,              STOP,     STOP_FROM_REFERENCE, flags.silence),
        (flags.unattended & stoppable,       STOP,     STOP_FROM_REFERENCE, no_process),
        (flags.hit & flags.suspect,          PASSIVE,  RELEASE_AT_STATE,    flags.collision),
        (flags.hit & flags.hit_floats,       FLOAT,    RELEASE_AT_STATE,    flags.collision),
        (flags.hit,                          STOP,     STOP_FROM_STATE,     flags.collision),
        (flags.swings,                       STOP,     STOP_FROM_STATE,     m.message),
        (flags.settled,                      CARRY,    RELEASE,             m.message),
        (requested(TO_REACH) & healthy,      REACH,    AIM,                 NOTHING),
        (begins,                             TRACK,    FOLLOW,              NOTHING),
        otherwise=(m.mode, KEEP, when(requested(TO_FOLLOW), NOTHING, m.message)))


def off(outcome, position, velocity):
    """Return the event of a tolerance that is violated, with the code of position or velocity."""
    return Event(when(outcome.velocity, velocity, position), outcome.joint, outcome.error,
                 outcome.tolerance, outcome.time)


def off_goal(outcome):
    """Return the event of a goal tolerance that is not met."""
    return off(outcome, OFF_GOAL, OFF_GOAL_SPEED)


def conclude(m, p, outcome):
    """Return the next mode after the reference was updated: mode, action, message, result."""
    track, reach = equal(m.mode, TRACK), equal(m.mode, REACH)
    rests = m.stop.elapsed >= m.stop.duration
    return first_of(
        # condition                                         mode  action
        (track & equal(outcome.kind, path.REACHED),         HOLD, KEEP,
         event(AT_GOAL), when(pending(m, p), m.result, SUCCESSFUL)),
        # a torque that is not executed yet, or is resisted, must not wait for its moment
        (track & equal(outcome.kind, path.PATH_VIOLATED),   STOP, STOP_FROM_STATE,
         off(outcome, OFF_PATH, OFF_PATH_SPEED), PATH_TOLERANCE_VIOLATED),
        (track & equal(outcome.kind, path.GOAL_VIOLATED),   STOP, STOP_FROM_REFERENCE,
         off_goal(outcome), GOAL_TOLERANCE_VIOLATED),
        (reach & equal(m.pose.outcome, pose_motion.REACHED), STOP, STOP_FROM_REFERENCE,
         event(AT_POSE), m.result),
        (reach & equal(m.pose.outcome, pose_motion.OUT_OF_REACH), STOP,
         STOP_FROM_REFERENCE, Event(OUT_OF_REACH, 0.0, m.pose.linear, m.pose.angular, 0.0),
         m.result),
        (equal(m.mode, STOP) & rests,                       HOLD, KEEP,
         m.message, m.result),
        otherwise=(m.mode, KEEP, m.message, m.result))


def act(robot, m, p, mode, action, message, q, qd):
    """Return the memory after the action of a row on the reference."""
    reaching, measured = equal(m.mode, REACH), no_reference(m) | externally_driven(m)
    tracking = equal(m.mode, TRACK)
    moving = equal(m.mode, STOP) | reaching
    m = replace(m, mode=mode, message=message)
    measured_state = Reference(q, qd, zeros(q), zeros(q))

    def interrupted_at(reference):
        return replace(m, interruptions=m.interruptions + 1.0, reference=reference,
                       dropped=p.upcoming.number, path=path.Memory(0.0, 0.0, 0.0))

    def stopped(reference, measured):
        reference = replace(reference, qd=when(
            measured, without_outliers(robot, reference.qd), reference.qd))
        return replace(interrupted_at(reference), stop=stop_profile.plan(
            reference, p.deceleration, robot.lower, robot.upper))

    def followed():
        return replace(
            m, result=RUNNING, path=path.started(p.upcoming, m.path.last_time),
            time=when(tracking, m.time, path_time.started(p.time, moving)))

    def aimed():
        after = replace(interrupted_at(m.reference), result=RUNNING)
        continues = reaching & no(pending(m, p))
        after = when(continues, replace(m, result=RUNNING), after)
        return replace(after, pose=pose_motion.aimed(math.inf))

    return choose(action, [
        lambda: m,
        lambda: interrupted_at(m.reference),
        lambda: interrupted_at(measured_state),
        lambda: stopped(m.reference, measured),
        lambda: stopped(measured_state, 1.0),
        followed,
        aimed])


def without_outliers(robot, qd):
    """Return velocities, 0 for outliers: a stop from one would move the arm far away."""
    return [when(absolute(v) > _FASTEST * most, 0.0, v) for v, most in zip(qd, robot.speeds)]


def stop_from(robot, m, p, dt, q, qd):
    """Return the memory of a stop that begins at a state with the next update, of `dt` seconds."""
    reference = Reference(q, without_outliers(robot, qd), zeros(q), zeros(q))
    stop = stop_profile.plan(reference, p.deceleration, robot.lower, robot.upper)
    return replace(m, mode=STOP, reference=reference, stop=replace(stop, elapsed=-dt))


def followed_path(m, p):
    """Return the trajectory that is followed, one of those in the program."""
    return when(equal(p.upcoming.number, m.path.number), p.upcoming,
                when(equal(p.replaced.number, m.path.number), p.replaced, p.current))


def update(body, reach, limit, table, m, p, now, dt, q, qd):
    """
    Return the memory with the updated reference, and the outcome of a trajectory.

    limit: largest torque of the joints.
    """
    running = path.Outcome(path.NOT_ENDED, 0.0, 0.0, 0.0, 0.0, 0.0)

    def tracked():
        h = path.passed(m.path, now, body.robot.longest_pause)
        time, step = path_time.update(m.time, p.time, h, *choose(
            path_time.steady(m.time, p.time), [changes, lambda: (0.0, 0.0)]))
        joins = pending(m, p) & path.continued(m.path, p.upcoming, step)
        before = when(joins, path.joined(m.path, p.upcoming), m.path)
        chosen = when(joins, p.upcoming, followed_path(m, p))
        state = path.update(before, now, step)
        reference = Reference(*path_time.along(time, path.sample(table, chosen, state.elapsed)))
        return (replace(m, path=state, time=time, reference=reference),
                path.check_tolerances(state, chosen, reference, q, qd))

    def changes():
        q, first, second, effort = path.sample(table, followed_path(m, p), m.path.elapsed)
        torque, inertial = body.rows('path_torques', q, first, second, body.gains.armature,
                                     [m.time.rate])
        return path_time.bounds(added(torque, effort), inertial, limit)

    def stopping():
        stop = replace(m.stop, elapsed=m.stop.elapsed + dt)
        return replace(m, stop=stop, reference=Reference(*stop_profile.sample(stop))), running

    def reaching():
        rows, pose = pose_motion.update(body, m.reference, q, p.pose, m.pose, reach,
                                        p.time.scaling, dt)
        return replace(m, pose=pose, reference=Reference(*rows)), running

    def passive():
        return replace(m, reference=Reference(q, zeros(q), zeros(q), zeros(q))), running

    def driven():
        return replace(m, reference=Reference(q, qd, zeros(q), zeros(q))), running

    # inactive, hold, float, track, stop, reach, linear feedback, carry, passive stop
    nothing = (m, running)
    return choose(m.mode, [driven, lambda: nothing, driven, tracked, stopping, reaching,
                           lambda: nothing, driven, passive])


def acknowledged(m, p):
    """Return the memory with all requests of the program marked as handled."""
    new = no(equal(p.request, m.request))
    follows = new & equal(p.kind, TO_FOLLOW)
    return replace(m, request=p.request, fault_request=p.fault, reset=p.reset,
                   result=when(follows, RUNNING, m.result))


def torque_failure(verdict):
    """Return the event of a torque that is not finite, see `limits.Verdict`."""
    code = when(verdict.not_finite > 1.5, TORQUE_NOT_FINITE, LAW_NOT_FINITE)
    return Event(code, verdict.joint, verdict.value, 0.0, 0.0)


def latched(m, fails, failure):
    """Return the memory with a fault latched, where a flag holds; an earlier fault is kept."""
    return replace(m, fault=when(fails & no(flag(m.fault.code)), failure, m.fault))
