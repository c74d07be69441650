"""Feedforward of the inverse dynamics along the reference, with PD or PID feedback of torques."""

from __future__ import annotations

from robodyn_ros.control.laws.computed_torque import pd
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.vectors import product, sums

GAINS = ('pd_kp', 'pd_kd', 'inertia')


def feedforward_pd(arm, x):
    """
    Return the terms of `RNEA(q_ref, qd_ref, qdd_ref) + Kp e + Kd e' + Ki int e`.

    The feedforward depends on the reference only (Lynch and Park 11.4.1). `inertia` converts the
    integral, an acceleration, into a torque.
    """
    return {**arm.motion(x.q_ref, x.qd_ref, x.qdd_ref), Term.FEEDBACK: pd(x, x.pd_kp, x.pd_kd),
            Term.INTEGRAL: sums([product(x.inertia, x.integral), x.disturbance])}
