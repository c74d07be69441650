"""
Reduction of gains at light joints, for laws whose feedback is not scaled by the mass matrix.

A damping D in N m s/rad on an arm of inertia M makes velocities decay at the eigenvalues of
M^-1 D. A wrist, or a joint in line with others in a stretched arm, may have so little inertia that
one of them is thousands per second, where D is designed for the typical inertia. With torques T
apart they must stay below 2 / T, and the stiffness below 2 D / T, see `feedback`; a part of
both is permitted here. With B = D^1/2 M^-1 D^1/2 and factors f_j on the damping of each joint the
matrix f D M^-1 is similar to f B, and by Gershgorin's circles

    f_j sum_k |B_jk| <= 0.8 / T    for all j

bounds all eigenvalues, in the present pose and at the present interval of the torques; a delay
counts 1.6 times. Gains of heavy joints are not reduced.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.steps import laws
from robodyn_ros.control.steps.feedback import DAMPED, found_delay, UNDAMPED
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import any_above, equal, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, sqrt
from robodyn_ros.dynamics.jit.vectors import positive, product, zeros

# laws, and the gain that is their damping; joint impedances have a damping ratio, too
_DAMPING = {'gravity_compensation': 'damping', 'feedforward_pd': 'pd_kd',
            'joint_impedance': 'joint_damping', 'adaptive': 'sliding_damping'}


_DELAYED = 0.5      # bound of E, instead of 0.8: for one further interval of delay
_NEGLIGIBLE = 1e-9


@block
class Memory:
    law: float = scalar('', 'Row of the law in the table of laws.')
    scale: list = joints('', 'Present part of the damping of a joint.')
    reduction: list = joints('', 'Largest reduction of the damping of a joint under this law.')


def admissible_parts(M, inverse, stiffness, damping, ratio, fastest):
    """
    Return the admissible parts of stiffness and damping of each joint, in (0, 1].

    Parameters
    ----------
    M, inverse : list
        Mass matrix and its inverse, in rows.
    stiffness, damping, ratio : list of scalar
        Gains of each joint; the damping ratio is that of the joint alone, in addition to the
        damping.
    fastest : scalar
        Largest decay rate at the interval of the torques (1/s).

    """
    total = [d + 2.0 * z * sqrt(k * M[j][j])
             for j, (d, z, k) in enumerate(zip(damping, ratio, stiffness))]
    root = [sqrt(d) for d in total]
    decays = [r * sum(absolute(each) * other for each, other in zip(row, root))
              for r, row in zip(root, inverse)]
    dampers = [fastest / maximum(decay, fastest) for decay in decays]
    limits = [2.0 * fastest * f * d for f, d in zip(dampers, total)]
    springs = [minimum(maximum(f * f, most / positive(k)), 1.0)
               for f, most, k in zip(dampers, limits, stiffness)]
    return springs, dampers


def reduced(body, m, row, q, gains, task, gap, lag, feedback):
    """
    Return the reduced gains, with those of the posture, and the memory.

    Parameters
    ----------
    body : Body
        The robot.
    m : Memory
        Memory of this step.
    row : scalar
        Row of the law in the table of laws.
    q : list of scalar
        Position.
    gains, task : Program, Task
        Gains before reduction.
    gap : scalar
        Interval of the torques (s); 0: not known yet.
    lag : scalar
        Lateness of the states (s).
    feedback : Program
        Delay from torque to velocity that no stamp shows, see `feedback`: computed torque
        bears an assumed one, the other laws what was measured, since a spring is to be as
        stiff as it was requested.

    """
    zero, ones, n = zeros(q), [1.0 for _ in q], len(q)
    impedance = equal(row, laws.ROWS['joint_impedance'])
    stiffness, ratio = when(impedance, [gains.stiffness, gains.impedance_ratio],
                            [zero, zero])
    damping = when(equal(row, laws.ROWS['cartesian_impedance']), task.posture_damping, zero)
    for law, name in _DAMPING.items():
        damping = when(equal(row, laws.ROWS[law]), getattr(gains, name), damping)
    computed_torque = equal(row, laws.ROWS['computed_torque'])
    inertia = product(gains.feedback_inertia, gains.kd)
    damping = when(computed_torque, inertia, damping)
    adds = computed_torque & any_above(inertia, 0.0)
    reducible = laws.one_of(row, (*_DAMPING, 'cartesian_impedance')) | adds
    # with the gravity torque of the reference, an arm whose springs are soft falls
    unseen = when(equal(row, laws.ROWS['feedforward_pd']), 0.0, found_delay(feedback))
    late = when(computed_torque, lag + feedback.delay, DAMPED / _DELAYED * unseen)
    delayed = gap + late
    fastest = when(computed_torque, _room(gains, delayed), DAMPED) / positive(delayed)

    def computed():
        result = body.part('admissible_gains', body.inertia(q), stiffness, damping, ratio,
                           [fastest])
        return result[:n], result[n:]

    unknown = when(computed_torque, zero, ones)  # before the interval is known
    springs, dampers = choose(reducible & (gap > 0.0), [lambda: (ones, unknown), computed])
    gains = replace(
        gains, stiffness=product(springs, gains.stiffness),
        impedance_ratio=[z * f / sqrt(g) for z, f, g in zip(
            gains.impedance_ratio, dampers, springs)],
        **{name: product(dampers, getattr(gains, name))
           for name in ('pd_kp', *_DAMPING.values())})
    gains = replace(gains, feedback_inertia=product(
        when(computed_torque, dampers, zero), gains.feedback_inertia))
    task = replace(task, posture_stiffness=product(dampers, task.posture_stiffness),
                   posture_damping=product(dampers, task.posture_damping))
    reduction = when(equal(row, m.law), m.reduction, zero)
    reported = when(computed_torque, ones, dampers)
    return gains, task, Memory(row, dampers, [
        maximum(c, 1.0 - f) for c, f in zip(reduction, reported)])


def _room(gains, interval):
    """Return the part of `interval` times the eigenvalues of the damping that E may have."""
    room = _DELAYED
    for kp, kd in zip(gains.kp, gains.kd):
        used = kd * interval
        x = minimum(kp * interval / positive(kd), UNDAMPED * used)
        room = minimum(room, _DELAYED - used - x)
    return maximum(room, _NEGLIGIBLE)
