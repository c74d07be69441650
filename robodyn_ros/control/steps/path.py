"""
Trajectories: the reference on a path of quintic segments, and the tolerances about it.

Segments are rows of a table: the time at which they begin, then six coefficients of rising powers
for position, velocity, acceleration and effort of each joint.
"""

from __future__ import annotations

import math

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import any_of, equal, finite, no, when
from robodyn_ros.dynamics.jit.flow import lookup, search_sorted
from robodyn_ros.dynamics.jit.trace import maximum, minimum
from robodyn_ros.dynamics.jit.vectors import difference, element, first_where, magnitudes, zeros

POWERS = 6
KINDS = 4  # position, velocity, acceleration, effort


def columns(nv: int) -> int:
    """Return the length of a row of the table of segments."""
    return 1 + KINDS * POWERS * nv


@block
class Path:
    number: float = scalar('', 'Number of the trajectory; 0: none.')
    moment: float = scalar('s', 'Time of the law at which it begins.')
    after: float = scalar('', 'Number of the trajectory that it continues; 0: none.')
    joint_time: float = scalar('s', 'Time along that one at which it begins, if that is followed '
                               'then.')
    row: float = scalar('', 'First of its segments in the table.')
    rows: float = scalar('', 'Number of its segments.')
    first: float = scalar('s', 'Time of its first point after its start.')
    last: float = scalar('s', 'Time of its last point after its start.')
    first_q: list = joints('rad', 'Position until the first point.')
    first_effort: list = joints('N m', 'Added effort until the first point.')
    last_q: list = joints('rad', 'Position from the last point on.')
    last_effort: list = joints('N m', 'Added effort from the last point on.')
    path_q: list = joints('rad', 'Position tolerance while moving; infinite: none.')
    path_qd: list = joints('rad/s', 'Velocity tolerance while moving; infinite: none.')
    goal_q: list = joints('rad', 'Position tolerance at the goal; infinite: none.')
    goal_qd: list = joints('rad/s', 'Velocity tolerance at the goal; infinite: none.')
    goal_time: float = scalar('s', 'Time after the last point in which the goal must be met.')


@block
class Memory:
    number: float = scalar('', 'Present or last trajectory; 0: none.')
    elapsed: float = scalar('s', 'Time of the reference along it, since its start.')
    last_time: float = scalar('s', 'Time of the law at the last cycle.')


NOT_ENDED, REACHED, PATH_VIOLATED, GOAL_VIOLATED = 0.0, 1.0, 2.0, 3.0


@block
class Outcome:
    """Outcome of a trajectory, and its evidence."""

    kind: float = scalar('', 'Outcome: 0 not ended, 1 reached, 2 path, 3 goal tolerance violated.')
    velocity: float = scalar('', 'Flag: a velocity tolerance is violated, not one of position.')
    joint: float = scalar('', 'Joint beyond its tolerance.')
    error: float = scalar('rad', 'Its deviation from the reference.')
    tolerance: float = scalar('rad', 'Its tolerance.')
    time: float = scalar('s', 'Time since the start, or since the last point after it.')


def started(path, before=-math.inf):
    """
    Return the memory of a trajectory that begins.

    before: time of the last cycle on another one, which a pause may have delayed.
    """
    return Memory(path.number, 0.0, when(finite(path.moment), maximum(path.moment, before),
                                         path.moment))


def passed(m, now, longest_step):
    """Return the time since the last cycle; the reference neither jumps nor moves back."""
    ahead = now - m.last_time
    return when(finite(ahead), minimum(maximum(ahead, 0.0), longest_step), 0.0)


def update(m, now, step):
    """Return the memory at a time, a step of path time after the last cycle."""
    return Memory(m.number, m.elapsed + step, when(finite(now - m.last_time), now, m.last_time))


def continued(m, upcoming, step):
    """Return whether a trajectory continues the present one within a step of path time."""
    return equal(upcoming.after, m.number) & (m.elapsed + step >= upcoming.joint_time)


def joined(m, upcoming):
    """Return the memory on a trajectory that continues the present one."""
    return Memory(upcoming.number, m.elapsed - upcoming.joint_time, m.last_time)


def sample(table, path, t):
    """Return position, velocity, acceleration and effort at `t` seconds since the start."""
    nv = len(path.first_q)
    row = search_sorted(table, t, count=path.rows, first=path.row)
    begin, *values = lookup(table, row, range(columns(nv)))
    s = t - begin
    result = []
    for k in range(KINDS):
        result.append([])
        for j in range(nv):
            value = 0.0
            for power in reversed(range(POWERS)):
                value = value * s + values[(power * KINDS + k) * nv + j]
            result[k].append(value)
    after, before = t >= path.last, no(t >= path.first)
    zero = zeros(path.first_q)
    ends = [path.last_q, zero, zero, path.last_effort]
    begins = [path.first_q, zero, zero, path.first_effort]
    return when(after, ends, when(before, begins, result))


def check_tolerances(m, path, reference, q, qd):
    """Return the outcome of the trajectory for a measured state."""
    late = m.elapsed - path.last
    moving = late < 0.0
    errors = [*magnitudes(difference(reference.q, q)), *magnitudes(difference(reference.qd, qd))]
    tolerances = when(moving, [*path.path_q, *path.path_qd], [*path.goal_q, *path.goal_qd])
    beyond = [no(bound >= error) for error, bound in zip(errors, tolerances)]
    violated, which = any_of(beyond), first_where(beyond)
    kind = when(moving, when(violated, PATH_VIOLATED, NOT_ENDED),
                when(no(violated), REACHED, when(late > path.goal_time, GOAL_VIOLATED, NOT_ENDED)))
    nv = float(len(q))
    of_velocity = which >= nv
    return Outcome(kind, of_velocity, when(of_velocity, which - nv, which),
                   element(errors, which), element(tolerances, which),
                   when(moving, m.elapsed, late))
