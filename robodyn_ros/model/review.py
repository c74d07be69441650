"""
What is odd about a robot as a whole, but no reason to refuse it.
"""
from typing import Any

import numpy as np

from robodyn_ros.model.description import Description
from robodyn_ros.model.notes import Notes
from robodyn_ros.model.selection import Selection

TINY = 1e-12  # inertia about the axis, relative to the whole inertia, that counts as none


def review_description(description: Description, selection: Selection, notes: Notes) -> None:
    """
    Note what is left out or has no effect.
    """
    if description.links[selection.base].mass > 0.0:
        notes.add('the base link has an inertial; it is immovable, so that has no effect on '
                  'joint torques', selection.base)
    left_out = len(description.links) - len(selection.joints) - 1
    if left_out:
        notes.add(f'{left_out} links above or beside base link {selection.base!r} are left out')


def review_fields(fields: dict[str, Any], notes: Notes) -> None:
    """
    Note the bodies without mass, and the joints that would move nothing at all.
    """
    idle = [_moves_nothing(fields, body) for body in range(len(fields['mass']))]
    led_by = fields['coordinate']
    busy = {led_by[body] for body, nothing in enumerate(idle) if not nothing}
    for body, name in enumerate(fields['body_joints']):
        if led_by[body] not in busy:
            notes.add('joint moves no mass, the mass matrix is singular; give the links it moves '
                      'an inertial or make it fixed', name)
        elif fields['mass'][body] == 0.0 and not np.any(fields['inertia'][body]):
            notes.add('link is moved by a joint but has no mass', fields['body_names'][body])


def _moves_nothing(fields: dict[str, Any], body: int) -> bool:
    return False
