"""
Velocity and acceleration fields of bodies, for the Coriolis matrix and the derivatives.

All vectors here are in base axes, about the origin of the base, so that the bodies of a subtree
are summed without transformation. A point x of a body has the velocity `v + w x x`; the pair
(w, v) is the body's motion, and S_i, the screw of joint i, is its motion at unit rate. Wrenches
are pairs (f, n) as in `rnea`.

The effect of one coordinate on the acceleration of points is a field,

    c(x) = v + w x x + u x x',    given as ((w, v), u),

where x' is the velocity of the point: a motion, and a Coriolis acceleration. Its resultant over
a body is `I (w, v) + B u`, where I = (m, h, J) is the body's inertia and B = (p, E) its Coriolis
pair:

    p = int x' dm = m v + w x h             (momentum)
    E = int x' x^T dm = v h^T + [w]x Sigma  (Sigma = int x x^T dm = 1/2 tr(J) 1 - J)
    int u x x' dm = u x p,    int x x (u x x') dm = tr(E) u - E u

Inertias and Coriolis pairs of several bodies are summed.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.inertia import add_inertias, body_inertias, inertia_in_parent
from robodyn_ros.dynamics.algorithms.rnea import add_wrenches
from robodyn_ros.dynamics.vector import (
    add, apply, apply_transposed, cross, dot, matadd, matmul, matsub, outer, scale, skew, sub,
    ZERO)

ZERO_MOTION = (ZERO, ZERO)


def screws(tree, world):
    """Return the motion S_i of each joint i at unit rate of its coordinate."""
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
    """Return V x S: the rate of a motion S that moves with V."""
    return cross(V[0], S[0]), add(cross(V[0], S[1]), cross(V[1], S[0]))


def force_cross(V, wrench):
    """Return V x* (f, n): the rate of a wrench that moves with V."""
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
    """Return the Coriolis pair (p, E) of a body that moves with V."""
    m, h, J = inertia
    w, v = V
    half = 0.5 * (J[0][0] + J[1][1] + J[2][2])
    sigma = matsub(((half, 0.0, 0.0), (0.0, half, 0.0), (0.0, 0.0, half)), J)
    return add(scale(m, v), cross(w, h)), matadd(outer(v, h), matmul(skew(w), sigma))


def add_body_coriolis(a, b):
    """Return the sum of two Coriolis pairs."""
    return add(a[0], b[0]), matadd(a[1], b[1])


def resultant(inertia, coriolis, field):
    """Return the wrench I (w, v) + B u of a field of accelerations on a body."""
    (m, h, J), (p, E), ((w, v), u) = inertia, coriolis, field
    force = add(add(scale(m, v), cross(w, h)), cross(u, p))
    moment = add(apply(J, w), cross(h, v))
    return force, add(moment, sub(scale(E[0][0] + E[1][1] + E[2][2], u), apply(E, u)))


def subtree_sums(tree, values, plus):
    """Return for every joint the sum of its subtree's values, added by `plus`."""
    total = list(values)
    for i in reversed(tree.bodies):
        if tree.parent[i] >= 0:
            total[tree.parent[i]] = plus(total[tree.parent[i]], total[i])
    return total


def joint_matrices(tree, S, inertias, coriolis, *columns):
    """
    Return for each set of columns the matrix X_ij = int J_i . c_j dm over the common subtree.

    J_i is the velocity of points for joint i at unit rate; c_j is a field on the points of the
    subtree of joint j. So only joints on one path to the base share an element.

    Parameters
    ----------
    tree : Tree
        The robot.
    S : list of motion
        Screws of the joints, see `screws`.
    inertias, coriolis : list
        Sums over the joints' subtrees, see `subtree_sums`.
    *columns : (fields, wrenches)
        Field c_j of every joint j, and a further wrench on the ancestors of j.

    """
    matrices = [[[0.0] * tree.nv for _ in range(tree.nv)] for _ in columns]
    for i in tree.bodies:
        # S_i . (I (w, v) + B u) = F . (w, v) + k . u, the same F and k for all ancestors
        F = resultant(inertias[i], coriolis[i], (S[i], ZERO))
        k = transposed_coriolis(coriolis[i], S[i])
        for X, (fields, wrenches) in zip(matrices, columns):
            H = add_wrenches(resultant(inertias[i], coriolis[i], fields[i]), wrenches[i])
            for j in tree.path_to(i):
                motion, u = fields[j]
                a, b = tree.coordinate[i], tree.coordinate[j]
                X[a][b] = X[a][b] + (power(motion, F) + dot(k, u))
                if j != i:
                    X[b][a] = X[b][a] + power(S[j], H)
    return matrices


def transposed_coriolis(coriolis, S):
    """Return B^T S."""
    (p, E), (w, v) = coriolis, S
    rotated = sub(scale(E[0][0] + E[1][1] + E[2][2], w), apply_transposed(E, w))
    return add(rotated, cross(p, v))


def total_inertias(tree, inertias):
    """Return (m, h, J) of the subtree of each joint."""
    return subtree_sums(tree, inertias, add_inertias)
