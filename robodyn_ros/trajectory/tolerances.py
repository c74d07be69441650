"""
Tolerances of the tracking error, as in joint_trajectory_controller.

In parameters 0 means unchecked. In a goal 0 means the parameter's value, a
positive number replaces it, and -1 leaves the joint unchecked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
import math

import numpy as np

from robodyn_ros.exceptions import near_matches, ParameterError, shown, TrajectoryError
from robodyn_ros.trajectory.result import ResultCode

UNCHECKED = math.inf


@dataclass(frozen=True, slots=True)
class JointTolerance:
    """
    Tolerance of one joint as a goal gives it.

    Accelerations are not measured, so a goal's acceleration tolerance is ignored.
    """

    name: str
    position: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Tolerances:
    """
    Tolerances of the distance from the reference; infinite means unchecked.

    Attributes
    ----------
    path, path_velocity : numpy.ndarray
        (nv,) tolerances while moving, in rad or m and rad/s or m/s.
    goal, goal_velocity : numpy.ndarray
        (nv,) tolerances that must be met after the last point.
    goal_time : float
        Time after the last point within which they must be met, in s.

    """

    path: np.ndarray
    path_velocity: np.ndarray
    goal: np.ndarray
    goal_velocity: np.ndarray
    goal_time: float = UNCHECKED

    def __post_init__(self):
        for name in ('path', 'path_velocity', 'goal', 'goal_velocity'):
            values = np.array(getattr(self, name), dtype=float)
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def none(cls, nv: int) -> Tolerances:
        """Return tolerances of `nv` joints that check nothing."""
        unchecked = np.full(nv, UNCHECKED)
        return cls(unchecked, unchecked, unchecked, unchecked)

    @classmethod
    def from_defaults(cls, nv: int, trajectory=0.0, goal=0.0, goal_time: float = 0.0,
                      stopped_velocity: float = 0.01) -> Tolerances:
        """
        Make tolerances from `constraints` parameters, where 0 means unchecked.

        Parameters
        ----------
        nv : int
            Number of joints.
        trajectory, goal : float or (nv,)
            Position tolerances in rad or m.
        goal_time : float
            Time tolerance in seconds.
        stopped_velocity : float or (nv,)
            Velocity in rad/s or m/s below which a joint counts as at rest.

        """
        return cls(_parameter('trajectory', trajectory, nv), np.full(nv, UNCHECKED),
                   _parameter('goal', goal, nv),
                   _parameter('stopped_velocity_tolerance', stopped_velocity, nv),
                   float(_parameter('goal_time', goal_time, 1)[0]))

    def override(self, joint_names: Sequence[str], path: Iterable[JointTolerance] = (),
                 goal: Iterable[JointTolerance] = (), goal_time: float = 0.0) -> Tolerances:
        """
        Return these tolerances, replaced by those that a goal gives.

        Raises
        ------
        TrajectoryError
            An unknown joint, or a value below 0 that is not -1.

        """
        path_q, path_v = _merge('path_tolerance', joint_names, path,
                                self.path, self.path_velocity)
        goal_q, goal_v = _merge('goal_tolerance', joint_names, goal,
                                self.goal, self.goal_velocity)
        return replace(
            self, path=path_q, path_velocity=path_v, goal=goal_q, goal_velocity=goal_v,
            goal_time=_chosen('goal_time_tolerance', goal_time, self.goal_time))


def _parameter(name, value, nv) -> np.ndarray:
    try:
        values = np.array(np.broadcast_to(np.asarray(value, dtype=float), (nv,)))
    except ValueError as error:
        raise ParameterError(f'constraints {name}: {value!r} does not fit {nv} joints',
                             parameter=name, value=value) from error
    if not (values >= 0.0).all():
        raise ParameterError(f'constraints {name}: {value!r} holds a value that is not 0 or more; '
                             f'0 means unchecked', parameter=name, value=value)
    values[values == 0.0] = UNCHECKED
    return values


def _merge(field, joint_names, tolerances, position, velocity):
    index = {name: i for i, name in enumerate(joint_names)}
    position, velocity = np.array(position), np.array(velocity)
    for tolerance in tolerances:
        name = tolerance.name
        if name not in index:
            raise TrajectoryError(
                f'{field}: the model has no joint {shown(name)}; '
                + near_matches(name, joint_names),
                joint=name, code=ResultCode.INVALID_JOINTS)
        j = index[name]
        where = f"{field} of joint '{name}'"
        position[j] = _chosen(f'{where}, position', tolerance.position, position[j], name)
        velocity[j] = _chosen(f'{where}, velocity', tolerance.velocity, velocity[j], name)
    return position, velocity


def _chosen(where, value, default, joint=None) -> float:
    if value == 0.0:
        return float(default)
    if value == -1.0:
        return UNCHECKED
    if value > 0.0:
        return float(value)
    raise TrajectoryError(
        f'{where}: {value:g} is not a tolerance; use a positive number, 0 for the default '
        f'or -1 for none', joint=joint, value=value, code=ResultCode.INVALID_GOAL)
