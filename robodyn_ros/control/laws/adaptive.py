"""
Adaptive control with an estimated payload (Slotine and Li 1987).

In the notation of their book (Applied Nonlinear Control, 9.2), with e = q_ref - q:

    qd_r = qd_ref + L e,    s = qd - qd_r,
    tau = M qdd_r + C(q, qd) qd_r + g - K_D s,

where M, C and g include the estimated payload. `control.adaptive` updates the estimate along
-Y^T s, so that V = 1/2 s^T M s + 1/2 |error of the estimate|^2 decreases with dV/dt = -s^T K_D s;
this requires the C of the Christoffel symbols.
"""

from __future__ import annotations

from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.vectors import difference, product, sums

GAINS = ('sliding_damping', 'sliding')


def adaptive(arm, x):
    """
    Return the terms of `M qdd_r + C(q, qd) qd_r + g - K_D s`.

    The terms without an error are those of the reference; the rest is feedback. With
    K_D = (kd - L) times the joint's own inertia the error has poles at -L and L - kd, and is
    damped as in feedforward_pd.
    """
    velocity, acceleration, sliding = corrections(x)
    return {**arm.motion(x.q, x.qd, x.qdd_ref, x.qd_ref),
            Term.FEEDBACK: sums([
                arm.inertial(x.q, acceleration), arm.coriolis(x.q, x.qd, velocity),
                product(x.sliding_damping, sliding)])}


def corrections(x):
    """Return qd_r - qd_ref, qdd_r - qdd_ref, and -s."""
    velocity = product(x.sliding, difference(x.q_ref, x.q))
    rate = difference(x.qd_ref, x.qd)
    return velocity, product(x.sliding, rate), sums([rate, velocity])
