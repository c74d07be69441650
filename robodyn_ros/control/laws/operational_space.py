"""Operational-space control: the link behaves as a unit mass on a spring and a damper."""

from __future__ import annotations

from robodyn_ros.control.laws.computed_torque import pd
from robodyn_ros.control.laws.task_space import rotation_spring, Task
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.vectors import product, sums

TASK_GAINS = ('kp', 'kd', 'controlled', 'axes', 'posture_kp', 'posture_kd', 'reach', 'mobility',
              'singularity')


def operational_space(arm, x):
    """
    Return the terms of `J^T F + C qd + g + N^T tau_n` (Khatib 1987).

    F = Lambda (xdd_ref + K_p e + K_d e' - dJ/dt qd) controls the link, and
    tau_n = M (qdd_ref + K_n e_q + D_n e_q') the posture, which is the joint reference.

    With a perfect model, away from singularities, the error of the link obeys
    e'' + K_d e' + K_p e = 0, independent of the posture. The row INERTIA is the torque of the
    reference acceleration.
    """
    task, gains = Task(arm, x, x.task.controlled), x.task
    away, (eta, eps) = task.error
    spring = [*product(gains.kp[:3], away), *rotation_spring(gains.kp[3:], eta, eps)]
    force = task.force(sums([spring, product(gains.kd, task.twist_error)]))
    posture = task.inertial(pd(x, gains.posture_kp, gains.posture_kd))
    along = sums([task.joint_torque(task.force(task.acceleration)),
                  task.null_torque(task.inertial(x.qdd_ref))])
    terms = {**arm.motion(x.q, x.qd, [0.0] * arm.nv), Term.INERTIA: along,
             Term.FEEDBACK: task.joint_torque(force),
             Term.NULL_SPACE: task.null_torque(posture)}
    return terms, [*task.deflection, *task.twist_error, *force, task.manipulability, 0.0]
