"""Numbers of a URDF that look like placeholders, not like measurements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

BELIEVED_FRICTION = 0.1  # of the effort limit, at the velocity limit; geared joints have 1 to 5 %
_ALIKE = 3           # joints, or bodies, above which alike or unlike numbers are placeholders
_ROUND = (1.0, 10.0, 100.0, 1000.0)  # rad/s: limits that nobody measured


def believed_friction(friction, damping, effort, velocity) -> np.ndarray:
    """
    Return the part of the friction of a URDF that is believed, (nv,), in [0, 1].

    Parameters
    ----------
    friction, damping : (nv,)
        Dry friction in N m (N), and viscous friction in N m s/rad (N s/m).
    effort, velocity : (nv,)
        Effort limits in N m (N), and velocity limits in rad/s (m/s).

    """
    friction, damping, effort = (np.asarray(each, float) for each in (friction, damping, effort))
    fastest = np.where(np.isfinite(velocity), velocity, 1.0)
    most = np.where(np.isfinite(effort), BELIEVED_FRICTION * effort, np.inf)
    total = friction + damping * fastest
    return np.where(total > most, most / np.where(total > 0.0, total, 1.0), 1.0)


def doubts(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a text for each doubt about the numbers of a model, and the joint it concerns."""
    names = fields['joint_names']
    given = [np.asarray(fields[key], float) for key in (
        'friction', 'damping', 'effort_limit', 'velocity_limit')]
    for name, part in zip(names, believed_friction(*given)):
        if part < 1.0:
            yield ('friction at the velocity limit is above a tenth of the effort limit, likely a '
                   'placeholder: a tenth is compensated; set friction.coulomb and '
                   'friction.viscous to what was measured', name)
    for what, values in (('effort', given[2]), ('velocity', given[3])):
        value = values[0] if len(values) else np.nan
        # joints of one speed are usual, joints of one strength are not
        if len(values) > _ALIKE and (values == value).all() and (
                value in _ROUND if what == 'velocity' else 0.0 < value < np.inf):
            yield (f'{what} limit is {value:g} for all joints, likely a placeholder: gains, '
                   f'checks and stops depend on it; set {what}_limit to that of the motors', '')
    mass = np.asarray(fields['mass'], float)
    heavy = int(np.argmax(mass)) if len(mass) else 0
    if len(mass) > _ALIKE and mass[heavy] > mass.sum() - mass[heavy]:
        yield (f'moving link has {mass[heavy]:.4g} kg, all others together have '
               f'{mass.sum() - mass[heavy]:.4g} kg: check its <mass>, the gravity torque follows '
               'from it', fields['body_names'][heavy])
