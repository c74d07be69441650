"""Payloads: bodies attached to a link at run time."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model.frame import Frame, read_only
from robodyn_ros.model.inertia import (
    LARGEST, negative_share, parallel_axis, principal_moments_and_axes, rotate_inertia)

ROUNDING = 1e-6  # tolerance of the principal moments, relative to the largest


@dataclass(frozen=True, slots=True, eq=False)
class Payload:
    """
    A rigid body held by a link.

    Parameters
    ----------
    link : str
        Name of the link.
    mass : float
        Mass (kg), not negative; 0 keeps the slot without a load.
    com : (3,) array
        Centre of mass in the frame of the link (m).
    inertia : (3, 3) array
        Inertia about the centre of mass of the payload, in the axes of the link (kg m^2).

    Raises
    ------
    ModelError
        If a number is not finite or no real body has this mass and inertia.

    """

    link: str
    mass: float
    com: NDArray
    inertia: NDArray

    def __post_init__(self) -> None:
        mass = _numbers(self.link, 'mass', self.mass, ())
        com = _numbers(self.link, 'centre of mass', self.com, (3,))
        inertia = _numbers(self.link, 'inertia', self.inertia, (3, 3))
        if mass < 0.0:
            raise ModelError(f'payload on link {shown(self.link)}: mass {mass:g} kg is negative; '
                             'give 0 or more', link=self.link, mass=float(mass))
        _check_inertia(self.link, inertia)
        object.__setattr__(self, 'mass', float(mass))
        object.__setattr__(self, 'com', com)
        object.__setattr__(self, 'inertia', inertia)

    def __reduce__(self):
        return Payload, (self.link, self.mass, self.com, self.inertia)

    def parameters_in_body(self, frame: Frame) -> NDArray:
        """
        Return (m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) about the origin of the body.

        Parameters
        ----------
        frame : Frame
            Pose of the link in its body.

        """
        com = frame.rotation @ self.com + frame.translation
        j = parallel_axis(rotate_inertia(self.inertia, frame.rotation), self.mass, com)
        return np.array([self.mass, *(self.mass * com), j[0, 0], j[1, 1], j[2, 2],
                         j[0, 1], j[0, 2], j[1, 2]])


def _numbers(link: str, what: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray:
    array: NDArray | None
    try:
        array = read_only(value)
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None or array.shape != shape or not np.all(np.abs(array) <= LARGEST):
        form = 'a finite number' if shape == () else f'finite numbers of shape {shape}'
        form += f', at most {LARGEST:g}'
        raise ModelError(f'payload on link {shown(link)}: {what} {shown(value)} must be {form}',
                         link=link, quantity=what, value=value)
    return array


def _check_inertia(link: str, inertia: NDArray) -> None:
    if np.max(np.abs(inertia - inertia.T)) > 1e-9 * np.max(np.abs(inertia)):
        raise ModelError(f'payload on link {shown(link)}: inertia {inertia.tolist()} is not '
                         'symmetric', link=link, inertia=inertia.tolist())
    moments, _ = principal_moments_and_axes(inertia)
    if negative_share(moments) > ROUNDING:
        raise ModelError(
            f'payload on link {shown(link)}: inertia has the negative principal moment '
            f'{moments[0]:g} kg m^2; no real body has that, check the signs of ixy, ixz, iyz',
            link=link, moments=moments.tolist())
