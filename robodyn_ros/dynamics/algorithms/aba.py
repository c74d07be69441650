"""
Forward dynamics: the articulated-body algorithm, or factors of the mass matrix.

Source: Featherstone, Rigid Body Dynamics Algorithms, ch. 7.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.crba import add_to_diagonal, mass_matrix
from robodyn_ros.dynamics.algorithms.inertia import body_inertias, GRAVITY
from robodyn_ros.dynamics.algorithms.kinematics import joint_poses, joint_rates
from robodyn_ros.dynamics.algorithms.ltdl import solve
from robodyn_ros.dynamics.algorithms.motion import child_motion, velocities
from robodyn_ros.dynamics.algorithms.rnea import add_wrenches, bias, parent_wrench
from robodyn_ros.dynamics.jit.trace import reciprocal
from robodyn_ros.dynamics.vector import (
    add, apply, apply_transposed, congruence, cross, dot, IDENTITY, matadd, matmul, matsub, neg,
    outer, scale, skew, sub, symmetric, transpose, ZERO)


def forward_dynamics(tree, runtime, q, qd, tau, armature=None):
    """
    Return accelerations qdd = M^-1 (tau - bias).

    `armature` is added to the diagonal of M: rotor inertia, or the implicit part of an
    integrator. For small arms and coupled joints M is factorised; larger ones use the
    articulated-body algorithm, whose cost is linear in the number of joints.
    """
    armature = [0.0] * tree.nv if armature is None else armature
    if len(tree.parent) > 15 and not tree.coupled:
        return articulated_body(tree, runtime, q, qd, tau, armature)
    M = add_to_diagonal(mass_matrix(tree, runtime, q), armature)
    return solve(M, [t - b for t, b in zip(tau, bias(tree, runtime, q, qd))])


def articulated_body(tree, runtime, q, qd, tau, armature):
    """Return accelerations by articulated bodies (Featherstone, table 7.1), in O(n)."""
    poses = joint_poses(tree, q)
    rates, motion = joint_rates(tree, qd), velocities(tree, poses, qd)
    biases, articulated, forces = [], [], []
    for i, (m, h, J) in enumerate(body_inertias(tree, runtime)):
        w, v = motion[i]
        # velocity-product acceleration: v x S qd
        rate = scale(rates[i], tree.axis[i])
        biases.append((ZERO, cross(w, rate)) if tree.prismatic[i] else (
            cross(w, rate), cross(v, rate)))
        # bias force v x* I v of the single body
        moment, force = add(apply(J, w), cross(h, v)), sub(scale(m, v), cross(h, w))
        forces.append((cross(w, force), add(cross(w, moment), cross(v, force))))
        # n = A dw + H a,  f = H^T dw + K a
        articulated.append((J, skew(h), tuple(scale(m, row) for row in IDENTITY)))
    steps = [None] * len(forces)
    for i in reversed(tree.bodies):
        A, H, K = articulated[i]
        z, slide = tree.axis[i], tree.prismatic[i]
        # U = I^A S, D = S^T U, u = tau - S^T p^A
        Un, Uf = (apply(H, z), apply(K, z)) if slide else (apply(A, z), apply_transposed(H, z))
        inverse = reciprocal(dot(z, Uf if slide else Un) + armature[i])
        u = tau[i] - dot(z, forces[i][0 if slide else 1])
        steps[i] = (Un, Uf, inverse, u)
        if tree.parent[i] < 0:
            continue
        # I^a = I^A - U D^-1 U^T,  p^a = p^A + I^a c + U D^-1 u
        Wn, Wf = scale(inverse, Un), scale(inverse, Uf)
        A = symmetric(matsub(A, outer(Wn, Un)))
        H = matsub(H, outer(Wn, Uf))
        K = symmetric(matsub(K, outer(Wf, Uf)))
        cn, cf = biases[i]
        force = add(add(apply_transposed(H, cn), apply(K, cf)), scale(u, Wf))
        moment = add(add(apply(A, cn), apply(H, cf)), scale(u, Wn))
        p = tree.parent[i]
        forces[p] = add_wrenches(
            forces[p], parent_wrench(poses[i], *add_wrenches(forces[i], (force, moment))))
        articulated[p] = tuple(map(
            matadd, articulated[p], articulated_in_parent(poses[i], A, H, K)))
    qdd, motion = [], []
    for i in tree.bodies:
        # a' = X a_p + c,  qdd = D^-1 (u - U^T a')
        dw, a = motion[tree.parent[i]] if tree.parent[i] >= 0 else (ZERO, neg(runtime[GRAVITY]))
        dw, a = child_motion(poses[i], dw, a)
        dw, a = add(dw, biases[i][0]), add(a, biases[i][1])
        Un, Uf, inverse, u = steps[i]
        qdd.append(inverse * (u - dot(Un, dw) - dot(Uf, a)))
        step = scale(qdd[i], tree.axis[i])
        motion.append((dw, add(a, step)) if tree.prismatic[i] else (add(dw, step), a))
    return qdd


def articulated_in_parent(pose, A, H, K):
    """Return an articulated inertia about the parent's origin, in its axes."""
    R, r = pose
    P = skew(r)
    A, K = congruence(R, A), congruence(R, K)
    H = matmul(matmul(R, H), transpose(R))
    HP, PK = matmul(H, P), matmul(P, K)
    # A - H [r]x + [r]x H^T - [r]x K [r]x,  H + [r]x K
    A = matsub(matsub(A, matadd(HP, transpose(HP))), matmul(PK, P))
    return symmetric(A), matadd(H, PK), K
