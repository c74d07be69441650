"""
Pose errors, and the rotational spring between two poses; over scalars.

The orientation error is the unit quaternion (eta, eps) of R_ref R^T, in base axes. Without angles
all functions are smooth wherever the reference is less than half a turn away.

Source: Caccavale, Natale, Siciliano, Villani, Six-DOF impedance control based on angle/axis
representations, 1999.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import absolute, maximum, select, sqrt
from robodyn_ros.dynamics.vector import add, cross, matmul, scale, transpose


def quaternion(R):
    """Return (eta, eps) of a rotation matrix, eta not negative."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    # four times each of eta^2, x^2, y^2, z^2; the largest determines the signs (Shepperd 1978)
    squares = (1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz)
    products = ((squares[0], zy - yz, xz - zx, yx - xy), (zy - yz, squares[1], yx + xy, xz + zx),
                (xz - zx, yx + xy, squares[2], zy + yz), (yx - xy, xz + zx, zy + yz, squares[3]))
    found, largest = products[0], squares[0]
    for square, product in zip(squares[1:], products[1:]):
        found = tuple(select(square - largest, a, b) for a, b in zip(product, found))
        largest = maximum(square, largest)
    # the row holds 4 q_k q, and its own element is the square
    size = select(found[0], 0.5, -0.5) / sqrt(maximum(largest, 1.0))
    eta, *eps = [size * each for each in found]
    return absolute(eta), tuple(eps)


def pose_error(reference, pose):
    """Return p_ref - p, and (eta, eps) of R_ref R^T, of two poses (R, p)."""
    (R_ref, p_ref), (R, p) = reference, pose
    away = tuple(a - b for a, b in zip(p_ref, p))
    return away, quaternion(matmul(R_ref, transpose(R)))


def rotation_spring(stiffness, eta, eps):
    """
    Return the moment m = 2 (eta K eps + (K eps) x eps) of a spring between orientations.

    It has the potential U = 2 eps^T K eps: with the reference at rest dU/dt = -w . m. For small
    errors that is a spring against the angle; half a turn away the moment vanishes.
    """
    stretched = tuple(k * x for k, x in zip(stiffness, eps))
    return scale(2.0, add(scale(eta, stretched), cross(stretched, eps)))
