"""Duration of motions from rest to rest, as quintic polynomials."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PEAK = 15.0 / 8.0  # largest speed of such a motion, relative to its mean
_USUAL = 1.0       # rad/s or m/s, velocity limit of a joint without one


def least_duration(velocity_limit: NDArray, distance: NDArray, part: float) -> float:
    """
    Return the least duration of a motion, in s.

    Parameters
    ----------
    velocity_limit : (nv,) array
        Infinite where there is none; joints with 0 are not counted.
    distance : (nv,) array
        Of each joint, in rad or m.
    part : float
        Used part of the velocity limits.

    """
    limit = np.where(np.isfinite(velocity_limit), velocity_limit, _USUAL)
    moves = limit > 0.0
    return _PEAK * float((np.abs(distance)[moves] / (part * limit[moves])).max(initial=0.0))
