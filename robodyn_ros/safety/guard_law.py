"""
Torque of a guard: gravity torque, damping until the arm rests, and a hold there.

The damping is `- d M(q) qd`: all joints decelerate at the same rate d, without coupling, whatever
the masses. A joint whose velocity decays so comes to rest at `q + v/d`. Under damping alone errors
of the model would let the arm sink at a constant speed; therefore it is held by an anchor there:
`r = q + v/d - anchor` stays 0 along the undisturbed motion; the feedback `- d p M(q) r` acts on
disturbances only, with the real poles d and p. It has a part of the effort limits, and slips where
that is not enough.

States that are late, whatever their stamps say, and elastic joints make any feedback swing an arm,
that of a guard, too. It is watched like that of a controller, see `oscillation`, and replaced by
the same `passive_stop`. An arm that moves, and whose loop was not measured or does not bear this
feedback, is stopped so from the begin, and held when it is slow: a feedback that swings it shows
then before it is fast, and behind a spring the rotor, which nothing measures, is faster than the
link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from types import SimpleNamespace

from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, part, scalar
from robodyn_ros.dynamics.jit.flags import any_of, equal, finite, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import added, clipped, product, scaled, zeros
from robodyn_ros.safety import limits, oscillation, passive_stop, walls

START, STATE, NO_STATE = 0.0, 1.0, 2.0  # calls: of the takeover; for a state, and without one
_BRAKE, _REACH = 80.0, 0.1  # 1/s per excess speed near a position limit; s, time to reach it
_SOFT_BRAKE, _SOFT_REACH = 5.0, 0.8  # the same in a passive stop
_FASTER, _SLOW = 1.25, 0.1  # times its speed at first, or this part of the limit: it is driven
_QUICK, _BEGIN = 0.1, 0.15  # s of a half wave of an oscillation; s of the begin
_GROWN = 2.0                # half waves in a row that were larger than the one before
_USUAL = 0.1                # weight of an interval in the usual one
_MOVES = 0.05               # of the velocity limit: a joint moves at the takeover
_SOFT_STOP, _BLEND = 1.0, 1.5  # s, of a stop whose end is not waited for; in which the hold grows
_WALLS = walls.Program(0.0, float('inf'), 1e9)


@block
class Inputs:
    call: float = scalar('', 'Kind of call: 0 takeover, 1 state, 2 no state.')
    now: float = scalar('s', 'Time of the steady clock.')
    q: list = joints('rad', 'Measured position; of a takeover: the last one.')
    qd: list = joints('rad/s', 'Measured velocity.')
    torque: list = joints('N m', 'Of a takeover: last torque of the controller; not a number: the '
                          'gravity torque.')


@block
class Program:
    damping: float = scalar('1/s', 'Rate at which velocities decay.')
    hold_rate: float = scalar('1/s', 'Rate at which the arm returns to its anchor.')
    hold_effort: list = joints('N m', 'Largest torque of the hold.')
    limits: limits.Program = part(limits.Program)
    gravity_scale: float = scalar('', 'Part of the gravity torque that is commanded.')
    borne: float = scalar('', 'Flag: the loop was measured, and bears this feedback.')
    armature: list = joints('kg m^2', 'Rotor inertia, reflected to the joints.')
    loads: list = numbers('runtime', 'SI', 'Gravity and payloads, for the gravity torque.')
    feedback_loads: list = numbers('runtime', 'SI', 'The same, for the inertia of the feedback.')


@block
class Memory:
    now: float = scalar('s', 'Time of the last torque.')
    q: list = joints('rad', 'Position at the last state.')
    anchor: list = joints('rad', 'Position at which the arm is held.')
    hold: list = joints('N m', 'Torque towards it.')
    sent: list = joints('N m', 'Last torque.')
    verdict: limits.Verdict = part(limits.Verdict)
    walls: walls.Memory = part(walls.Memory)
    swings: float = scalar('', 'Flag: the torques have swung the arm, a passive stop follows.')
    soft_part: float = scalar('', 'Part of a passive stop in the torque, before the arm is held.')
    begin: float = scalar('s', 'Time of the takeover.')
    state_time: float = scalar('s', 'Time of the last state.')
    interval: float = scalar('s', 'Usual time between two states.')
    fastest: float = scalar('', 'Speed above which a joint is driven, in velocity limits.')
    oscillation: oscillation.Memory = part(oscillation.Memory)
    passive: passive_stop.Memory = part(passive_stop.Memory)


@dataclass(frozen=True, eq=False)
class Arm:
    """The robot as `passive_stop` sees it: `part('inertial', ...)` is M times an acceleration."""

    robot: SimpleNamespace
    loads: list

    def part(self, _inertial, q, armature, acceleration):
        """Return M times an acceleration, rotors included."""
        torque = algorithms.inertial(self.robot.tree, self.loads, q, acceleration)
        return added(torque, product(armature, acceleration))


def guard_torque(robot, x, m, p):
    """
    Return the torque of a call, and the next memory.

    robot: namespace with the tree, `lower` and `upper` position limits, `speeds`, and
    `lightest_inertia` of the joints.
    """
    arm, passed = Arm(robot, p.feedback_loads), x.now - m.now
    m = replace(m, now=x.now, q=when(equal(x.call, NO_STATE), m.q, x.q))
    gravity = scaled(p.gravity_scale, algorithms.gravity(robot.tree, p.loads, m.q))
    m, torque = choose(x.call, [
        lambda: (started(robot, x, m, p, gravity), zeros(m.q)),
        lambda: answered(robot, arm, x, m, p),
        lambda: (m, m.hold)])
    torque, verdict = limits.supervise(added(torque, gravity), gravity, m.sent, passed, p.limits)
    begins = equal(x.call, START)
    torque = when(begins, m.sent, torque)
    return torque, replace(m, sent=torque, verdict=when(begins, m.verdict, verdict))


def started(robot, x, m, p, gravity):
    """Return the memory at a takeover: the first torque is that of the controller."""
    known = when(finite(x.torque[0]), x.torque, gravity)
    sent = clipped([when(finite(t), t, 0.0) for t in known], [-each for each in p.limits.effort],
                   p.limits.effort)
    walls_ = walls.reset(robot, m.walls, _WALLS, x.q, 1.0)
    return replace(
        begun(robot, x, replace(m, walls=walls_), p), sent=sent, swings=0.0, interval=0.0,
        soft_part=when((_speed(robot, x.qd) > _MOVES) & no(flag(p.borne)), 1.0, 0.0),
        state_time=x.now)


def begun(robot, x, m, p):
    """Return the memory of an arm that is damped, and held where it comes to rest, from now on."""
    return replace(
        m, anchor=_within([a + v / p.damping for a, v in zip(x.q, x.qd)], m.walls),
        hold=zeros(x.q), soft_part=0.0, begin=x.now,
        fastest=maximum(_FASTER * _speed(robot, x.qd), _SLOW),
        oscillation=replace(oscillation.restarted(m.oscillation, 1.0), time=x.now),
        passive=passive_stop.started(x.q, x.qd))


def _speed(robot, qd):
    """Return the speed of the fastest joint, in velocity limits."""
    return reduce(maximum, [absolute(v) / most for v, most in zip(qd, robot.speeds)])


def answered(robot, arm, x, m, p):
    """Return the memory after a state, and the torque without that of gravity."""
    walls_ = walls.update(robot, m.walls, _WALLS, x.q, 1.0, 1.0)
    m = watched(robot, x, replace(m, walls=walls_), p)
    hold, anchor = held(arm, x, m, p)
    m = replace(m, anchor=anchor)

    def braked(damping, reach):
        return [damping * walls.brake_speed(*each, reach) for each in zip(
            x.q, x.qd, walls_.lower, walls_.upper)]

    def firm_brakes(qdd):
        return arm.part('inertial', x.q, p.armature, added(braked(_BRAKE, _REACH), qdd))

    def damped():
        return added(firm_brakes(scaled(-p.damping, x.qd)), hold), hold

    def passive():
        gains = SimpleNamespace(lightest_inertia=robot.lightest_inertia, armature=p.armature)
        torque = passive_stop.torque(arm, m.passive, x.q, x.qd, gains, p.limits.effort, 1.0)
        brakes = choose(flag(m.swings), [
            lambda: firm_brakes(zeros(x.q)),
            lambda: product(robot.lightest_inertia, braked(_SOFT_BRAKE, _SOFT_REACH))])
        return added(torque, brakes), zeros(x.q)

    def blended():
        (firm, hold_), (soft, _) = damped(), passive()
        return [t + m.soft_part * (s - t) for t, s in zip(firm, soft)], hold_

    torque, hold = choose(when(_stops(m), 1.0, when(flag(m.soft_part), 2.0, 0.0)),
                          [damped, passive, blended])
    return replace(m, hold=hold), torque


def _stops(m):
    """Return whether the torque is that of a passive stop alone."""
    return flag(m.swings) | (m.soft_part >= 1.0)


def _away(x, m, p):
    """Return how far from its anchor each joint would come to rest undisturbed."""
    return [q + v / p.damping - a for q, v, a in zip(x.q, x.qd, m.anchor)]


def held(arm, x, m, p):
    """Return the torque towards the anchor, and the anchor, which slips where it is limited."""
    away = _away(x, m, p)
    hold = arm.part('inertial', x.q, p.armature, scaled(-p.damping * p.hold_rate, away))
    excess = [absolute(t) / most for t, most in zip(hold, p.hold_effort)]
    largest = maximum(reduce(maximum, excess), 1.0)
    # only the anchors of joints at their limit move
    slipped = _within([a + (1.0 - 1.0 / maximum(e, 1.0)) * r for a, e, r in zip(
        m.anchor, excess, away)], m.walls)
    return [t / largest for t in hold], when(largest > 1.0, slipped, m.anchor)


def watched(robot, x, m, p):
    """Return the memory with what a state shows about the feedback."""
    passed = x.now - m.state_time
    interval = m.interval + _USUAL * (passed - m.interval)
    # velocity less that with which the arm would come to rest undisturbed
    error = scaled(p.damping, _away(x, m, p))
    slows = passive_stop.update(m.passive, x.q, x.qd, robot.speeds, passed)

    def judged():
        seen = oscillation.update(m.oscillation, error, m.sent, robot.speeds,
                                  robot.lightest_inertia, x.now, interval)
        # faster than at first, and alternating: a push is not. The torque begins at that of the
        # controller: at first half waves must grow, too
        grown = when(x.now > m.begin + _BEGIN, 0.0, _GROWN)
        driven = any_of([
            (absolute(v) > m.fastest * most) & (last > _SLOW * most) & (half < _QUICK)
            & (count >= grown) for v, most, last, half, count in zip(
                x.qd, robot.speeds, seen.last, seen.half, seen.grown)])
        swings = driven | oscillation.lowered(seen)
        # the spring begins when the arm is slow from now on
        rest = passive_stop.started(x.q, x.qd)
        return replace(m, swings=when(swings, 1.0, 0.0), interval=interval, oscillation=seen,
                       soft_part=maximum(m.soft_part - passed / _BLEND, 0.0),
                       passive=when(swings | no(flag(m.soft_part)), rest, slows))

    def stopping():
        # faster than at first and than its limits: it falls, its gravity or payload is not as told
        falls = _speed(robot, x.qd) > maximum(m.fastest, 1.0)
        ends = no(flag(m.swings)) & (
            passive_stop.rests(slows) | (x.now > m.begin + _SOFT_STOP) | falls)
        held = replace(begun(robot, x, m, p), passive=slows,
                       soft_part=when(falls, 0.0, 1.0 - passed / _BLEND))
        return when(ends, held, replace(m, passive=slows))

    return replace(choose(_stops(m), [judged, stopping]), state_time=x.now)


def _within(q, walls_):
    """Return positions within the walls."""
    return [minimum(maximum(x, low), high) for x, low, high in zip(
        q, walls_.lower, walls_.upper)]
