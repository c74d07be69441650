"""
Joint impedance: a spring and a damper between each joint and its reference.

Without inertia shaping the arm keeps its own inertia, and the law is passive from an external
torque to the velocity of the error: with V = 1/2 e'^T M e' + 1/2 e^T K e,

    dV/dt = -e'^T D e' - e'^T tau_ext,    e = q_ref - q.

With inertia shaping, a joint responds to an external torque with the requested apparent inertia,
within the bandwidth of the momentum observer.
"""

from __future__ import annotations

from robodyn_ros.control.laws.computed_torque import pd
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.trace import sqrt
from robodyn_ros.dynamics.jit.vectors import difference, sums

GAINS = ('stiffness', 'joint_damping', 'impedance_ratio')
SHAPED_GAINS = (*GAINS, 'apparent_inertia')


def joint_impedance(arm, x):
    """
    Return the terms of `M qdd_ref + C(q, qd) qd_ref + g + K e + D e'` (Paden and Panja 1988).

    D is `joint_damping + 2 zeta sqrt(K_i M_ii(q))`: the damping ratio of each joint alone, in any
    pose (Albu-Schaeffer, Ott, Hirzinger 2007, about the choice of D).
    """
    M = arm.mass_matrix(x.q)
    return {**arm.motion(x.q, x.qd, x.qdd_ref, x.qd_ref),
            Term.FEEDBACK: pd(x, x.stiffness, damping(x, [M[i][i] for i in range(arm.nv)]))}


def shaped_impedance(arm, x):
    """
    Return the terms of `M (qdd_ref + (K e + D e' + tau_ext) / m_d) + C qd + g - tau_ext`.

    The closed loop is m_d e'' + D e' + K e = -tau_ext, joint by joint (Hogan 1985). `contact` is
    the external torque of the momentum observer; the response to it is the row INTEGRAL, as with
    a disturbance observer, and saturates together with the spring.
    """
    def moved(torque):
        return arm.inertial(x.q, [t / m for t, m in zip(torque, x.apparent_inertia)])

    spring = pd(x, x.stiffness, damping(x, x.apparent_inertia))
    # scaled like the damping that stabilises it, see `contact.feedback`
    contact = [x.feedback_scale[0] * torque for torque in x.contact]
    return {**arm.motion(x.q, x.qd, x.qdd_ref), Term.FEEDBACK: moved(spring),
            Term.INTEGRAL: difference(moved(contact), contact),
            # known wrenches are included in the observed torque
            Term.EXTERNAL: [0.0] * arm.nv}


def damping(x, inertia):
    """Return D from damping and damping ratio; x: gains, or a namespace with them."""
    return sums([x.joint_damping, [2.0 * z * sqrt(k * m) for z, k, m in zip(
        x.impedance_ratio, x.stiffness, inertia)]])
