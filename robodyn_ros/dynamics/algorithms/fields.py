"""
A robot as moving points: what the Coriolis matrix and the derivatives are made of.

All vectors here are in base axes, about the origin of the base: then the bodies beyond a joint
are simply summed, and what two joints share is a dot product. A point x of a body moves at
`v + w x x`; the pair (w, v) is the body's motion, and joint i at unit rate is the motion S_i,
its screw. Wrenches are pairs (f, n) as in `rnea`.

How one coordinate changes the acceleration of points is a field on them,

    c(x) = v + w x x + u x x',    given as ((w, v), u),

where x' is the velocity of the point: a motion, and a Coriolis acceleration. Its resultant over
a body is `I (w, v) + B u`, where I = (m, h, J) is the body's inertia and B = (p, E) its flow:

    p = int x' dm = m v + w x h             (momentum)
    E = int x' x^T dm = v h^T + [w]x Sigma  (Sigma = int x x^T dm = 1/2 tr(J) 1 - J)
    int u x x' dm = u x p,    int x x (u x x') dm = tr(E) u - E u

Inertias and flows of several bodies add up.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.inertia import add_inertias, body_inertias, inertia_in_parent
from robodyn_ros.dynamics.algorithms.rnea import add_wrenches
from robodyn_ros.dynamics.vector import (
    add, apply, apply_transposed, cross, dot, matadd, matmul, matsub, outer, scale, skew, sub,
    ZERO)

STILL = (ZERO, ZERO)


def screws(tree, world):
    """Return the motion S_i that each coordinate at unit rate gives through its joint i."""
    found = []
    for i in tree.bodies:
        R, r = world[i]
        z = scale(tree.multiplier[i], apply(R, tree.axis[i]))
        found.append((ZERO, z) if tree.prismatic[i] else (z, cross(r, z)))
    return found


def add_motions(a, b):
    """Return the sum of two motions (w, v)."""
    return add(a[0], b[0]), add(a[1], b[1])


def scale_motion(s, a):
    """Return `s` times a motion."""
    return scale(s, a[0]), scale(s, a[1])


def motion_cross(V, S):
    """Return V x S: the rate of a motion S that is fixed to what moves with V."""
    return cross(V[0], S[0]), add(cross(V[0], S[1]), cross(V[1], S[0]))


def force_cross(V, wrench):
    """Return V x* (f, n): the rate of a wrench that is fixed to what moves with V."""
    f, n = wrench
    return cross(V[0], f), add(cross(V[0], n), cross(V[1], f))


def power(S, wrench):
    """Return the power of a wrench (f, n) on a motion (w, v)."""
    return dot(S[1], wrench[0]) + dot(S[0], wrench[1])


def world_inertias(tree, runtime, world):
    """Return (m, h, J) of every body."""
    return [inertia_in_parent(pose, inertia)
            for pose, inertia in zip(world, body_inertias(tree, runtime))]


def body_coriolis(inertia, V):
    """Return the flow of a body, as (p, E), when it moves with V."""
    m, h, J = inertia
    w, v = V
    half = 0.5 * (J[0][0] + J[1][1] + J[2][2])
    sigma = matsub(((half, 0.0, 0.0), (0.0, half, 0.0), (0.0, 0.0, half)), J)
    return add(scale(m, v), cross(w, h)), matadd(outer(v, h), matmul(skew(w), sigma))


def add_flows(a, b):
    """Return the sum of two flows."""
    return add(a[0], b[0]), matadd(a[1], b[1])


def resultant(inertia, flow_, field):
    """Return the wrench I (w, v) + B u that gives the points of a body these accelerations."""
    (m, h, J), (p, E), ((w, v), u) = inertia, flow_, field
    force = add(add(scale(m, v), cross(w, h)), cross(u, p))
    moment = add(apply(J, w), cross(h, v))
    return force, add(moment, sub(scale(E[0][0] + E[1][1] + E[2][2], u), apply(E, u)))


def subtree_sums(tree, values, plus):
    """Return for every joint the sum of what is known of the bodies that it carries."""
    total = list(values)
    for i in reversed(tree.bodies):
        if tree.parent[i] >= 0:
            total[tree.parent[i]] = plus(total[tree.parent[i]], total[i])
    return total


def joint_matrices(tree, S, inertias, flows, *columns):
    """
    Return for each set of columns the matrix X_ij = int J_i . c_j dm over what both joints carry.

    J_i is the velocity that joint i at unit rate gives to its points; c_j is a field on the
    points that joint j carries. So only joints on one path to the base share an element.

    Parameters
    ----------
    tree : Tree
        The robot.
    S : list of motion
        The joints at unit rate, see `screws`.
    inertias, flows : list
        Sums over what each joint carries, see `beyond`.
    *columns : (fields, wrenches)
        c_j of every joint j, and a further wrench that the joints before j feel.

    """
    matrices = [[[0.0] * tree.nv for _ in range(tree.nv)] for _ in columns]
    for i in tree.bodies:
        # S_i . (I (w, v) + B u) = F . (w, v) + k . u: one wrench serves all joints before
        F = resultant(inertias[i], flows[i], (S[i], ZERO))
        k = transposed_flow(flows[i], S[i])
        for X, (fields, wrenches) in zip(matrices, columns):
            H = add_wrenches(resultant(inertias[i], flows[i], fields[i]), wrenches[i])
            for j in tree.path_to(i):
                motion, u = fields[j]
                a, b = tree.coordinate[i], tree.coordinate[j]
                X[a][b] = X[a][b] + (power(motion, F) + dot(k, u))
                if j != i:
                    X[b][a] = X[b][a] + power(S[j], H)
    return matrices


def transposed_flow(flow_, S):
    """Return B^T S."""
    (p, E), (w, v) = flow_, S
    turned = sub(scale(E[0][0] + E[1][1] + E[2][2], w), apply_transposed(E, w))
    return add(turned, cross(p, v))


def total_inertias(tree, inertias):
    """Return (m, h, J) of all that each joint carries."""
    return subtree_sums(tree, inertias, add_inertias)
