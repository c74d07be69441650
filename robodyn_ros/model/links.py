"""Links of a URDF: mass, centre of mass and inertia, checked."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from urdf_parser_py import urdf

from robodyn_ros.exceptions import ModelError
from robodyn_ros.model.findings import WarningList
from robodyn_ros.model.frame import rotation_from_rpy
from robodyn_ros.model.inertia import (
    inertia_tensor, negative_share, principal_moments_and_axes, rotate_inertia, triangle_excess)

ROUNDING = 1e-6  # tolerance of the principal moments, relative to the largest
ZERO_INERTIA = 1e-15  # kg m^2; smaller moments are rounding errors of exporters


@dataclass(frozen=True, slots=True)
class Link:
    """
    Mass (kg), centre of mass (m) and inertia about it (kg m^2), all in link axes.

    ``flaw`` states why the inertia is impossible. It is an error only if the lumped body is
    impossible too: a tiny antenna fixed to a heavy base is accepted.
    """

    name: str
    mass: float
    com: NDArray
    inertia: NDArray
    flaw: str = ''


def read_link(link: urdf.Link, warnings: WarningList) -> Link:
    """
    Check a parsed link and rotate its inertia into link axes.

    Raises
    ------
    ModelError
        If the mass is negative.

    """
    inertial = link.inertial
    if inertial is None:
        return Link(link.name, 0.0, np.zeros(3), np.zeros((3, 3)))
    xyz, rpy = pose(inertial.origin)
    tensor = np.zeros((3, 3))
    if inertial.inertia is not None:
        tensor = inertia_tensor(*(getattr(inertial.inertia, key) for key in urdf.Inertia.KEYS))
    else:
        warnings.add('<inertial> of the link has no <inertia>, which URDF requires; it is taken '
                     'as a point mass, other programs refuse the file: give ixx .. izz', link.name)
    if inertial.mass < 0.0:
        raise ModelError(f'link {link.name!r}: mass {inertial.mass:g} kg is negative; '
                         'give 0 or more', link=link.name, mass=inertial.mass)
    if inertial.mass == 0.0 and np.any(tensor):
        warnings.add('link has inertia but no mass', link.name)
    rotated = rotate_inertia(tensor, rotation_from_rpy(rpy))
    return Link(link.name, inertial.mass, np.array(xyz, dtype=float), rotated,
                _review_inertia(link.name, tensor, warnings))


def pose(origin: urdf.Pose | None) -> tuple[list[float], list[float]]:
    """Return xyz (m) and rpy (rad) of an ``origin`` element, zeros where they are missing."""
    if origin is None:
        return [0.0] * 3, [0.0] * 3
    return origin.xyz or [0.0] * 3, origin.rpy or [0.0] * 3


def _review_inertia(name: str, tensor: NDArray, warnings: WarningList) -> str:
    moments, _ = principal_moments_and_axes(tensor)
    if moments[-1] <= ZERO_INERTIA and moments[0] >= -ZERO_INERTIA:
        return ''
    printed = ', '.join(f'{moment:.4g}' for moment in moments)
    if negative_share(moments) > ROUNDING:
        return (f'link {name!r}: inertia has a negative principal moment, they are {printed} '
                'kg m^2; no real body has that: check the signs and sizes of ixx .. izz (URDF '
                'has tensor elements, so ixy = -integral of x y dm)')
    if triangle_excess(moments) > ROUNDING:
        warnings.add(f'link {name!r}: principal moments {printed} kg m^2 break the triangle '
                     'inequality (the largest exceeds the sum of the others), no real body has '
                     'them: check that they are about the centre of mass, in kg m^2, with enough '
                     'digits')
    return ''
