"""Ranges of the joints that the motions of a command may use, and where a motion passes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError, StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.text import number, table
from robodyn_ros.trajectory import Reference, Trajectory

_SAMPLES = 400     # states of a motion that are described
_MOVES = 1e-3       # m, least motion of a link that is described
_SLACK = 0.02      # rad or m, by which the arm may rest beyond a range


def restricted(model: RobotModel, ranges: Iterable[str]) -> RobotModel:
    """
    Return a model whose position limits are those in common with the given ranges.

    Parameters
    ----------
    model : RobotModel
        Model of the arm.
    ranges : iterable of str
        Each as joint:lower:upper, in rad or m.

    Raises
    ------
    ParameterError
        An entry has another form, its joint is unknown or fixed, or it has nothing in common with
        the position limits.

    """
    lower, upper = np.array(model.lower), np.array(model.upper)
    for entry in ranges:
        joint, low, high = _parsed(entry)
        if joint not in model.joint_names:
            raise ParameterError(f'--range {entry}: no moving joint {joint!r}'
                                 + near_matches(joint, model.joint_names), joint=joint)
        j = model.joint_names.index(joint)
        low, high = max(low, lower[j]), min(high, upper[j])
        if not low < high:
            raise ParameterError(
                f'--range {entry}: joint {joint!r} has position limits from {lower[j]:g} to '
                f'{upper[j]:g}; give a range within them', joint=joint)
        lower[j], upper[j] = low, high
    return replace(model, lower=lower, upper=upper)


def _parsed(entry: str) -> tuple[str, float, float]:
    joint, *bounds = entry.rsplit(':', 2)  # a name may contain colons
    try:
        low, high = map(float, bounds)
    except ValueError:
        low = high = np.nan
    if not joint or not low < high:
        raise ParameterError(f'--range {entry}: write it as joint:lower:upper with lower < upper, '
                             'such as shoulder:-0.5:0.5')
    return joint, low, high


def check_present(model: RobotModel, ranges: Iterable[str], q: NDArray) -> None:
    """
    Check that the arm is within the ranges before a motion; of other joints, nothing.

    Parameters
    ----------
    model : RobotModel
        Model of the arm.
    ranges : iterable of str
        As for `restricted`.
    q : (nv,) array
        Position of the arm.

    Raises
    ------
    StateError
        A joint is beyond its range.

    """
    allowed = restricted(model, ranges)
    given = (allowed.lower > model.lower) | (allowed.upper < model.upper)
    for j in np.flatnonzero(given):
        name, each, low, high = model.joint_names[j], q[j], allowed.lower[j], allowed.upper[j]
        if not low - _SLACK <= each <= high + _SLACK:
            raise StateError(f'joint {name!r} is at {each:.3g}, outside its range from {low:.3g} '
                             f'to {high:.3g}: move the arm there first, or change --range',
                             joint=name)


def described(dynamics: Dynamics, points: tuple[NDArray, ...],
              start: NDArray | None = None) -> list[str]:
    """
    Return where a motion passes as lines: positions and speeds of joints, heights of the links.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm.
    points : tuple of arrays
        Times in s, positions, velocities and accelerations, (n,) and (n, nv).
    start : (nv,) array, optional
        Position at time 0; without it, the motion begins at the first point.

    """
    model, (times, positions, velocities, accelerations) = dynamics.model, points
    begin = times[0] if start is None else 0.0
    motion = Trajectory.from_points(
        times - begin, positions, velocities, accelerations,
        start=Reference.at_rest(positions[0] if start is None else start))
    states = [motion.sample(float(t)) for t in np.linspace(0.0, times[-1] - begin, _SAMPLES)]
    q, qd = (np.array([getattr(each, name) for each in states]) for name in ('q', 'qd'))
    rows = [(name, *map(number, values)) for name, *values in zip(
        model.joint_names, q.min(axis=0), q.max(axis=0), np.abs(qd).max(axis=0))]
    return [*table(('joint', 'from (rad|m)', 'to', 'speed (1/s)'), rows),
            f'{times[-1] - begin:.0f} s, ' + (
                'after a straight approach in joint space, which is not included'
                if start is None else 'with a straight approach in joint space')
            + f'. {_places(dynamics, q)}; shapes and collisions are not considered. --range '
            'restricts a joint.']


def _places(dynamics: Dynamics, q: NDArray) -> str:
    """Return the heights and distances of the links in states."""
    model = dynamics.model
    up = -np.asarray(model.gravity) if np.any(model.gravity) else np.array([0.0, 0.0, 1.0])
    up = up / np.linalg.norm(up)
    places = {link: dynamics.forward_kinematics(q, link)[:, :3, 3]
              for link, frame in model.links.items() if frame.body >= 0}
    places = {link: each for link, each in places.items()
              if np.ptp(each, axis=0).max() > _MOVES} or places
    heights = {link: each @ up for link, each in places.items()}
    lowest = min(heights, key=lambda link: heights[link].min())
    highest = max(each.max() for each in heights.values())
    reach = max(np.linalg.norm(each - np.outer(each @ up, up), axis=1).max()
                for each in places.values())
    return (f'The origins of the moving links pass from {heights[lowest].min():.2f} m ({lowest}) '
            f'to {highest:.2f} m above that of the base, at most {reach:.2f} m beside it')
