"""
Received points, mapped to the model's joint order by name.

The node converts a trajectory_msgs/JointTrajectory into `TrajectoryPoint`s;
this package does not depend on messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.exceptions import near_matches, shown, TrajectoryError
from robodyn_ros.trajectory.result import ResultCode

FIELDS = {'positions': 'position', 'velocities': 'velocity', 'accelerations': 'acceleration',
          'efforts': 'effort'}
_MAX_POINTS = 20_000  # three minutes at 100 per second; the check of more takes seconds
_NO_NUMBERS = TypeError, ValueError, AttributeError  # of a value that is not made of numbers
_LEAST = 1e-5  # s between two points


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """A point as received: values in the order of the message's joints, time in s."""

    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    efforts: Sequence[float] = ()
    time_from_start: float = 0.0


class PointArrays(NamedTuple):
    """Points in model order: (n,) times and (n, nv) arrays, None where not given."""

    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray | None
    accelerations: np.ndarray | None
    efforts: np.ndarray | None


def arrange_points(joint_names: Sequence[str], points: Sequence[TrajectoryPoint],
                   model_names: Sequence[str], held=None) -> PointArrays:
    """
    Map points to the model's joints by name.

    Parameters
    ----------
    joint_names
        Names in the order of the points' values.
    points
        Points as received.
    model_names
        The model's joints.
    held : (nv,), optional
        Position of joints that are not named. Without it every joint of the
        model must be named.

    Raises
    ------
    TrajectoryError
        Unknown, repeated or missing joints; no points, or too many; wrong sizes; what is no
        number, or not finite; a field that only some points have; times that
        are negative or do not increase.

    """
    columns = _columns(joint_names, model_names, partial=held is not None)
    if not isinstance(points, Sequence):
        raise _invalid(f'the points are {shown(points)}; give a list of TrajectoryPoint')
    if not points:
        raise _invalid('the trajectory has no points; send at least one')
    if len(points) > _MAX_POINTS:
        raise _invalid(f'the trajectory has {len(points)} points, more than {_MAX_POINTS}; send '
                       'it in parts', value=len(points), limit=_MAX_POINTS)
    times = _times(points)
    count, nv = len(points), len(model_names)
    arranged: list[Any] = []
    for name in FIELDS:
        values = _field(name, joint_names, points)
        if values is None:
            arranged.append(None)
            continue
        rest = held if name == 'positions' and held is not None else np.zeros(nv)
        rows = np.tile(np.asarray(rest, dtype=float), (count, 1))
        rows[:, columns] = values
        arranged.append(rows)
    if arranged[2] is not None and arranged[1] is None:
        raise _invalid('the points carry accelerations but no velocities; give both, or neither')
    return PointArrays(times, *arranged)


def _invalid(message, **evidence):
    evidence.setdefault('code', ResultCode.INVALID_GOAL)
    return TrajectoryError(message, **evidence)


def _columns(joint_names, model_names, partial) -> list[int]:
    index = {name: i for i, name in enumerate(model_names)}
    code = ResultCode.INVALID_JOINTS
    if joint_names is None or isinstance(joint_names, str):
        raise _invalid(f'the joint names are {shown(joint_names)}; give a list of names',
                       code=code)
    seen = set()
    for name in joint_names:
        if name not in index:
            raise _invalid(f'the model has no joint {shown(name)}; '
                           + near_matches(name, model_names), joint=name, code=code)
        if name in seen:
            raise _invalid(f"joint '{name}' is named twice", joint=name, code=code)
        seen.add(name)
    missing = [name for name in model_names if name not in seen]
    if not seen:
        raise _invalid('the trajectory names no joints', code=code)
    if missing and not partial:
        raise _invalid(
            f"joint '{missing[0]}' is missing from the trajectory "
            f'({len(missing)} of {len(model_names)} missing: {", ".join(missing)}); name all '
            f'joints, or set allow_partial_joints_goal', joint=missing[0], code=code)
    return [index[name] for name in joint_names]


def _times(points) -> np.ndarray:
    try:
        times = np.array([float(point.time_from_start) for point in points])
    except _NO_NUMBERS:
        raise _unreadable('time_from_start', points, 0, 'give a number of seconds') from None
    before = -np.inf
    for i, t in enumerate(times.tolist()):
        if not np.isfinite(t) or t < 0.0:
            raise _invalid(f'point {i}: time_from_start is {t:g} s; it must be 0 or more',
                           point=i, value=t)
        if t < before + _LEAST:
            distance = ('does not come' if t <= before else f'comes {1e9 * (t - before):.3g} ns')
            raise _invalid(f'point {i}: time_from_start {t:g} s {distance} after {before:g} s '
                           f'of point {i - 1}: leave one of them out, or give later times',
                           point=i, value=t, limit=before)
        before = t
    return times


def _field(name, joint_names, points):
    remedy = f'give a number for each of the {len(joint_names)} joints'
    try:
        sizes = [len(getattr(point, name)) for point in points]
    except _NO_NUMBERS:
        raise _unreadable(name, points, 1, remedy) from None
    if name != 'positions' and not any(sizes):
        return None
    for i, size in enumerate(sizes):
        if size == 0 and any(sizes):
            raise _invalid(f'point {i} has no {name}, point {_first(sizes)} has; give them '
                           f'for every point or for none', point=i, value=0)
        if size != len(joint_names):
            raise _invalid(f'point {i}: {size} {name} for {len(joint_names)} joints; give one for '
                           f'each of {", ".join(joint_names)}', point=i, value=size,
                           limit=len(joint_names))
    try:
        values = np.array([getattr(point, name) for point in points], dtype=float)
    except _NO_NUMBERS:
        raise _unreadable(name, points, 1, remedy) from None
    if values.ndim != 2:
        raise _unreadable(name, points, 1, remedy)
    broken = np.argwhere(~np.isfinite(values))
    if broken.size:
        i, j = broken[0]
        raise _invalid(
            f"point {i}, joint '{joint_names[j]}': {FIELDS[name]} is {values[i, j]}; it must be "
            f'a finite number', joint=joint_names[j], point=int(i), value=float(values[i, j]))
    return values


def _unreadable(name, points, dimensions, remedy) -> TrajectoryError:
    """Return the error of the first point whose field is not made of numbers."""
    for i, point in enumerate(points):
        if not isinstance(point, TrajectoryPoint):
            return _invalid(f'point {i} is {shown(point)}; give a TrajectoryPoint', point=i)
        value = getattr(point, name)
        try:
            good = np.asarray(value, dtype=float).ndim == dimensions and value is not None
        except _NO_NUMBERS:
            good = False
        if not good:
            return _invalid(f'point {i}: {name} = {shown(value)}; {remedy}', point=i)
    return _invalid(f'{name} cannot be read; {remedy}')


def _first(sizes) -> int:
    return next(i for i, size in enumerate(sizes) if size)
