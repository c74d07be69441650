"""
Limits of motions to a pose of a link; the motions are in `steps.pose_motion` and `resolved_rate`.

The reference arm moves by resolved-rate control. Its link moves straight to the target, as fast as
the limits permit with a stop there; joints and link respect their limits of position, velocity and
acceleration. A new target is approached from the present motion.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.model.per_joint import speeds

_MARGIN = 2e-3   # rad or m, distance of the reference from position limits
_NO_LIMIT = 1e9  # rad or m


def joint_bounds(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower and upper position limits and velocity limits of the reference, (nv,) each."""
    return (np.maximum(model.lower + _MARGIN, -_NO_LIMIT),
            np.minimum(model.upper - _MARGIN, _NO_LIMIT), speeds(model))
