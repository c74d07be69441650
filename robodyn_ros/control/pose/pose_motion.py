"""
Limits of motions to a pose of a link; the motions are in `steps.pose_motion` and `resolved_rate`.

The reference arm moves by resolved-rate control. Its link moves straight to the target, as fast as
the limits permit with a stop there; joints and link respect their limits of position, velocity and
acceleration. A new target is approached from the present motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.model.per_joint import speeds

_MARGIN = 2e-3   # rad or m, distance of the reference from position limits
_NO_LIMIT = 1e9  # rad or m


@dataclass(frozen=True)
class ReachSettings:
    """
    Limits of motions of a link, and the largest lead of the reference; linear, then angular.

    Attributes
    ----------
    velocity : pair of float
        Largest velocity, m/s and rad/s.
    acceleration : pair of float
        Largest acceleration, m/s^2 and rad/s^2.
    leash : pair of float
        Distance between reference and arm, m and rad, at which the reference waits.

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
    """Return lower and upper position limits and velocity limits of the reference, (nv,) each."""
    return (np.maximum(model.lower + _MARGIN, -_NO_LIMIT),
            np.minimum(model.upper - _MARGIN, _NO_LIMIT), speeds(model))
