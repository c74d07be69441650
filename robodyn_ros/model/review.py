"""What is odd about a robot as a whole, but no reason to refuse it."""
from typing import Any

import numpy as np

from robodyn_ros.model.description import Description
from robodyn_ros.model.selection import Selection
from robodyn_ros.model.warning_list import WarningList

NOTHING = 1e-12  # inertia about the axis, relative to the whole inertia, that counts as none


def review_description(description: Description, selection: Selection, notes: WarningList) -> None:
    """Note what is left out or has no effect."""
    if selection.locked:
        places = (f'{name} at {position:g}' for name, position in selection.locked.items())
        notes.add('locked joints: ' + ', '.join(places))
    left_out = len(description.links) - len(selection.joints) - 1
    if left_out:
        notes.add(f'{left_out} links above or beside base link {selection.base!r} are left out')


def review_fields(fields: dict[str, Any], notes: WarningList) -> None:
    """Note the bodies without mass, and the joints that would move nothing at all."""
    idle = _idle_bodies(fields)
    led_by = fields['coordinate']
    busy = {led_by[body] for body, nothing in enumerate(idle) if not nothing}
    for body, name in enumerate(fields['body_joints']):
        if led_by[body] not in busy:
            notes.add('joint moves no mass or inertia, the mass matrix is singular; give the '
                      'links it moves an inertial or make it fixed', name)
        elif not _has_mass(fields, body):
            notes.add('link is moved by a joint but has no mass', fields['body_names'][body])


def _idle_bodies(fields: dict[str, Any]) -> list[bool]:
    count = len(fields['mass'])
    heavy_below = [False] * count
    for body in reversed(range(count)):  # children first
        parent = fields['parent'][body]
        if parent >= 0 and (heavy_below[body] or _has_mass(fields, body)):
            heavy_below[parent] = True
    return [not heavy_below[body] and not _resists(fields, body) for body in range(count)]


def _has_mass(fields: dict[str, Any], body: int) -> bool:
    return fields['mass'][body] > 0.0 or bool(np.any(fields['inertia'][body]))


def _resists(fields: dict[str, Any], body: int) -> bool:
    if fields['prismatic'][body]:
        return fields['mass'][body] > 0.0
    axis, inertia = fields['axis'][body], fields['inertia'][body]
    return bool(axis @ inertia @ axis > NOTHING * np.trace(inertia))
