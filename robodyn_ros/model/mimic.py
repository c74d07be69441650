"""Mimic joints: chains resolved to their leading joints, and the coordinates of the robot."""
from __future__ import annotations

import math
from typing import Iterable

from robodyn_ros.exceptions import ModelError, near_matches
from robodyn_ros.model.findings import WarningList
from robodyn_ros.model.joints import Joint, Mimic


def resolve_mimics(joints: dict[str, Joint]) -> dict[str, Mimic]:
    """
    Return, for every joint that mimics another, its relation to the leading joint of its chain.

    Raises
    ------
    ModelError
        If a joint mimics an unknown or fixed joint or, directly or not, itself.

    """
    resolved: dict[str, Mimic] = {}
    for joint in joints.values():
        path: list[Joint] = []
        seen: set[str] = set()
        while joint.mimic is not None and joint.name not in resolved:
            if joint.name in seen:
                names = ', '.join(repr(link.name) for link in path[:5])
                raise ModelError(f'joint {joint.name!r} mimics itself, by way of {names}; let one '
                                 'of them lead', joint=joint.name)
            seen.add(joint.name)
            path.append(joint)
            joint = _leader(joint, joint.mimic.joint, joints)
        for follower in reversed(path):
            assert follower.mimic is not None
            resolved[follower.name] = _chained(follower.mimic, resolved)
    return resolved


def _leader(joint: Joint, name: str, joints: dict[str, Joint]) -> Joint:
    if name not in joints:
        raise ModelError(f'joint {joint.name!r} mimics joint {name!r}, which does not exist; '
                         + near_matches(name, joints), joint=joint.name, mimic=name)
    if not joints[name].moves or not joint.moves:
        which = joints[name] if not joints[name].moves else joint
        raise ModelError(f'joint {joint.name!r} mimics joint {name!r}, but {which.name!r} is '
                         f'{which.kind}; remove <mimic> or correct the type', joint=joint.name,
                         mimic=name)
    return joints[name]


def _chained(mimic: Mimic, resolved: dict[str, Mimic]) -> Mimic:
    upper = resolved.get(mimic.joint)
    if upper is None:
        return mimic
    chained = Mimic(upper.joint, mimic.multiplier * upper.multiplier,
                    mimic.multiplier * upper.offset + mimic.offset)
    if not math.isfinite(chained.multiplier) or not math.isfinite(chained.offset):
        raise ModelError(f'mimicking joint {mimic.joint!r} multiplies up to {chained.multiplier}, '
                         f'offset {chained.offset}; give smaller multipliers', joint=mimic.joint)
    return chained


class Coordinate:
    """
    Limits and friction of a leading joint together with its followers.

    Followers move at `multiplier` times the leader's velocity. One motor, at the leader, drives
    all of them: the torque of the coordinate is tau = tau_leader + multiplier * tau_follower.
    Without load on the leader all of it passes to the follower, as tau / multiplier.
    """

    def __init__(self, leader: Joint) -> None:
        self.leader = leader
        self.lower, self.upper = leader.lower, leader.upper
        self.velocity, self.effort = leader.velocity, leader.effort
        self.damping, self.friction = leader.damping, leader.friction
        self.continuous = leader.kind == 'continuous'

    def include(self, follower: Joint, mimic: Mimic, warnings: WarningList) -> None:
        """Add a follower with position = multiplier * leader + offset."""
        factor = abs(mimic.multiplier)
        self.damping += factor * factor * follower.damping
        self.friction += factor * follower.friction
        bounded = math.isfinite(follower.lower) or math.isfinite(follower.upper)
        if self.continuous and (bounded or not mimic.multiplier.is_integer()):
            self.continuous = False  # after a full turn of the leader the follower is elsewhere
        if factor > 0.0:
            self._narrow_positions(follower, mimic)
            self._lower_limits(follower, factor, warnings)
        elif not follower.lower <= mimic.offset <= follower.upper:
            warnings.add('multiplier of <mimic> is 0 and its offset is outside the limits of the '
                         'joint', follower.name)

    def _narrow_positions(self, follower: Joint, mimic: Mimic) -> None:
        ends = sorted((end - mimic.offset) / mimic.multiplier
                      for end in (follower.lower, follower.upper))
        lower, upper = max(self.lower, ends[0]), min(self.upper, ends[1])
        if lower > upper:
            raise ModelError(
                f'joint {follower.name!r} mimics {self.leader.name!r} with multiplier '
                f'{mimic.multiplier:g} and offset {mimic.offset:g}, but no position of the '
                f'leader in {self.lower:g} .. {self.upper:g} keeps the follower within its limits '
                f'{follower.lower:g} .. {follower.upper:g}; correct limits or mimic',
                joint=follower.name, mimic=self.leader.name)
        self.lower, self.upper = lower, upper

    def _lower_limits(self, follower: Joint, factor: float, warnings: WarningList) -> None:
        """Lower velocity and effort limits to those of a follower with this |multiplier|."""
        # a follower has no motor, and exporters write limits of 0 for it
        for what, value in (('velocity', follower.velocity), ('effort', follower.effort)):
            if value == 0.0:
                warnings.add(f'{what} limit 0 of a joint that mimics another is taken as none',
                             follower.name)
        if follower.velocity > 0.0:
            self.velocity = min(self.velocity, follower.velocity / factor)
        if follower.effort > 0.0:
            self.effort = min(self.effort, follower.effort * factor)


def coordinates(joints: Iterable[Joint], mimics: dict[str, Mimic],
                warnings: WarningList) -> dict[str, Coordinate]:
    """
    Return the coordinates of the moving joints, by name of the leading joint, in joint order.

    Raises
    ------
    ModelError
        If no position of a leader is within its follower's limits.

    """
    moving = list(joints)
    found = {joint.name: Coordinate(joint) for joint in moving if joint.name not in mimics}
    for joint in moving:
        if joint.name in mimics:
            mimic = mimics[joint.name]
            found[mimic.joint].include(joint, mimic, warnings)
            warnings.add(f'joint mimics {mimic.joint!r} and is no coordinate of its own',
                         joint.name)
    return found
