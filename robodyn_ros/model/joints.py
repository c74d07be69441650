"""Joints of a URDF: pose, axis, limits, friction and mimic relation, checked."""
from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from urdf_parser_py import urdf

from robodyn_ros.exceptions import ModelError, near_matches
from robodyn_ros.model.findings import WarningList
from robodyn_ros.model.frame import rotation_from_rpy, snap
from robodyn_ros.model.links import pose

MOVING = ('revolute', 'continuous', 'prismatic')
TYPES = MOVING + ('fixed', 'floating', 'planar')


@dataclass(frozen=True, slots=True)
class Mimic:
    """Mimic relation: position = multiplier * position of ``joint`` + offset."""

    joint: str
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint between two links; x_parent = rotation x_child + translation at position 0."""

    name: str
    kind: str
    parent: str
    child: str
    rotation: NDArray
    translation: NDArray
    axis: NDArray
    lower: float
    upper: float
    velocity: float
    effort: float
    damping: float
    friction: float
    mimic: Mimic | None

    @property
    def moves(self) -> bool:
        """Whether the joint has exactly one degree of freedom."""
        return self.kind in MOVING

    def nearest_to_zero(self) -> float:
        """Return the position within the limits that is nearest to 0."""
        return min(max(0.0, self.lower), self.upper)


def check_type(name: str, kind: str | None) -> None:
    """Raise ModelError if the joint type is not one of URDF."""
    if kind not in TYPES:
        raise ModelError(f'joint {name!r}: type {kind!r} is not one of URDF; '
                         + near_matches(kind, TYPES), joint=name, type=kind)


def read_joint(joint: urdf.Joint, warnings: WarningList) -> Joint:
    """
    Check a parsed joint and convert it to numbers.

    Raises
    ------
    ModelError
        If axis, limits or friction are invalid.

    """
    xyz, rpy = pose(joint.origin)
    lower, upper, velocity, effort = _limits(joint, warnings)
    damping, friction = _friction(joint)
    mimic = None
    if joint.mimic is not None:
        mimic = Mimic(joint.mimic.joint,
                      1.0 if joint.mimic.multiplier is None else joint.mimic.multiplier,
                      joint.mimic.offset or 0.0)
    return Joint(joint.name, joint.type, joint.parent, joint.child, rotation_from_rpy(rpy),
                 np.array(xyz, dtype=float), _unit_axis(joint), lower, upper, velocity, effort,
                 damping, friction, mimic)


def _unit_axis(joint: urdf.Joint) -> NDArray:
    axis = np.array([1.0, 0.0, 0.0] if joint.axis is None else joint.axis, dtype=float)
    largest = np.max(np.abs(axis))
    if joint.type in MOVING and largest == 0.0:
        raise ModelError(f'joint {joint.name!r}: axis 0 0 0 has no direction; give the axis of '
                         'motion, such as 0 0 1', joint=joint.name, axis=axis.tolist())
    if largest == 0.0:
        return np.array([1.0, 0.0, 0.0])
    axis = axis / largest  # so that the norm of huge or tiny components is finite and not 0
    return snap(axis / np.linalg.norm(axis))


def _limits(joint: urdf.Joint, warnings: WarningList) -> tuple[float, float, float, float]:
    limit = joint.limit
    if limit is None:
        if joint.type in ('revolute', 'prismatic'):
            raise ModelError(
                f'joint {joint.name!r}: a {joint.type} joint needs a <limit>; give it effort, '
                'velocity, lower and upper' + (', or make it continuous'
                                               if joint.type == 'revolute' else ''),
                joint=joint.name)
        return -math.inf, math.inf, math.inf, math.inf
    for what, value in (('effort', limit.effort), ('velocity', limit.velocity)):
        if value < 0.0:
            raise ModelError(f'joint {joint.name!r}: {what} limit {value:g} is negative; give its '
                             'size', joint=joint.name, limit=what, value=value)
        if value == 0.0 and joint.type in MOVING:
            warnings.add(f'{what} limit of the joint is 0', joint.name)
    if joint.type == 'continuous':
        return -math.inf, math.inf, limit.velocity, limit.effort
    lower, upper = limit.lower or 0.0, limit.upper or 0.0
    if lower > upper:
        raise ModelError(f'joint {joint.name!r}: lower limit {lower:g} is above upper limit '
                         f'{upper:g}; swap or correct them', joint=joint.name, lower=lower,
                         upper=upper)
    if lower == upper and joint.type in MOVING:
        warnings.add(f'lower and upper limit of the joint are both {lower:g}, it cannot move',
                     joint.name)
    return lower, upper, limit.velocity, limit.effort


def _friction(joint: urdf.Joint) -> tuple[float, float]:
    if joint.dynamics is None:
        return 0.0, 0.0
    damping, friction = joint.dynamics.damping or 0.0, joint.dynamics.friction or 0.0
    for what, value in (('damping', damping), ('friction', friction)):
        if value < 0.0:
            raise ModelError(f'joint {joint.name!r}: {what} {value:g} is negative and would drive '
                             'the joint; give 0 or more', joint=joint.name, value=value)
    return damping, friction
