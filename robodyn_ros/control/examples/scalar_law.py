"""Computed torque that stiffens with the error, as a compiled own law."""

from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.trace import absolute


def stiffening(arm, x):
    """M (qdd_ref + kd e' + kp (1 + |e|) e) + C qd + g, without friction."""
    desired = []
    for q, qd, q_ref, qd_ref, kp, kd in zip(x.q, x.qd, x.q_ref, x.qd_ref, x.kp, x.kd):
        error = q_ref - q
        desired.append(kp * (1.0 + absolute(error)) * error + kd * (qd_ref - qd))
    return {**arm.motion(x.q, x.qd, x.qdd_ref), Term.FEEDBACK: arm.inertial(x.q, desired),
            Term.EXTERNAL: x.external, Term.EFFORT: x.effort}
