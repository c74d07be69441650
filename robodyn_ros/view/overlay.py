"""Centre of mass and mass ellipsoid of an arm, as they are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ArgumentError

UNIT = 0.15   # m: half-length of the ellipsoid where it shows the mass of all that moves
MOST = 0.45   # m: and of what is heavier by far, or cannot be moved
LEAST = 0.004  # m
_PER_NEWTON = 0.005  # m of arrow


class Ellipsoid(NamedTuple):
    """
    The mass that a link shows to a push, by direction: long where it is heavy.

    Attributes
    ----------
    center : (3,) array
        Origin of the link, in the frame of the base.
    rotation : (3, 3) array
        Principal directions as columns, right-handed, in the frame of the base.
    lengths : (3,) array
        Half-lengths as drawn (m).
    masses : (3,) array
        Principal masses (kg), infinite where the joints cannot move the link.

    """

    center: np.ndarray
    rotation: np.ndarray
    lengths: np.ndarray
    masses: np.ndarray


def mass_ellipsoid(dynamics: Dynamics, q: np.ndarray, link: str) -> Ellipsoid | None:
    """Return the mass ellipsoid of a link; None where some joint moves no mass."""
    try:
        _, masses, axes = dynamics.effective_mass(q, link)
    except ArgumentError:
        return None
    rotation = axes * np.sign(np.linalg.det(axes))  # a mirror image of an ellipsoid is itself
    lengths = np.clip(UNIT * masses / dynamics.model.mass.sum(), LEAST, MOST)
    return Ellipsoid(dynamics.forward_kinematics(q, link)[:3, 3], rotation, lengths, masses)


def force_arrow(tail: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Return tail and head, (2, 3), of the arrow that a force (N) at a point is drawn as."""
    return np.array([tail, tail + _PER_NEWTON * np.asarray(force)])
