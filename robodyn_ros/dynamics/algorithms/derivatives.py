"""
Derivatives of inverse and forward dynamics, in O(n d) and O(n^3).

A change of one coordinate changes the acceleration of the points in the joint's subtree by a field
(see `fields`), whose resultant acts on every joint:

- by qdd_j:  S_j;
- by qd_j:   2 (S_j' + w_j x x'), twice the field of the Coriolis matrix;
- by q_j:    the points with their motion are displaced along S_j, but not the motion of the parent
  of joint j: S_j'' + 2 w_j' x x' with S_j' = V_p x S_j and S_j'' = A_p x S_j + V_p x S_j', where
  V_p and A_p belong to the parent body. On the ancestors of the joint the displacement of the
  forces acts in addition: S_j x* f.

Sources: Carpentier and Mansard, Analytical derivatives of rigid body dynamics algorithms, 2018;
Singh, Russell, Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial
vector algebra, 2022 (the same quantities on spatial vectors).
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.aba import forward_dynamics
from robodyn_ros.dynamics.algorithms.coriolis import velocities
from robodyn_ros.dynamics.algorithms.fields import (
    add_body_coriolis, add_motions, body_coriolis, force_cross, joint_matrices, motion_cross,
    resultant, scale_motion, screws, subtree_sums, total_inertias, world_inertias, ZERO_MOTION)
from robodyn_ros.dynamics.algorithms.inertia import GRAVITY
from robodyn_ros.dynamics.algorithms.kinematics import joint_poses, world_poses
from robodyn_ros.dynamics.algorithms.ltdl import solve
from robodyn_ros.dynamics.algorithms.rnea import add_wrenches
from robodyn_ros.dynamics.vector import neg, scale, ZERO


def inverse_dynamics_derivatives(tree, runtime, q, qd, qdd):
    """Return dtau/dq, dtau/dqd and dtau/dqdd = M."""
    world = world_poses(tree, joint_poses(tree, q))
    S = screws(tree, world)
    V = velocities(tree, S, qd)
    rates = [motion_cross(v, s) for v, s in zip(V, S)]
    # gravity as an upward acceleration of the base
    base = (ZERO, neg(runtime[GRAVITY]))
    A = accelerations(tree, S, rates, qd, qdd, base)
    inertias = world_inertias(tree, runtime, world)
    coriolis = list(map(body_coriolis, inertias, V))
    # the points of a body accelerate at A + w x x'
    forces = [resultant(inertia, B, (a, v[0]))
              for inertia, B, a, v in zip(inertias, coriolis, A, V)]
    displaced = [force_cross(s, f) for s, f in zip(S, subtree_sums(tree, forces, add_wrenches))]
    by_q = position_fields(
        S, rates, parent_values(tree, V, ZERO_MOTION), parent_values(tree, A, base))
    by_qd = [(scale_motion(2.0, rate), scale(2.0, s[0])) for s, rate in zip(S, rates)]
    by_qdd = [(s, ZERO) for s in S]
    none = [ZERO_MOTION] * len(S)
    return joint_matrices(
        tree, S, total_inertias(tree, inertias), subtree_sums(tree, coriolis, add_body_coriolis),
        (by_q, displaced), (by_qd, none), (by_qdd, none))


def accelerations(tree, S, rates, qd, qdd, base):
    """Return the rate A of the motion of every body; `base` is that of the base."""
    A = []
    for i, c in enumerate(tree.coordinate):
        step = add_motions(scale_motion(qdd[c], S[i]), scale_motion(qd[c], rates[i]))
        A.append(add_motions(A[tree.parent[i]] if tree.parent[i] >= 0 else base, step))
    return A


def parent_values(tree, values, base):
    """Return for every joint the value of its parent body; `base` for the base."""
    return [values[p] if p >= 0 else base for p in tree.parent]


def position_fields(S, rates, V, A):
    """Return the fields S'' + 2 w' x x'; V and A are those of the joints' parent bodies."""
    return [(add_motions(motion_cross(a, s), motion_cross(v, rate)), scale(2.0, rate[0]))
            for s, rate, v, a in zip(S, rates, V, A)]


def forward_dynamics_derivatives(tree, runtime, q, qd, tau):
    """Return dqdd/dq, dqdd/dqd and dqdd/dtau = M^-1, from those of tau(q, qd, qdd)."""
    qdd = forward_dynamics(tree, runtime, q, qd, tau)
    by_q, by_qd, M = inverse_dynamics_derivatives(tree, runtime, q, qd, qdd)
    inverse = [solve(M, [float(i == j) for j in range(tree.nv)]) for i in range(tree.nv)]
    return [[[-value for value in row] for row in product(inverse, by_q)],
            [[-value for value in row] for row in product(inverse, by_qd)], inverse]


def product(a, b):
    """Return the product of two matrices."""
    columns = list(zip(*b))
    return [[sum((x * y for x, y in zip(row, column)), 0.0) for column in columns] for row in a]
