"""Limits of a URDF: missing ones, wrong units, soft limits, and limits of mimic joints."""

from __future__ import annotations

from collections.abc import Sequence
import math
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.cli.check.finding import Finding, listed, NOTE, STOP, WARNING
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.description import Description, read_description
from robodyn_ros.model.findings import WarningList
from robodyn_ros.model.joints import Joint, Mimic
from robodyn_ros.model.mimic import Coordinate
from robodyn_ros.model.selection import Selection

_MAX_EFFORT = 1e5  # N m or N; a limit above protects nothing
# limits above the first value are implausible; above the second they are placeholders for none
_TURNS, _NO_LIMIT = 4.0 * math.pi, 1000.0   # rad
_SLIDE, _NO_SLIDE = 10.0, 1e5               # m
_SPEED, _NO_SPEED = 60.0, 4000.0            # rad/s
_SAME = 1e-6


def limits(joint_names: Sequence[str], effort: np.ndarray,
           velocity: np.ndarray) -> list[Finding]:
    """Return findings about limits that are missing, or too high to protect the joint."""
    names = np.array(joint_names)
    rows = (
        (STOP, ~np.isfinite(effort) | (effort <= 0.0), 'effort limit missing or 0 (N m or N)',
         'the controller refuses to start without one: write the largest torque or force of the '
         'motor at the joint into <limit effort>, or set the parameter effort_limit'),
        (WARNING, np.isfinite(effort) & (effort > _MAX_EFFORT),
         f'effort limit above {_MAX_EFFORT:g} N m or N', 'it protects nothing: write the largest '
         'torque or force of the motor at the joint into <limit effort>'),
        (WARNING, ~np.isfinite(velocity) | (velocity <= 0.0),
         'velocity limit missing or 0 (rad/s or m/s)', 'the speed of trajectories is not checked: '
         'write it into <limit velocity>'))
    return [Finding(level, 'limits', f'{what} at {listed(names[bad])}; {remedy}')
            for level, bad, what, remedy in rows if bad.any()]


def limits_without_model(text: str | bytes) -> list[Finding]:
    """Return findings about limits without a model, if each joint and link is valid by itself."""
    try:
        description = read_description(text, WarningList())
    except ModelError:
        return []
    moving = [joint for joint in description.joints.values()
              if joint.moves and joint.mimic is None]
    return [*limits([joint.name for joint in moving],
                    np.array([joint.effort for joint in moving]),
                    np.array([joint.velocity for joint in moving])), *units(description)]


def units(description: Description) -> list[Finding]:
    """Return findings about limits that seem to be in degrees or millimetres."""
    joints = description.joints.values()
    turning = [joint for joint in joints if joint.kind == 'revolute']
    sliding = [joint for joint in joints if joint.kind == 'prismatic']
    rows = (
        (turning, _largest, _TURNS, _NO_LIMIT, 'position limits beyond two turns',
         'the unit of URDF is rad, not degrees'),
        (sliding, _largest, _SLIDE, _NO_SLIDE, 'position limits beyond 10 m',
         'the unit of URDF is m, not mm'),
        (turning, lambda joint: joint.velocity, _SPEED, _NO_SPEED,
         f'velocity limits above {_SPEED:g} rad/s',
         'the unit of URDF is rad/s, not degrees per second; or it is a placeholder'))
    found = []
    for group, value, least, most, what, remedy in rows:
        texts = [f"'{joint.name}' ({value(joint):g})" for joint in group
                 if least < value(joint) <= most]
        if texts:
            found.append(Finding(WARNING, 'limits', f'{what} at {", ".join(texts)}: {remedy}'))
    return found


def _largest(joint: Joint) -> float:
    return max(abs(joint.lower), abs(joint.upper))


def soft_limits(text: str | bytes, description: Description) -> list[Finding]:
    """Return findings about soft limits of <safety_controller> inside <limit>: they are unused."""
    inner = []
    # safe to parse: `read_description` rejects document types and entities
    for element in ElementTree.fromstring(text).findall('joint'):
        joint = description.joints.get(element.get('name', ''))
        if joint is None:
            continue
        for safety in element.findall('safety_controller'):
            lower, upper = (_number(safety.get(f'soft_{end}_limit')) for end in ('lower', 'upper'))
            # both 0 is the default, which means none
            if joint.moves and (lower or upper) and (
                    lower > joint.lower + _SAME or upper < joint.upper - _SAME):
                inner.append(f"'{joint.name}' ({_range(lower, upper)} within "
                             f'{_range(joint.lower, joint.upper)})')
    if not inner:
        return []
    return [Finding(WARNING, 'limits', (
        f'soft limits of <safety_controller> at {", ".join(inner)}: they are not used, the '
        'controller brakes at the ends of <limit lower upper>; write the limits to keep there'))]


def _number(text: str | None) -> float:
    try:
        return float(text or 0.0)
    except ValueError:
        return 0.0


def followers(model: RobotModel, description: Description,
              selection: Selection) -> list[Finding]:
    """Return findings about mimic joints that lower limits of their leaders, or leave no range."""
    lowered, unmet, stuck = [], [], []
    for joint in selection.moving:
        mimic = selection.mimics.get(joint.name)
        if mimic is None or mimic.multiplier == 0.0:
            continue
        leader = description.joints[mimic.joint]
        row = model.joint_names.index(leader.name)
        lower, upper = model.lower[row], model.upper[row]
        reached = sorted(mimic.multiplier * end + mimic.offset + 0.0 for end in (lower, upper))
        taken = _taken(Coordinate(leader), joint, mimic)
        if taken:
            lowered.append(f"'{joint.name}' from '{leader.name}' ({', '.join(taken)})")
        if lower == upper and leader.lower < leader.upper:
            stuck.append(leader.name)
        if any(math.isfinite(end) and abs(end - there) > _SAME * max(1.0, abs(end))
               for end, there in zip((joint.lower, joint.upper), reached)):
            unmet.append(f"'{joint.name}' ({_range(*reached)} of "
                         f'{_range(joint.lower, joint.upper)})')
    rows = ((NOTE, lowered, 'mimic joints lower the limits of their leaders: ', ''),
            (NOTE, unmet, 'position limits that mimic joints never reach: ', ''),
            (WARNING, [f"'{name}'" for name in dict.fromkeys(stuck)],
             'mimic joints leave no range to ', ': correct limits or <mimic>'))
    return [Finding(level, 'limits', start + ', '.join(names) + end)
            for level, names, start, end in rows if names]


def _taken(leader: Coordinate, joint: Joint, mimic: Mimic) -> list[str]:
    """Return the limits of its leader that a mimic joint lowers, old and new."""
    def shown():
        return (_range(leader.lower, leader.upper), f'{leader.velocity:g}', f'{leader.effort:g}')

    before = shown()
    leader.include(joint, mimic, WarningList())
    return [f'{what} {old} to {new}' for what, old, new in zip(
        ('position', 'velocity', 'effort'), before, shown()) if old != new]


def _range(lower: float, upper: float) -> str:
    return f'{lower + 0.0:g} .. {upper + 0.0:g}'  # no -0
