"""Test whether a body with some inertial parameters can exist."""
import numpy as np
from robodyn_ros.model.inertia import pseudo_inertia


def is_physical(mass, first_moment, inertia_origin, tolerance=1e-9):
    """
    Return whether a distribution of non-negative mass with these parameters exists.

    Point masses, rods and plates, whose pseudo-inertia is only semidefinite, are physical. The
    tolerance is relative to the largest eigenvalue of the pseudo-inertia.
    """
    eigenvalues = np.linalg.eigvalsh(pseudo_inertia(mass, first_moment, inertia_origin))
    return bool(eigenvalues[0] >= -tolerance * max(eigenvalues[-1], 0.0))
