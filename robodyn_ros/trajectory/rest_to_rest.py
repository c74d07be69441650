"""Duration of motions from rest to rest, as quintic polynomials."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PEAK = 15.0 / 8.0  # largest speed of such a motion, relative to its mean


def least_duration(speed: NDArray, distance: NDArray, part: float) -> float:
    """
    Return the least duration of a motion, in s.

    Parameters
    ----------
    speed : (nv,) array
        Largest velocities, see `model.per_joint.speeds`.
    distance : (nv,) array
        Of each joint, in rad or m.
    part : float
        Used part of them.

    """
    return _PEAK * float((np.abs(distance) / (part * speed)).max(initial=0.0))
