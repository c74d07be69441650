"""
A step of a reference arm whose link heads for a pose: resolved rates, over scalars.

The link goes straight for its target, no faster than it may and so that it can still come to rest
there; joints keep their limits of position, velocity and acceleration, and leave the way to others
in front of a limit. Near singularities the inverse is damped, along those directions only in which
the link can hardly be moved (Whitney 1969; Nakamura and Hanafusa 1986; Maciejewski and Klein 1988,
see `laws.task_space`).
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.control.laws.pose_error import pose_error
from robodyn_ros.control.laws.symmetric import eigen, spectral
from robodyn_ros.control.laws.task_space import multiply, symmetric_product, transposed
from robodyn_ros.control.terms import difference, product
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, select, sqrt

_DAMPED = 0.1      # of the usual singular value: below, a direction is damped
_SETTLING = 0.125  # s: time constant with which the reference arrives
_FIRMNESS = 40.0   # 1/s, of velocities
_SPARE = 0.7       # part of the accelerations that is planned with
_ZONE = 0.15       # rad or m in front of a limit in which other joints take over
_CLEARLY = 0.02    # of the velocity limit: a joint that goes back from its limit is free
_HARDER = 20.0     # times the acceleration, for each multiple of the velocity in excess
_NUDGE = 0.1       # of the velocity limits, to get out of a singularity
_TINY = 1e-12      # keeps quotients defined


class Joints(NamedTuple):
    """
    What bounds the joints, (nv,) each, no number infinite.

    Attributes
    ----------
    lower, upper, velocity, acceleration
        Limits.

    """

    lower: list
    upper: list
    velocity: list
    acceleration: list


class Pace(NamedTuple):
    """
    How to go; a pair is linear and angular.

    Attributes
    ----------
    v, w, a, dw : scalar
        Largest velocities and accelerations of the link.
    leash, turn : scalar
        Distance of the arm from its reference at which that waits.
    nudge : scalar
        1 bends the joints, 0 does not.
    h : scalar
        Seconds.
    smoothing : scalar
        Part of the way to another acceleration that is made in this time.

    """

    v: float
    w: float
    a: float
    dw: float
    leash: float
    turn: float
    nudge: float
    h: float
    smoothing: float


def reach_step(tree, runtime, q, qd, qdd, measured, target, reach, joints, pace, frame):
    """
    Return the next q, qd, qdd of a reference, then what is left of its way.

    Parameters
    ----------
    tree, runtime, frame
        The robot, and the frame of the link.
    q, qd, qdd : (nv,)
        Of the reference.
    measured : (nv,)
        Where the arm is.
    target : (12,)
        Rotation matrix by rows, and position.
    reach : (6,)
        Scales the Jacobian, as in `TaskGains`.
    joints : (4 nv,)
        See `Joints`.
    pace : (9,)
        See `Pace`.

    Returns
    -------
    numbers : (3 nv + 4,)
        The reference; distance in m, as angle, and in seconds at full speed; part of the full
        speed that was asked for.

    """
    n = tree.nv
    joints, pace = Joints(*(joints[i * n:(i + 1) * n] for i in range(4))), Pace(*pace)
    here, there = (algorithms.frame_pose_at(tree, each, frame) for each in (q, measured))
    wanted = (tuple(map(tuple, (target[:3], target[3:6], target[6:9]))), tuple(target[9:]))
    error, away = _numbers(wanted, here), _numbers(here, there)
    linear, angular, distance, speed = _speed(error, away, pace)
    J = algorithms.jacobian(tree, runtime, q, frame)
    pull = speed / maximum(distance, _TINY)
    inward = [select(low + high - 2.0 * x, v, -v) for x, low, high, v in zip(
        q, joints.lower, joints.upper, joints.velocity)]
    room = [maximum(minimum(minimum(high - x, x - low) / _ZONE, 1.0), 0.0)
            for x, low, high in zip(q, joints.lower, joints.upper)]
    # who would go into a limit leaves the way to others
    free = _unweighted_rates(J, reach, error)
    rates = _rates(J, reach, [
        share + (1.0 - share) * maximum(minimum(pull * r / (_CLEARLY * v), 1.0), 0.0)
        for share, r, v in zip(room, free, inward)])
    back = [(1.0 - share) * v for share, v in zip(room, inward)]
    null = difference(back, rates(multiply(J, back)))
    velocity = [pull * r + speed * (pace.nudge * _NUDGE * v + (1.0 - pace.nudge) * z)
                for r, v, z in zip(rates(error), inward, null)]
    part = 1.0 / maximum(_share(multiply(J, velocity), pace.v, pace.w), 1.0)
    for each, most in zip(velocity, joints.velocity):
        part = minimum(part, most / maximum(absolute(each), _TINY))
    change = _accelerations([part * each for each in velocity], q, qd, J, joints, pace)
    qdd = [now + pace.smoothing * (then - now) for now, then in zip(qdd, change)]
    qd = [v + pace.h * a for v, a in zip(qd, qdd)]
    q = [x + pace.h * v for x, v in zip(q, qd)]
    return [q, qd, qdd, linear, angular, distance, part * speed]


def _numbers(reference, pose):
    """Return the difference of two poses; angles as twice the vector part of the quaternion."""
    away, (_, eps) = pose_error(reference, pose)
    return [*away, *(2.0 * each for each in eps)]


def _norm(vector):
    return sqrt(sum(each * each for each in vector))


def _share(twist, linear, angular):
    """Return the part of its limits that a twist, or an acceleration, uses."""
    return maximum(_norm(twist[:3]) / linear, _norm(twist[3:]) / angular)


def _speed(error, away, pace):
    """Return three measures of the distance, and the part of the speed to go at."""
    distance = _share(error, pace.v, pace.w)
    wait = maximum(minimum(2.0 * (1.0 - _share(away, pace.leash, pace.turn)), 1.0), 0.0)
    deceleration = _SPARE * minimum(pace.a / pace.v, pace.dw / pace.w)
    speed = wait * minimum(braking(distance, deceleration), 1.0)
    return _norm(error[:3]), _norm(error[3:]), distance, speed


def _unweighted_rates(J, reach, twist):
    """Return joint velocities for a twist, all directions damped."""
    scaled = [[r * each for each in row] for r, row in zip(reach, J)]
    damped = symmetric_product(scaled, scaled)
    for i, row in enumerate(damped):
        row[i] = row[i] + _DAMPED ** 2
    return multiply(transposed(scaled), algorithms.solve(damped, product(reach, twist)))


def _rates(J, reach, weight):
    """Return what turns a twist into joint velocities, damped near singularities."""
    scaled = [[r * each for each in row] for r, row in zip(reach, J)]
    weighted = [product(weight, row) for row in scaled]
    squares, U = eigen(symmetric_product(scaled, weighted))
    inverse = spectral(squares, U, _damped_inverse)
    return lambda twist: multiply(transposed(weighted), multiply(inverse, product(reach, twist)))


def _damped_inverse(square):
    """Return 1 / (s^2 + lambda^2) for the square of a singular value s."""
    square = maximum(square, 0.0)
    missing = maximum(1.0 - square / _DAMPED ** 2, 0.0)
    return 1.0 / (square + _DAMPED ** 2 * missing * missing)


def _accelerations(velocity, q, qd, J, joints, pace):
    """Return the accelerations that go over to other velocities, within the limits."""
    change = [_FIRMNESS * (wanted - v) for wanted, v in zip(velocity, qd)]
    # a link that is too fast, out of a singularity, may be braked harder
    excess = maximum(_share(multiply(J, qd), pace.v, pace.w) - 1.0, 0.0)
    share = _share(multiply(J, change), pace.a, pace.dw)
    part = minimum((1.0 + _HARDER * excess) / maximum(share, _TINY), 1.0)
    limited = []
    for c, x, v, low, high, most in zip(
            change, q, qd, joints.lower, joints.upper, joints.acceleration):
        # what a joint has to do because of its limits comes first
        c = minimum(part * c, _FIRMNESS * (braking(high - x, _SPARE * most) - v))
        c = maximum(c, -_FIRMNESS * (braking(x - low, _SPARE * most) + v))
        limited.append(maximum(minimum(c, most), -most))
    return limited


def braking(room, deceleration):
    """
    Return the speed from which one comes to rest within a room, with a smooth end.

    v dv/dx stays below the deceleration, and v is the room over _SETTLING at last.
    """
    slow = deceleration * _SETTLING
    speed = slow * (sqrt(1.0 + 2.0 * absolute(room) / (slow * _SETTLING)) - 1.0)
    return select(room, speed, -speed)
