"""
Motion of the reference to a pose of a link: steps of resolved rates, and their end.

The link moves straight to its target within its velocity limits, decelerating to a stop there;
joints respect their limits of position, velocity and acceleration, and near a position limit other
joints take over. Near singularities the inverse is damped, only along the directions in which the
link can hardly be moved (Whitney 1969; Nakamura and Hanafusa 1986; Maciejewski and Klein 1988,
see `laws.task_space`).
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.control.laws.symmetric import eigen, spectral
from robodyn_ros.control.laws.task_space import multiply, pose_error, symmetric_product, transposed
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, scalar
from robodyn_ros.dynamics.jit.flags import all_of, any_above, flag, no, when
from robodyn_ros.dynamics.jit.flow import iterate
from robodyn_ros.dynamics.jit.trace import absolute, floor, maximum, minimum, select, sqrt
from robodyn_ros.dynamics.jit.vectors import difference, exponential, magnitudes, product

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
        return when(ended, ((q, qd, qdd), m), (
            (q2, qd2, qdd2), progress_checked(m, h, qd2, *numbers_)))

    moves = dt > 0.0
    begin = ((reference.q, reference.qd, reference.qdd), m)
    (q, qd, qdd), after = iterate(when(moves, steps, 0.0), step, begin,
                                  limit=int(robot.longest_pause / _STEP) + 1)
    effort = when(moves, [fade * e for e in reference.effort], reference.effort)
    return [q, qd, qdd, effort], after


def progress_checked(m, h, qd, linear, angular, distance, speed):
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


# --- one step ------------------------------------------------------------------------------------

_DAMPED = 0.1      # of the typical singular value, below which a direction is damped
_SETTLING = 0.125  # s, time constant of the approach
_VELOCITY_GAIN = 40.0   # 1/s, gain from velocity error to acceleration
_SPARE = 0.7       # planned part of the largest accelerations
_ZONE = 0.15       # rad or m before a limit over which other joints take over
_CLEARLY = 0.02    # of the velocity limit, above which a joint leaving its limit is not restricted
_HARDER = 20.0     # times the acceleration, per relative excess of the velocity
_ESCAPE_SPEED = 0.1       # of the velocity limits, motion out of a singularity
_TINY = 1e-12      # keeps quotients defined


class Joints(NamedTuple):
    """
    Limits of the joints, (nv,) each, all finite.

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
    Limits of the motion, and parameters of the step.

    Attributes
    ----------
    v, w, a, dw : scalar
        Largest velocities and accelerations of the link.
    linear_error, angular_error : scalar
        Linear and angular distance of arm and reference at which the reference waits.
    escapes : scalar
        Flag: the joints are bent out of a singularity.
    h : scalar
        Duration of the step in s.
    smoothing : scalar
        Factor of the low-pass filter of accelerations, in (0, 1].
    scaling : scalar
        Part of the speed, in [0, 1].

    """

    v: float
    w: float
    a: float
    dw: float
    linear_error: float
    angular_error: float
    escapes: float
    h: float
    smoothing: float
    scaling: float


def reach_step(tree, runtime, q, qd, qdd, measured, target, reach, joints, pace, frame):
    """
    Return the next q, qd, qdd of the reference, and its remaining distance.

    Parameters
    ----------
    tree, runtime, frame
        The robot, and the frame of the link.
    q, qd, qdd : (nv,)
        State of the reference.
    measured : (nv,)
        Measured position.
    target : (12,)
        Target: rotation matrix by rows, and position.
    reach : (6,)
        Scale of the Jacobian, as in `TaskGains`.
    joints : (4 nv,)
        Limits, see `Joints`.
    pace : (10,)
        Parameters, see `Pace`.

    Returns
    -------
    numbers : (3 nv + 4,)
        The reference; distance in m, as angle, and in seconds at full speed; planned part of the
        full speed.

    """
    n = tree.nv
    joints, pace = Joints(*(joints[i * n:(i + 1) * n] for i in range(4))), Pace(*pace)
    reference_pose, measured_pose = (algorithms.frame_pose_at(tree, each, frame)
                                     for each in (q, measured))
    desired = (tuple(map(tuple, (target[:3], target[3:6], target[6:9]))), tuple(target[9:]))
    error = _numbers(desired, reference_pose)
    deviation = _numbers(reference_pose, measured_pose)
    linear, angular, distance, speed = _speed(error, deviation, pace)
    J = algorithms.jacobian(tree, runtime, q, frame)
    rate_of_error = speed / maximum(distance, _TINY)
    inward = [select(low + high - 2.0 * x, v, -v) for x, low, high, v in zip(
        q, joints.lower, joints.upper, joints.velocity)]
    margin = [maximum(minimum(minimum(high - x, x - low) / _ZONE, 1.0), 0.0)
              for x, low, high in zip(q, joints.lower, joints.upper)]
    # joints moving into a limit are replaced by others
    unweighted = _unweighted_rates(J, reach, error)
    rates = _rates(J, reach, [
        share + (1.0 - share) * maximum(minimum(rate_of_error * r / (_CLEARLY * v), 1.0), 0.0)
        for share, r, v in zip(margin, unweighted, inward)])
    return_rates = [(1.0 - share) * v for share, v in zip(margin, inward)]
    null = difference(return_rates, rates(multiply(J, return_rates)))
    escape = pace.escapes * _ESCAPE_SPEED
    velocity = [rate_of_error * r + speed * (escape * v + (1.0 - pace.escapes) * z)
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
    deviation, (_, eps) = pose_error(reference, pose)
    return [*deviation, *(2.0 * each for each in eps)]


def _norm(vector):
    return sqrt(sum(each * each for each in vector))


def _share(twist, linear, angular):
    """Return the larger ratio of a twist, or an acceleration, to its limits."""
    return maximum(_norm(twist[:3]) / linear, _norm(twist[3:]) / angular)


def _speed(error, deviation, pace):
    """Return linear and angular distance, time at full speed, and planned part of the speed."""
    distance = _share(error, pace.v, pace.w)
    used = _share(deviation, pace.linear_error, pace.angular_error)
    factor = maximum(minimum(2.0 * (1.0 - used), 1.0), 0.0)
    deceleration = _SPARE * minimum(pace.a / pace.v, pace.dw / pace.w)
    speed = pace.scaling * factor * minimum(braking(distance, deceleration), 1.0)
    return _norm(error[:3]), _norm(error[3:]), distance, speed


def _unweighted_rates(J, reach, twist):
    """Return joint velocities for a twist, all directions damped."""
    scaled = [[r * each for each in row] for r, row in zip(reach, J)]
    damped = symmetric_product(scaled, scaled)
    for i, row in enumerate(damped):
        row[i] = row[i] + _DAMPED ** 2
    return multiply(transposed(scaled), algorithms.solve(damped, product(reach, twist)))


def _rates(J, reach, weight):
    """Return the function from twists to joint velocities, damped near singularities."""
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
    """Return the accelerations towards desired velocities, within the limits."""
    change = [_VELOCITY_GAIN * (desired - v) for desired, v in zip(velocity, qd)]
    # a link that is too fast after a singularity may be decelerated more
    excess = maximum(_share(multiply(J, qd), pace.v, pace.w) - 1.0, 0.0)
    share = _share(multiply(J, change), pace.a, pace.dw)
    part = minimum((1.0 + _HARDER * excess) / maximum(share, _TINY), 1.0)
    limited = []
    for c, x, v, low, high, most in zip(
            change, q, qd, joints.lower, joints.upper, joints.acceleration):
        # position limits of the joints have priority
        c = minimum(part * c, _VELOCITY_GAIN * (braking(high - x, _SPARE * most) - v))
        c = maximum(c, -_VELOCITY_GAIN * (braking(x - low, _SPARE * most) + v))
        limited.append(maximum(minimum(c, most), -most))
    return limited


def braking(margin, deceleration):
    """
    Return the speed for a smooth stop within a distance.

    v dv/dx stays below the deceleration; close to the end v is the distance over _SETTLING.
    """
    slow = deceleration * _SETTLING
    speed = slow * (sqrt(1.0 + 2.0 * absolute(margin) / (slow * _SETTLING)) - 1.0)
    return select(margin, speed, -speed)
