"""
Inertia tensors: parallel axis theorem, rotation, principal axes, physical consistency.

A tensor is a symmetric (3, 3) array of tensor **elements** as in URDF (kg m^2):
``ixy = -integral of x y dm``.
"""
import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST = 1e30  # mass, length or inertia in SI units; products of three do not overflow


def inertia_tensor(ixx: float, ixy: float, ixz: float,
                   iyy: float, iyz: float, izz: float) -> NDArray:
    """Return the symmetric tensor of six elements, in the order of URDF."""
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]], dtype=float)


def parallel_axis(inertia_com: ArrayLike, mass: float, com: ArrayLike) -> NDArray:
    """
    Return the inertia about the point from which ``com`` is measured.

    Parameters
    ----------
    inertia_com : (3, 3) array
        Inertia about the centre of mass.
    mass : float
        Mass (kg).
    com : (3,) array
        Centre of mass relative to the new point (m), same axes as the inertia.

    Returns
    -------
    (3, 3) array
        I_C + m (c.c 1 - c c^T).

    """
    c = np.asarray(com, dtype=float)
    return np.asarray(inertia_com, dtype=float) + mass * (c @ c * np.eye(3) - np.outer(c, c))


def rotate_inertia(inertia: ArrayLike, rotation: ArrayLike) -> NDArray:
    """Return R I R^T, the inertia in axes in which the old axes are the columns of R."""
    r = np.asarray(rotation, dtype=float)
    rotated = r @ np.asarray(inertia, dtype=float) @ r.T
    return 0.5 * (rotated + rotated.T)


def principal_moments_and_axes(inertia: ArrayLike) -> tuple[NDArray, NDArray]:
    """
    Return the principal moments of an inertia and its principal axes.

    Returns
    -------
    moments : (3,) array
        Ascending (kg m^2).
    axes : (3, 3) array
        Principal axes as columns, right-handed: ``inertia = axes @ diag(moments) @ axes.T``.

    """
    tensor = np.asarray(inertia, dtype=float)
    scale = np.max(np.abs(tensor))
    if scale == 0.0:
        return np.zeros(3), np.eye(3)
    moments, axes = np.linalg.eigh(tensor / scale)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    return moments * scale, axes


def pseudo_inertia(mass: float, first_moment: ArrayLike, inertia_origin: ArrayLike) -> NDArray:
    """
    Return the (4, 4) pseudo-inertia: second, first and zeroth moment of the mass.

    Parameters
    ----------
    mass : float
        Mass (kg).
    first_moment : (3,) array
        mass * centre of mass (kg m).
    inertia_origin : (3, 3) array
        Inertia about the origin from which the centre of mass is measured.

    Returns
    -------
    (4, 4) array
        [[tr(I)/2 1 - I, h], [h^T, m]]; a distribution of positive mass has such a matrix
        if and only if it is positive definite (Wensing, Kim, Slotine 2018).

    """
    tensor = np.asarray(inertia_origin, dtype=float)
    matrix = np.empty((4, 4))
    matrix[:3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    matrix[:3, 3] = matrix[3, :3] = first_moment
    matrix[3, 3] = mass
    return matrix


def negative_share(moments: ArrayLike) -> float:
    """Return by how much the least principal moment is below 0, relative to the largest."""
    low, _, high = np.sort(np.asarray(moments, dtype=float))
    scale = max(abs(low), abs(high))
    return max(0.0, -float(low) / float(scale)) if scale > 0.0 else 0.0


def triangle_excess(moments: ArrayLike) -> float:
    """Return the relative excess of the largest principal moment over the sum of the others."""
    low, middle, high = np.sort(np.asarray(moments, dtype=float))
    return max(0.0, float(high - low - middle) / float(high)) if high > 0.0 else 0.0
