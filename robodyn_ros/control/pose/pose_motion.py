"""
Limits of motions to a pose of a link; the motions are `steps.pose_motion` and `resolved_rate`.

The reference is an arm of its own that moves by resolved rates. Its link heads straight for the
target, as fast as it may and still come to rest there; joints respect their limits of position,
velocity and acceleration, and the link those of its own. Every new target is taken up from the
motion that is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.model.per_joint import speeds

_MARGIN = 2e-3   # rad or m that are kept to limits
_NO_LIMIT = 1e9  # rad or m


@dataclass(frozen=True)
class ReachSettings:
    """
    How fast a link may be moved, and how far ahead of it the reference; linear, then angular.

    Attributes
    ----------
    velocity : pair of float
        m/s and rad/s.
    acceleration : pair of float
        m/s^2 and rad/s^2.
    leash : pair of float
        m and rad between reference and arm at which the reference waits.

    """

    velocity: Sequence[float] = (0.25, 1.0)
    acceleration: Sequence[float] = (1.0, 4.0)
    leash: Sequence[float] = (0.1, 0.5)

    def __post_init__(self):
        for name in ('velocity', 'acceleration', 'leash'):
            values = np.array(getattr(self, name), dtype=float)
            if values.shape != (2,) or not ((values > 0.0) & (values < np.inf)).all():
                raise ParameterError(f'cartesian {name} is {shown(getattr(self, name))}; give two '
                                     'numbers above 0, linear then angular', parameter=name)
            object.__setattr__(self, name, tuple(values.tolist()))


def joint_bounds(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower and upper position and velocity within which the reference stays."""
    return (np.maximum(model.lower + _MARGIN, -_NO_LIMIT),
            np.minimum(model.upper - _MARGIN, _NO_LIMIT), speeds(model))
