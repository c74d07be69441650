"""Computed torque: linearisation by inverse dynamics, with PD or PID feedback of accelerations."""

from __future__ import annotations

from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.vectors import product, sums

GAINS = ('kp', 'kd', 'feedback_inertia')


def computed_torque(arm, x):
    """
    Return the terms of `M qdd_ref + (M + E) (Kp e + Kd e' + Ki int e) + C qd + g`.

    With a perfect model the error obeys e'' + Kd e' + Kp e = 0 (Craig 10.20; Lynch and Park
    11.37).

    In the feedback E, the inertia of rotors that the model may lack, is added to M, see
    `steps.light_joints`.
    """
    def moved(acceleration):
        return sums([arm.inertial(x.q, acceleration), product(x.feedback_inertia, acceleration)])

    return {**arm.motion(x.q, x.qd, x.qdd_ref),
            Term.FEEDBACK: moved(pd(x, x.kp, x.kd)),
            Term.INTEGRAL: sums([moved(x.integral), x.disturbance])}


def pd(x, kp, kd):
    """Return Kp e + Kd e' with e = q_ref - q."""
    return [p * (r - q) + d * (rd - qd)
            for p, d, r, q, rd, qd in zip(kp, kd, x.q_ref, x.q, x.qd_ref, x.qd)]
