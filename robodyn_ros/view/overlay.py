"""Geometry of the mass ellipsoid and of force arrows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError

UNIT = 0.15          # m; half-length of the ellipsoid for the mass of all moving links
MAX_LENGTH = 0.45    # m; also of infinite masses
MIN_LENGTH = 0.004   # m
_PER_NEWTON = 0.005  # m/N, length of arrows


class Ellipsoid(NamedTuple):
    """
    Effective mass of a link by direction, drawn as length.

    Attributes
    ----------
    center : (3,) array
        Origin of the link, in the frame of the base.
    rotation : (3, 3) array
        Principal directions as columns, right-handed, in the frame of the base.
    lengths : (3,) array
        Drawn half-lengths (m).
    masses : (3,) array
        Principal masses (kg), infinite where the joints cannot move the link.

    """

    center: np.ndarray
    rotation: np.ndarray
    lengths: np.ndarray
    masses: np.ndarray


def mass_ellipsoid(dynamics: Dynamics, q: np.ndarray, link: str) -> Ellipsoid | None:
    """Return the mass ellipsoid of a link; None if the mass matrix is singular."""
    try:
        _, masses, axes = dynamics.effective_mass(q, link)
    except ArgumentError:
        return None
    rotation = axes * np.sign(np.linalg.det(axes))  # right-handed; an ellipsoid is symmetric
    lengths = np.clip(UNIT * masses / dynamics.model.mass.sum(), MIN_LENGTH, MAX_LENGTH)
    return Ellipsoid(dynamics.forward_kinematics(q, link)[:3, 3], rotation, lengths, masses)


def force_arrow(tail: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return tail and head, (2, 3), of the arrow of a force (N) at a point."""
    return np.array([tail, tail + _PER_NEWTON * np.asarray(force)])
