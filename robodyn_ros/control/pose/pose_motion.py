"""
Limits of motions to a pose of a link; the motions are `steps.pose_motion` and `resolved_rate`.

The reference is an arm of its own that moves by resolved rates. Its link heads straight for the
target, as fast as it may and still come to rest there; joints respect their limits of position,
velocity and acceleration, and the link those of its own. Every new target is taken up from the
motion that is under way.
"""

from __future__ import annotations

import numpy as np

from robodyn_ros.model.per_joint import speeds

_MARGIN = 2e-3   # rad or m that are kept to limits
_NO_LIMIT = 1e9  # rad or m


def joint_bounds(model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower and upper position and velocity within which the reference stays."""
    return (np.maximum(model.lower + _MARGIN, -_NO_LIMIT),
            np.minimum(model.upper - _MARGIN, _NO_LIMIT), speeds(model))
