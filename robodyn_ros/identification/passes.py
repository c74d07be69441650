"""Slow passes through poses in both directions: their points, and what was recorded of them."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.files import read_json
from robodyn_ros.identification.recording import Run, smoothed
from robodyn_ros.identification.static_payload import Pass
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.model.units import joint_slides
from robodyn_ros.trajectory import least_duration

_STROKE = (0.1, 0.03)   # rad, m to either side of a pose
_OF_RANGE = 0.4         # largest part of the position range to either side
_PASS = 2.0             # s of a pass
_MIDDLE = 0.5           # part of the stroke that is averaged
_LEAST = 1.0            # s, shortest way to a pose
_SHARE = 0.3            # part of the velocity limits on the way
_FEW = 5                # least number of states in a pass
_MOVES = 0.3            # part of the reference velocity from which on a joint moves
_WHOLE = 0.7            # part of a pass in which it must move
_SMOOTHING = 0.05       # s, of the velocities for that
_SAME = 0.05            # rad or m, by which poses with and without payload may differ


def stroke(model: RobotModel) -> NDArray:
    """Return the distance to either side of a pose, (nv,), in rad or m, within the limits."""
    usual = np.where(joint_slides(model), _STROKE[1], _STROKE[0])
    return np.minimum(usual, _OF_RANGE * (model.upper - model.lower))


def pass_points(model: RobotModel, start: NDArray, poses: NDArray) -> tuple[NDArray, ...]:
    """Return points of passes up and down through each pose, from a start position."""
    times, positions, now, here = [], [], 0.0, start
    for pose in poses:
        below, above = pose - stroke(model), pose + stroke(model)
        now += max(_LEAST, least_duration(speeds(model), below - here, _SHARE))
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
    velocity = smoothed(np.gradient(run.position, run.times, axis=0), run.period, _SMOOTHING)
    wanted = np.gradient(run.reference, run.times, axis=0)
    found = []
    for k, pose in enumerate(poses, 1):
        near = (np.abs(run.reference - pose) <= _MIDDLE * stroke(model)).all(axis=1)
        sides = []
        for sign in (1.0, -1.0):
            there = near & (sign * wanted.mean(axis=1) > 0.0)
            if np.count_nonzero(there) < _FEW:
                raise StateError(f'the passes through pose {k} of {len(poses)} were not recorded')
            moves = there[:, None] & (sign * velocity > _MOVES * np.abs(wanted))
            whole = moves.sum(axis=0) > _WHOLE * np.count_nonzero(there)
            sides.append([np.where(whole, _mean(values, moves), np.nan)
                          for values in (run.position, effort)])
        position, torque = (0.5 * (a + b) for a, b in zip(*sides))
        found.append(Pass(np.where(np.isfinite(position), position, pose), torque))
    return found


def _mean(values: NDArray, where: NDArray) -> NDArray:
    """Return means of columns over the rows that are selected, (nv,)."""
    return np.where(where, values, 0.0).sum(axis=0) / np.maximum(where.sum(axis=0), 1)


def write_passes(path: Path, passes: Sequence[Pass]) -> None:
    """Write passes (JSON)."""
    lists = [[values.tolist() for values in each] for each in passes]
    path.write_text(json.dumps(lists) + '\n', encoding='utf-8')


def read_passes(path: Path, nv: int) -> list[Pass]:
    """Return the passes that `--save` has written; raise `RobodynError` if they are others."""
    passes = read_json(
        path, lambda found: [Pass(*(np.array(values, dtype=float) for values in each))
                             for each in found], 'give a file that was written by --save')
    if any(values.shape != (nv,) for each in passes for values in each):
        raise RobodynError(f'{path} is of an arm with another number of joints', path=str(path))
    return passes


def check_poses(path: Path, without: list[Pass], poses: np.ndarray) -> None:
    """Raise `RobodynError` if passes are not those through the poses."""
    if len(without) != len(poses) or any(
            np.nanmax(np.abs(each.position - pose)) > _SAME for each, pose in zip(without, poses)):
        raise RobodynError(f'{path} is of other poses: give the same URDF, --link, --poses, '
                           '--seed and --range as with --save, or --save again', path=str(path))
