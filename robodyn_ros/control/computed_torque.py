"""Computed torque: the model makes every joint a unit mass, feedback shapes it."""

from __future__ import annotations


def feedback_acceleration(q, qd, q_ref, qd_ref, kp, kd, authority):
    """
    Return Kp (q_ref - q) + Kd (qd_ref - qd), faded by `authority` in [0, 1].

    With a perfect model the error obeys e'' + Kd e' + Kp e = 0 (Craig 10.20).
    """
    return [authority * (p * (r - x) + d * (rd - xd))
            for p, d, r, x, rd, xd in zip(kp, kd, q_ref, q, qd_ref, qd)]
