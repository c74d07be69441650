"""
Gains that light joints bear: laws whose feedback does not scale with the mass matrix.

A damping D in N m s/rad on an arm of inertia M makes velocities decay at the eigenvalues of
M^-1 D. A wrist, or a joint in line with others in a stretched arm, may have so little inertia that
one of them is thousands per second, where D is made for the usual inertia. With torques that are
T apart they have to stay below 2 / T, and the stiffness below 2 D / T, see `feedback_share`; here
the same part of both is permitted. With B = D^1/2 M^-1 D^1/2 and factors f_j on the damping of
each joint the matrix f D M^-1 is similar to f B, and by Gershgorin's circles

    f_j sum_k |B_jk| <= 0.8 / T    for all j

bounds all eigenvalues, in the present pose and at the present distance of the torques. Heavy
joints keep what they have.
"""

from __future__ import annotations

from dataclasses import replace

from robodyn_ros.control.blocks import block, joints, scalar
from robodyn_ros.control.steps import laws
from robodyn_ros.control.steps.feedback_share import DAMPED
from robodyn_ros.control.steps.vectors import positive, product, zeros
from robodyn_ros.dynamics.jit.flags import above, both, equal, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, sqrt

# laws, and where their damping is; joint impedances have a damping ratio, too
_DAMPING = {'gravity_compensation': 'damping', 'feedforward_pd': 'pd_kd',
            'joint_impedance': 'joint_damping', 'adaptive': 'sliding_damping'}


@block
class Memory:
    law: float = scalar('', 'Row of the law that it is about.')
    borne: list = joints('', 'Part of its damping that a joint bears now.')
    cut: list = joints('', 'Largest part of its damping that a joint has not borne under it.')


def parts(M, inverse, stiffness, damping, ratio, fastest):
    """
    Return the parts of stiffness and damping that each joint bears, in (0, 1].

    Parameters
    ----------
    M, inverse : list
        Mass matrix and its inverse, in rows.
    stiffness, damping, ratio : list of scalar
        Of each joint; the damping ratio is one of the joint alone, on top.
    fastest : scalar
        Decay that the distance of the torques permits (1/s).

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


def borne(body, m, row, q, gains, task, gap):
    """
    Return the gains that the joints bear, those of the posture, and the memory.

    Parameters
    ----------
    body : Body
        The robot.
    m : Memory
        Of this step.
    row : scalar
        Of the law, in the table of laws.
    q : list of scalar
        Where the arm is.
    gains, task : Program, Task
        As they would be.
    gap : scalar
        Distance of the torques (s); 0: not known yet.

    """
    nothing, one, n = zeros(q), [1.0 for _ in q], len(q)
    impedance = equal(row, laws.ROWS['joint_impedance'])
    stiffness, ratio = when(impedance, [gains.stiffness, gains.impedance_ratio],
                            [nothing, nothing])
    damping = when(equal(row, laws.ROWS['cartesian_impedance']), task.posture_damping, nothing)
    for law, name in _DAMPING.items():
        damping = when(equal(row, laws.ROWS[law]), getattr(gains, name), damping)
    concerned = laws.one_of(row, (*_DAMPING, 'cartesian_impedance'))

    def judged():
        result = body.part('borne', q, gains.armature, stiffness, damping, ratio,
                           [DAMPED / positive(gap)])
        return result[:n], result[n:]

    springs, dampers = choose(both(concerned, above(gap, 0.0)), [lambda: (one, one), judged])
    gains = replace(
        gains, stiffness=product(springs, gains.stiffness),
        impedance_ratio=[z * f / sqrt(g) for z, f, g in zip(
            gains.impedance_ratio, dampers, springs)],
        **{name: product(dampers, getattr(gains, name))
           for name in ('pd_kp', *_DAMPING.values())})
    task = replace(task, posture_stiffness=product(dampers, task.posture_stiffness),
                   posture_damping=product(dampers, task.posture_damping))
    cut = when(equal(row, m.law), m.cut, nothing)
    return gains, task, Memory(row, dampers, [maximum(c, 1.0 - f) for c, f in zip(cut, dampers)])
