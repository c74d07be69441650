"""
Cartesian impedance: a spring and a damper between the link and its reference pose.

Neither inertia is shaped nor are Coriolis forces cancelled: for a reference at rest, without
posture springs, V = 1/2 qd^T M qd + U(pose error) obeys

    dV/dt = -(J qd)^T D (J qd) - (N qd)^T D_n (N qd) + qd^T tau_ext,

so that the arm is passive with respect to its environment (Hogan 1985; Ott 2008, chapter 3).
"""

from __future__ import annotations

from robodyn_ros.control.laws.symmetric import eigen, spectral
from robodyn_ros.control.laws.task_space import multiply, rotation_spring, Task
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.trace import sqrt
from robodyn_ros.dynamics.jit.vectors import difference, product, sums

_SLOWEST = 0.1  # (rad/s)^2; bounds the damping of slower modes, which hardly move the link
TASK_GAINS = ('stiffness', 'damping', 'damping_ratio', 'selected', 'axes', 'posture_stiffness',
              'posture_damping', 'reach', 'mobility', 'singularity')


def cartesian_impedance(arm, x):
    """
    Return `M qdd_ref + C(q, qd) qd_ref + g + J^T (K e + D e') + N^T (K_n e_q + D_n N e_q')`.

    K e derives from the potential of `rotation_spring`; D gives every mode of the link on its
    spring the damping ratio, in any pose, see `damping`. The posture is the joint reference; its
    torque does not accelerate the link.
    """
    task, gains = Task(arm, x, x.task.selected), x.task
    away, (eta, eps) = task.error
    spring = [*product(gains.stiffness[:3], away),
              *rotation_spring(gains.stiffness[3:], eta, eps)]
    damper = sums([multiply(damping(task.A, gains), task.twist_error),
                   product(gains.damping, task.twist_error)])
    wrench = sums([spring, damper])
    dissipated = sum(product(damper, task.twist_error))
    posture = sums([
        product(gains.posture_stiffness, difference(x.q_ref, x.q)),
        product(gains.posture_damping, task.null_velocity(difference(x.qd_ref, x.qd)))])
    terms = {**arm.motion(x.q, x.qd, x.qdd_ref, x.qd_ref),
             Term.FEEDBACK: task.joint_torque(wrench),
             Term.NULL_SPACE: task.null_torque(posture)}
    return terms, [*task.deflection, *task.twist_error, *wrench, task.manipulability, dissipated]


def damping(A, gains):
    """
    Return D for damping ratios and stiffnesses, by modes of the link on its spring.

    With K^1/2 A K^1/2 = V diag(w_i^2) V^T, the natural frequencies of Lambda x'' + K x = 0,

        D = 2 K^1/2 V diag(1 / w_i)^1/2 V^T diag(zeta) V diag(1 / w_i)^1/2 V^T K^1/2:

    for equal zeta the double diagonalisation of Albu-Schaeffer, Ott, Frese, Hirzinger 2003. The
    velocity feedback is nowhere faster than 2 zeta w, unlike with a D designed for the heaviest
    direction.
    """
    root = [sqrt(k) for k in gains.stiffness]
    squares, V = eigen([[a * each * b for b, each in zip(root, row)]
                        for a, row in zip(root, A)])
    slow = spectral(squares, V, lambda square: 1.0 / sqrt(sqrt(square + _SLOWEST)))
    half = [[k * each for each in row] for k, row in zip(root, slow)]
    return [[2.0 * sum(a * z * b for a, z, b in zip(first, gains.damping_ratio, second))
             for second in half] for first in half]
