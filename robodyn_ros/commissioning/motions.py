"""Motions of a commissioning: planned, and shown before the arm executes them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.commissioning.ranges import check_present, described
from robodyn_ros.commissioning.work import Work
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import StateError
from robodyn_ros.files import read_json
from robodyn_ros.identification import Bounds, Search
from robodyn_ros.identification.excitation import check, sampled
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.simulation.motion import plan_motion
from robodyn_ros.trajectory import least_duration

_SHARE = 0.3           # part of the velocity limits on the way to the first point
_LEAST_APPROACH = 3.0  # s
_LOOK = 0.1            # s of states before a motion
_COMPARED = 'motion.json'  # file of the motion that is compared


class Plan(NamedTuple):
    """
    A motion from rest to rest.

    Attributes
    ----------
    points : tuple of arrays
        Times from 0 on in s, positions, velocities and accelerations, (n,) and (n, nv).
    lines : list of str
        Where it passes, for the user.
    condition : float
        Condition number of an excitation; NaN of another motion.

    """

    points: tuple[NDArray, ...]
    lines: list[str]
    condition: float = float('nan')

    @property
    def duration(self) -> float:
        """Time from the first point to the last, in s."""
        return float(self.points[0][-1])


def compared(work: Work) -> Plan:
    """
    Return the motion whose tracking error is compared: after `before`, the one of that step.

    Raises
    ------
    StateError
        The motion of the step before leaves the ranges that are given now.
    RobodynError
        It cannot be read.

    """
    dynamics, path = work.within_ranges(work.dynamics), work.folder / _COMPARED
    if 'before' in work.folder.done and path.exists():
        points = read_json(path, lambda found: _points(found, dynamics.nv),
                           'measure another one with --repeat before')
        if not ((points[1] >= dynamics.model.lower) & (points[1] <= dynamics.model.upper)).all():
            raise StateError('the motion of the step before leaves --range: measure another one '
                             'with --repeat before')
    else:
        motion = plan_motion(dynamics, work.duration, work.speed)
        points = (motion.times - motion.times[0], motion.positions, motion.velocities,
                  motion.accelerations)
        path.write_text(json.dumps([each.tolist() for each in points]) + '\n', encoding='utf-8')
    return _shown(work, dynamics, points)


def _points(found: Any, nv: int) -> tuple[NDArray, ...]:
    """Return times, positions, velocities and accelerations from the content of a file."""
    times, *rows = (np.array(each, dtype=float) for each in found)
    if (len(rows) != 3 or times.ndim != 1 or len(times) < 2
            or any(each.shape != (len(times), nv) for each in rows)
            or not all(np.isfinite(each).all() for each in (times, *rows))
            or times[0] != 0.0 or not (np.diff(times) > 0.0).all()):
        raise ValueError(f'not a motion of {nv} joints')
    return times, *rows


def excitation(work: Work, velocity: float) -> Plan:
    """Return an excitation within part of the velocity limits."""
    dynamics = work.within_ranges(work.best_dynamics())
    search = Search(dynamics, Bounds.of(dynamics, 0.8, velocity * work.pace, 0.6),
                    work.excitation)
    found = search.best(work.seed, work.search, tick=lambda value: work.tick(
        f'condition number {value:.3g}'))
    points = sampled(found.motion, 0.0)
    check(dynamics, points)
    return _shown(work, dynamics, points, found.after)


def _shown(work: Work, dynamics: Dynamics, points: tuple[NDArray, ...],
           condition: float = float('nan')) -> Plan:
    """Return the plan of points from time 0 on, with the approach if it is known."""
    if not work.started:
        return Plan(points, described(dynamics, points), condition)
    q = work.arm.watch(_LOOK).position[-1]
    return Plan(points, described(dynamics, _from(work, q, points), q), condition)


def approached(work: Work, plan: Plan) -> tuple[NDArray, ...]:
    """
    Return the points of a plan after an approach from where the arm is.

    Raises
    ------
    StateError
        The arm is outside the ranges.

    """
    return _from(work, work.arm.watch(_LOOK).position[-1], plan.points)


def _from(work: Work, q: NDArray, points: tuple[NDArray, ...]) -> tuple[NDArray, ...]:
    """Return points after an approach from a position."""
    times, positions, *derivatives = points
    check_present(work.model, work.ranges, q)
    approach = max(_LEAST_APPROACH, least_duration(speeds(work.model), positions[0] - q, _SHARE))
    return (approach + times, positions, *derivatives)
