"""Slow passes through poses in both directions: their points, and what was recorded of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.cli.commission.arm import Run
from robodyn_ros.cli.units import joint_slides
from robodyn_ros.exceptions import StateError
from robodyn_ros.identification.static_payload import Pass
from robodyn_ros.model import RobotModel

_STROKE = (0.06, 0.02)  # rad, m to either side of a pose
_PASS = 1.5             # s of a pass
_MIDDLE = 0.6           # part of the stroke that is averaged
_LEAST = 1.0            # s, shortest way to a pose
_SHARE = 0.3            # part of the velocity limits on the way
_PEAK = 15.0 / 8.0      # largest speed of a motion from rest to rest, relative to its mean
_FEW = 5                # least number of states in a pass


def stroke(model: RobotModel) -> NDArray:
    """Return the distance to either side of a pose, (nv,), in rad or m."""
    return np.where(joint_slides(model), _STROKE[1], _STROKE[0])


def pass_points(model: RobotModel, start: NDArray, poses: NDArray) -> tuple[NDArray, ...]:
    """Return points of passes up and down through each pose, from a start position."""
    limit = np.where(np.isfinite(model.velocity_limit), model.velocity_limit, 1.0)
    times, positions, now, here = [], [], 0.0, start
    for pose in poses:
        below, above = pose - stroke(model), pose + stroke(model)
        with np.errstate(divide='ignore', invalid='ignore'):
            way = np.nan_to_num(_PEAK * np.abs(below - here) / (_SHARE * limit), posinf=0.0)
        now += max(_LEAST, float(way.max()))
        times += [now, now + _PASS, now + 2.0 * _PASS]
        positions += [below, above, below]
        now, here = times[-1], below
    zero = np.zeros((len(times), model.nv))
    return np.array(times), np.array(positions), zero, zero


def passes_of(model: RobotModel, run: Run, poses: NDArray) -> list[Pass]:
    """
    Return the means over the passes of a run of `pass_points`.

    Raises
    ------
    StateError
        A pass was not recorded.

    """
    effort = run.effort if np.isfinite(run.effort).any() else run.torque
    up = np.gradient(run.reference.mean(axis=1), run.times) > 0.0
    found = []
    for k, pose in enumerate(poses, 1):
        near = (np.abs(run.reference - pose) <= _MIDDLE * stroke(model)).all(axis=1)
        both = [near & way for way in (up, ~up)]
        if min(np.count_nonzero(each) for each in both) < _FEW:
            raise StateError(f'the passes through pose {k} of {len(poses)} were not recorded')
        found.append(Pass(*(0.5 * sum(values[each].mean(axis=0) for each in both)
                            for values in (run.position, effort))))
    return found


def as_lists(passes: Sequence[Pass]) -> list[list[list[float]]]:
    """Return passes as lists, for JSON."""
    return [[values.tolist() for values in each] for each in passes]
