"""Warnings about a robot as a whole."""
from typing import Any

import numpy as np

from robodyn_ros.model.description import Description
from robodyn_ros.model.selection import Selection
from robodyn_ros.model.warning_list import WarningList

NEGLIGIBLE = 1e-12  # inertia about the axis, relative to the trace of the inertia


def review_description(description: Description, selection: Selection,
                       warnings: WarningList) -> None:
    """Add warnings about locked joints and links that are left out."""
    if selection.locked:
        positions = (f'{name} at {position:g}' for name, position in selection.locked.items())
        warnings.add('locked joints: ' + ', '.join(positions))
    left_out = len(description.links) - len(selection.joints) - 1
    if left_out:
        warnings.add(f'{left_out} links above or beside base link {selection.base!r} are left out')


def review_fields(fields: dict[str, Any], warnings: WarningList) -> None:
    """Add warnings about bodies without mass, and joints that move no inertia."""
    massless = _massless_bodies(fields)
    coordinate = fields['coordinate']
    loaded = {coordinate[body] for body, none in enumerate(massless) if not none}
    for body, name in enumerate(fields['body_joints']):
        if coordinate[body] not in loaded:
            warnings.add('joint moves no mass or inertia, the mass matrix is singular; give the '
                         'links it moves an inertial or make it fixed', name)
        elif not _has_mass(fields, body):
            warnings.add('link is moved by a joint but has no mass', fields['body_names'][body])


def _massless_bodies(fields: dict[str, Any]) -> list[bool]:
    count = len(fields['mass'])
    mass_below = [False] * count
    for body in reversed(range(count)):  # children first
        parent = fields['parent'][body]
        if parent >= 0 and (mass_below[body] or _has_mass(fields, body)):
            mass_below[parent] = True
    return [not mass_below[body] and not _has_joint_inertia(fields, body) for body in range(count)]


def _has_mass(fields: dict[str, Any], body: int) -> bool:
    return fields['mass'][body] > 0.0 or bool(np.any(fields['inertia'][body]))


def _has_joint_inertia(fields: dict[str, Any], body: int) -> bool:
    if fields['prismatic'][body]:
        return fields['mass'][body] > 0.0
    axis, inertia = fields['axis'][body], fields['inertia'][body]
    return bool(axis @ inertia @ axis > NEGLIGIBLE * np.trace(inertia))
