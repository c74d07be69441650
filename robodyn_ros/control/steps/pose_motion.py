"""Motion of the reference to a pose of a link: steps of `resolved_rate`, and their end."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_above, flag, no, when
from robodyn_ros.dynamics.jit.flow import iterate
from robodyn_ros.dynamics.jit.trace import floor, maximum
from robodyn_ros.dynamics.jit.vectors import exponential, magnitudes

_STEP = 2e-3        # s, at most
_SMOOTHING = 5e-3   # s: time constant of accelerations
_FADING = 0.1       # s: time constant with which the effort of a trajectory fades
_ARRIVED = 1e-5     # m and rad
_STILL = 2e-4       # rad/s or m/s
_WINDOW = 0.5       # s, interval between checks of the progress,
_PROGRESS = 0.05    # and its smallest part of the planned one
ON_THE_WAY, REACHED, OUT_OF_REACH = 0.0, 1.0, 2.0


@block
class Program:
    target: list = numbers('pose', '1, m', 'Rotation matrix by rows, and position, in the base.')
    pace: list = numbers('task', 'm/s, rad/s, m/s^2, rad/s^2, m, rad', 'Largest velocity and '
                         'acceleration of the link, and largest distance between arm and '
                         'reference.')
    acceleration: list = joints('rad/s^2', 'Largest acceleration of the joints.')


@block
class Memory:
    bending: float = scalar('s', 'Time for which the joints are bent out of a singularity.')
    bent: float = scalar('', 'Flag: this was tried.')
    begin: float = scalar('s', 'Distance at the start of the interval.')
    planned: float = scalar('s', 'Planned progress since then.')
    since: float = scalar('s', 'Time since then.')
    linear: float = scalar('m', 'Remaining distance.')
    angular: float = scalar('rad', 'Remaining angle.')
    outcome: float = scalar('', 'Outcome: 0 on the way, 1 reached, 2 out of reach.')


def aimed(far):
    """Return the memory at the start of a motion."""
    return Memory(0.0, 0.0, far, 0.0, 0.0, 0.0, 0.0, ON_THE_WAY)


def update(body, reference, measured, p, m, reach, scaling, dt):
    """
    Return position, velocity, acceleration and effort of the reference, and the memory.

    scaling: part of the velocity, 0 in a pause.
    """
    robot = body.robot
    steps = maximum(-floor(-(dt / _STEP - 1e-9)), 1.0)
    h = dt / steps
    smoothing = 1.0 - exponential(-h / _SMOOTHING)
    fade = exponential(-dt / _FADING)

    def step(state):
        (q, qd, qdd), m = state
        pace = [*p.pace, flag(m.bending), h, smoothing, scaling]
        result = body.part(
            'reach', q, qd, qdd, measured, p.target, reach,
            [robot.reach_lower, robot.reach_upper, robot.speeds, p.acceleration], pace)
        n = body.nv
        q2, qd2, qdd2 = (result[k * n:(k + 1) * n] for k in range(3))
        numbers_ = result[3 * n:]
        ended = flag(m.outcome)
        return when(ended, ((q, qd, qdd), m), ((q2, qd2, qdd2), judged(m, h, qd2, *numbers_)))

    moves = dt > 0.0
    begin = ((reference.q, reference.qd, reference.qdd), m)
    (q, qd, qdd), after = iterate(when(moves, steps, 0.0), step, begin,
                                  limit=int(robot.longest_pause / _STEP) + 1)
    effort = when(moves, [fade * e for e in reference.effort], reference.effort)
    return [q, qd, qdd, effort], after


def judged(m, h, qd, linear, angular, distance, speed):
    """Return the memory after a step, with its outcome."""
    arrived = all_of([linear < _ARRIVED, angular < _ARRIVED,
                      no(any_above(magnitudes(qd), _STILL))])
    planned, since = m.planned + h * speed, m.since + h
    is_bending = flag(m.bending)
    bending = when(is_bending, m.bending - h, m.bending)
    begin = when(is_bending, distance, m.begin)
    planned, since = when(is_bending, 0.0, planned), when(is_bending, 0.0, since)
    checks = no(since < _WINDOW)
    stuck = all_of([checks, planned > 0.0, begin - distance < _PROGRESS * planned])
    out_of_reach = stuck & flag(m.bent)
    bends = stuck & no(flag(m.bent))
    outcome = when(arrived, REACHED, when(out_of_reach, OUT_OF_REACH, ON_THE_WAY))
    after = Memory(when(bends, _WINDOW, bending), when(bends, 1.0, m.bent),
                   when(checks, distance, begin), when(checks, 0.0, planned),
                   when(checks, 0.0, since), linear, angular, outcome)
    return when(arrived, Memory(m.bending, m.bent, m.begin, m.planned, m.since, linear, angular,
                                REACHED), after)
