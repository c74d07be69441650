"""Terms and matrices of the equation of motion in one state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError

TERMS = ('inertia', 'centrifugal', 'Coriolis', 'gravity', 'friction')


@dataclass(frozen=True, eq=False)
class Equation:
    """
    Terms and matrices of a state.

    Attributes
    ----------
    q, qd, qdd : (nv,) array
        State.
    mass_matrix, coriolis_matrix : (nv, nv) array
    terms : dict of str to (nv,) array
        Terms of the torque by the names of `TERMS`, N m or N.
    torque : (nv,) array
        Sum of the terms.
    torque_sizes, torque_axes : (nv,), (nv, nv) array
        Half-lengths of the torque ellipsoid, smallest first, and its directions as columns: the
        torques of all accelerations of size 1.
    link : str
        Link of `pose` and `masses`.
    pose : (4, 4) array
        Pose of the link in the base frame.
    masses, mass_axes : (3,), (3, 3) array, or None
        Effective masses of the link in kg, smallest first, infinite where the joints cannot move
        it; directions as columns, in the base frame. None if the mass matrix is singular.

    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    mass_matrix: np.ndarray
    coriolis_matrix: np.ndarray
    terms: dict[str, np.ndarray]
    torque: np.ndarray
    torque_sizes: np.ndarray
    torque_axes: np.ndarray
    link: str
    pose: np.ndarray
    masses: np.ndarray | None
    mass_axes: np.ndarray | None

    @classmethod
    def of(cls, dynamics: Dynamics, link: str, q: np.ndarray, qd: np.ndarray,
           qdd: np.ndarray) -> Equation:
        """Return the equation of a state."""
        model = dynamics.model
        M = dynamics.mass_matrix(q)
        centrifugal, coriolis = dynamics.velocity_forces(q, qd)
        terms = dict(zip(TERMS, (
            M @ qdd, centrifugal, coriolis, dynamics.gravity(q),
            model.friction_torque(qd))))
        masses: np.ndarray | None
        mass_axes: np.ndarray | None
        try:
            _, masses, mass_axes = dynamics.effective_mass(q, link)
        except ArgumentError:
            masses = mass_axes = None
        return cls(q, qd, qdd, M, dynamics.coriolis_matrix(q, qd), terms, sum(terms.values()),
                   *dynamics.torque_ellipsoid(q), link, dynamics.forward_kinematics(q, link),
                   masses, mass_axes)

    def values(self) -> dict[str, Any]:
        """Return all values by name."""
        return {'q': self.q, 'qd': self.qd, 'qdd': self.qdd, 'mass_matrix': self.mass_matrix,
                'coriolis_matrix': self.coriolis_matrix, 'terms': self.terms,
                'torque': self.torque,
                'torque_ellipsoid': {'sizes': self.torque_sizes, 'axes': self.torque_axes},
                'link': self.link, 'pose': self.pose,
                'mass_ellipsoid': {'masses': self.masses, 'axes': self.mass_axes}}
