"""
Mass matrix: the composite-rigid-body algorithm.

Source: Featherstone, Rigid Body Dynamics Algorithms, ch. 6.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.inertia import add_inertias, body_inertias, inertia_in_parent
from robodyn_ros.dynamics.algorithms.kinematics import joint_poses
from robodyn_ros.dynamics.algorithms.rnea import parent_wrench
from robodyn_ros.dynamics.vector import apply, cross, dot, scale


def mass_matrix(tree, runtime, q):
    """Return M(q): composite rigid bodies (Featherstone, table 6.2)."""
    poses = joint_poses(tree, q)
    composite = body_inertias(tree, runtime)
    M = [[0.0] * tree.nv for _ in range(tree.nv)]
    for i in reversed(tree.bodies):
        if tree.parent[i] >= 0:
            p = tree.parent[i]
            composite[p] = add_inertias(composite[p], inertia_in_parent(poses[i], composite[i]))
        # wrench of a unit acceleration of joint i on its subtree
        m, h, J = composite[i]
        z = tree.axis[i]
        wrench = (scale(m, z), cross(h, z)) if tree.prismatic[i] else (cross(z, h), apply(J, z))
        # its component at each joint on the path to the base
        j = i
        while j >= 0:
            share = dot(wrench[0 if tree.prismatic[j] else 1], tree.axis[j])
            add_to_mass_matrix(tree, M, i, j, share)
            wrench = parent_wrench(poses[j], *wrench)
            j = tree.parent[j]
    return M


def add_to_mass_matrix(tree, M, i, j, share):
    """Add joint-space element (i, j), j = i or an ancestor of i, to M in coordinates."""
    a, b = tree.coordinate[i], tree.coordinate[j]
    share = tree.multiplier[i] * tree.multiplier[j] * share
    if i != j and a == b:
        # two joints of one coordinate: (i, j) and (j, i) are the same diagonal element
        share = 2.0 * share
    M[a][b] = M[a][b] + share
    if a != b:
        M[b][a] = M[a][b]


def add_to_diagonal(M, armature):
    """Add rotor inertias to the diagonal of a mass matrix, and return it."""
    for i, inertia in enumerate(armature):
        M[i][i] = M[i][i] + inertia
    return M
