"""Arms that differ from the controller's model: masses, centres of mass, mounting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ArgumentError, near_matches, shown
from robodyn_ros.model import RobotModel

_LARGEST_SCALE = 100.0


def mismatched(model: RobotModel, mass_scale: float | Mapping[str, float] = 1.0,
               com_shift: Mapping[str, ArrayLike] | None = None,
               base_tilt: ArrayLike = (0.0, 0.0, 0.0)) -> RobotModel:
    """
    Return an arm that differs from its model; payloads are added with `with_payload`.

    Links fixed to a moving link are part of it.

    Parameters
    ----------
    model : RobotModel
        Model of the controller.
    mass_scale : float or mapping of str to float
        Factor of mass and inertia: of all links, or by link.
    com_shift : mapping of str to (3,) array_like
        Displacement of a link's centre of mass, in the link frame (m). The inertia about the
        centre of mass is unchanged.
    base_tilt : (3,) array_like
        Roll, pitch and yaw of the base relative to upright, as in URDF (rad); it changes the
        direction of gravity.

    Raises
    ------
    ArgumentError
        Unknown link or invalid number; the message names the link.

    """
    scale = np.ones(model.nb)
    if isinstance(mass_scale, Mapping):
        for link, value in mass_scale.items():
            scale[_body(model, link, 'mass scale')] = _checked_scale(f'of link {link!r}', value)
    else:
        scale[:] = _checked_scale('of all links', mass_scale)
    mass = model.mass * scale
    first_moment = model.first_moment * scale[:, None]
    inertia = model.inertia * scale[:, None, None]
    for link, shift in (com_shift or {}).items():
        i = _body(model, link, 'shift of the centre of mass')
        _shift(link, mass[i], first_moment[i], inertia[i], shift)
    gravity = tilt_rotation(base_tilt).T @ model.gravity
    return replace(model, mass=mass, first_moment=first_moment, inertia=inertia, gravity=gravity)


def tilt_rotation(tilt: ArrayLike) -> NDArray:
    """
    Return the rotation of a tilted base, (3, 3): tilted axes as columns, `Rz Ry Rx` as in URDF.

    Raises
    ------
    ArgumentError
        Not three finite numbers.

    """
    roll, pitch, yaw = _three_numbers('the tilt of the base', tilt, 'roll, pitch and yaw in rad')
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])


def _shift(link: str, mass: float, first_moment: NDArray, inertia: NDArray, shift) -> None:
    """Move a centre of mass, in place; all numbers are about the origin of the body."""
    d = _three_numbers(f'the shift of the centre of mass of link {link!r}', shift,
                       'x, y and z in m')
    if not mass > 0.0:
        raise ArgumentError(f'link {link!r} has no mass whose centre could be shifted: leave it '
                            'out', link=link)
    old = first_moment / mass
    new = old + d
    inertia += mass * (_square(new) - _square(old))
    first_moment += mass * d


def _square(c: NDArray) -> NDArray:
    """Return the inertia of a unit mass at c."""
    return c @ c * np.eye(3) - np.outer(c, c)


def _body(model: RobotModel, link: str, what: str) -> int:
    """Return the index of the body of a link."""
    if link in model.body_names:
        return model.body_names.index(link)
    if link not in model.links:
        raise ArgumentError(f'{what}: there is no link {link!r}; '
                            + near_matches(link, model.body_names), link=link)
    body = model.links[link].body
    if body < 0:
        raise ArgumentError(f'{what}: link {link!r} belongs to the immovable base, no joint moves '
                            f'it; name one of {", ".join(model.body_names)}', link=link)
    raise ArgumentError(f'{what}: link {link!r} is fixed to {model.body_names[body]!r}, and its '
                        f'mass is part of that one; name {model.body_names[body]!r}', link=link)


def _checked_scale(of: str, value: Any) -> float:
    try:
        scale = float(value)
    except (TypeError, ValueError):
        scale = math.nan
    if not 0.0 < scale <= _LARGEST_SCALE:
        raise ArgumentError(f'the mass scale {of} is {shown(value)}: it must be a number above 0, '
                            f'at most {_LARGEST_SCALE:g}; 1 is the mass of the model', value=value)
    return scale


def _three_numbers(what: str, value: object, meaning: str) -> NDArray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ArgumentError(f'{what} is {shown(value)}: give three finite numbers, {meaning}',
                            value=value)
    return array
