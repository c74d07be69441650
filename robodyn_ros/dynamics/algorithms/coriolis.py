"""
The Coriolis matrix of Christoffel symbols, in O(n d) for a tree of depth d.

With J_i(x) the velocity that joint i at unit rate gives to point x,

    M_ij = int J_i . J_j dm,    C_ij = int J_i . dJ_j/dt dm,

and this C is the one of the Christoffel symbols, because dJ_j/dq_k = dJ_k/dq_j for points. The
field dJ_j/dt has a part from the moving screw and one from the moving point: S_j' x + w_j x x'.

Sources: Echeandia and Wensing, Numerical methods to compute the Coriolis matrix and Christoffel
symbols for rigid-body systems, 2021 (the same recursion on spatial vectors); Craig, ch. 6.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.fields import (
    add_body_coriolis, add_motions, body_coriolis, joint_matrices, motion_cross, scale_motion,
    screws, subtree_sums, total_inertias, world_inertias, ZERO_MOTION)
from robodyn_ros.dynamics.algorithms.kinematics import joint_poses, world_poses
from robodyn_ros.dynamics.algorithms.rnea import bias
from robodyn_ros.dynamics.vector import ZERO


def coriolis_matrix(tree, runtime, q, qd):
    """Return C(q, qd), with velocity forces C qd and dM/dt = C + C^T."""
    world = world_poses(tree, joint_poses(tree, q))
    S = screws(tree, world)
    V = velocities(tree, S, qd)
    inertias = world_inertias(tree, runtime, world)
    totals = subtree_sums(tree, map(body_coriolis, inertias, V), add_body_coriolis)
    fields = [(motion_cross(v, s), s[0]) for s, v in zip(S, V)]
    return joint_matrices(
        tree, S, total_inertias(tree, inertias), totals, (fields, [ZERO_MOTION] * len(S)))[0]


def velocities(tree, S, qd):
    """Return the motion (w, v) of every body, about the origin of the base."""
    V = []
    for i in tree.bodies:
        parent = V[tree.parent[i]] if tree.parent[i] >= 0 else ZERO_MOTION
        V.append(add_motions(parent, scale_motion(qd[tree.coordinate[i]], S[i])))
    return V


def velocity_forces(tree, runtime, q, qd):
    """
    Return the centrifugal and the Coriolis part of C(q, qd) qd.

    The forces are quadratic in qd. The force with coordinate j moving alone is the term in
    qd_j^2; the remainder are the products of two different velocities.
    """
    no_gravity = [*ZERO, *runtime[3:]]
    centrifugal = [0.0] * tree.nv
    for j in range(tree.nv):
        alone = [0.0] * j + [qd[j]] + [0.0] * (tree.nv - j - 1)
        forces = bias(tree, no_gravity, q, alone)
        centrifugal = [a + b for a, b in zip(centrifugal, forces)]
    both = bias(tree, no_gravity, q, qd)
    return [centrifugal, [a - b for a, b in zip(both, centrifugal)]]
