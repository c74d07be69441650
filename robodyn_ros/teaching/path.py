"""Path of the joints over its length, without a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from robodyn_ros.exceptions import TrajectoryError

_SPACING = 0.02  # rad, least distance of the points of a path; below it are pauses and noise


class Path:
    """
    Cubic spline through positions, with the length of the way from point to point as parameter.

    Parameters
    ----------
    positions : (n, nv) array_like
        Positions along the path. Those closer than 0.02 rad to the one before are left out, such
        as those of a pause.
    scale : (nv,) array_like, optional
        Factors of the joints in the length, such as 5 rad/m for prismatic ones; default 1.

    Attributes
    ----------
    length : float
        Length in rad.
    nv : int
    knots : (m,) array of int
        Rows of `positions` that are points of the spline.
    places : (m,) array
        Their places along the path.

    Raises
    ------
    TrajectoryError
        The positions are all the same.

    """

    def __init__(self, positions: ArrayLike, scale: ArrayLike = 1.0):
        rows = np.asarray(positions, dtype=float)
        scaled, kept = rows * np.asarray(scale, dtype=float), [0]
        for k in range(1, len(rows)):
            if np.linalg.norm(scaled[k] - scaled[kept[-1]]) >= _SPACING:
                kept.append(k)
        last = len(rows) - 1
        if kept[-1] != last:  # the end is kept, in place of a point close to it
            kept[1 if len(kept) == 1 else len(kept) - 1:] = [last]
        steps = np.linalg.norm(np.diff(scaled[kept], axis=0), axis=1)
        if len(kept) < 2 or not steps.all():
            raise TrajectoryError('the arm does not move: there is no path')
        self.knots, self.nv = np.array(kept), rows.shape[1]
        self.places = np.concatenate([[0.0], np.cumsum(steps)])
        self.length = float(self.places[-1])
        self._spline = CubicSpline(self.places, rows[kept])

    def __call__(self, place: ArrayLike, order: int = 0) -> NDArray:
        """Return positions, (N, nv), or their derivatives by the length, at places."""
        return self._spline(place, order)
