"""Findings about a URDF: defects, implausible values, and the roles of joints."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.dynamics.cut_off import cut_off
from robodyn_ros.exceptions import ModelError
from robodyn_ros.inspection.finding import Finding, listed, NOTE, STOP, WARNING
from robodyn_ros.model import RobotModel
from robodyn_ros.model.description import Description, read_description
from robodyn_ros.model.findings import WarningList
from robodyn_ros.model.joints import Joint, Mimic
from robodyn_ros.model.mimic import Coordinate
from robodyn_ros.model.robot import Robot
from robodyn_ros.model.selection import select, Selection
from robodyn_ros.model.source import read_source

_MAX_EFFORT = 1e5  # N m or N; a limit above protects nothing
# limits above the first value are implausible; above the second they are placeholders for none
_TURNS, _NO_LIMIT = 4.0 * math.pi, 1000.0   # rad
_SLIDE, _NO_SLIDE = 10.0, 1e5               # m
_SPEED, _NO_SPEED = 60.0, 4000.0            # rad/s
_SAME = 1e-6

# warnings of the model that findings here replace, with all names
_REPLACED = ('effort limit of the joint is 0', 'velocity limit of the joint is 0',
             'locked joints: ', 'joint mimics ')
# largest plausible distance of a centre of mass from the frame of its link: ratio to the length of
# all links, and at least so many m
_FAR, _NEAR = 3.0, 1.0
_INERTIAL = 'principal moment'


class Reading(NamedTuple):
    """
    Result of reading a URDF.

    Attributes
    ----------
    model : RobotModel or None
        The model; None if the URDF has defects.
    findings : list of Finding
    roles : dict of str to str
        Role of each joint of the URDF: moves, fixed, mimics another, locked, or left out.

    """

    model: RobotModel | None
    findings: list[Finding]
    roles: dict[str, str]


def read(robot: Robot) -> Reading:
    """
    Read a URDF and return the model with findings.

    Raises
    ------
    ModelError
        The file cannot be read, or a valid URDF does not have a selected link or joint.

    """
    text = read_source(robot.urdf)
    selected = robot.selection()
    try:
        model = RobotModel.from_urdf(text, gravity=robot.gravity, **selected)
    except ModelError as error:
        if any(selected.values()) and _is_of_selection(text, error):
            raise
        return Reading(None, [*_problems(error), *limits_without_model(text)], {})
    description = read_description(text, WarningList())
    selection = select(description, **selected, warnings=WarningList())
    roles = _roles(description, selection)
    cut = cut_off(model, text, robot.gravity, selected)
    return Reading(model, [*_warnings(model), *([Finding(WARNING, 'joints', cut)] if cut else []),
                           *_sizes(model, description),
                           *limits(model.joint_names, model.effort_limit, model.velocity_limit),
                           *units(description), *soft_limits(text, description),
                           *followers(model, description, selection), *_left_out(roles)], roles)


def _is_of_selection(text: str | bytes, error: ModelError) -> bool:
    """Return whether an error is caused by the selection, not by the URDF."""
    try:
        RobotModel.from_urdf(text)
    except ModelError as other:
        return str(other) != str(error)
    return True


def _problems(error: ModelError) -> list[Finding]:
    return [Finding(STOP, _kind(str(each)), str(each))
            for each in error.evidence.get('problems', (error,))]


def _warnings(model: RobotModel) -> list[Finding]:
    return [Finding(WARNING, _kind(text), text) for text in model.warnings
            if not text.startswith(_REPLACED)]


def _kind(text: str) -> str:
    return 'inertia' if _INERTIAL in text else 'model'


def _sizes(model: RobotModel, description: Description) -> list[Finding]:
    """Find implausible centres of mass and inertias, as wrong units cause them."""
    longest = float(sum(np.linalg.norm(joint.translation)
                        for joint in description.joints.values()))
    found = []
    for name, frame in model.links.items():
        link = description.links[name]
        if frame.body < 0 or not link.mass or not longest:
            continue
        away = float(np.linalg.norm(link.com))
        if away > max(_FAR * longest, _NEAR):
            found.append(Finding(WARNING, 'inertia', (
                f'link {name!r}: its centre of mass is {away:.4g} m away from its frame, all '
                f'links together are {longest:.3g} m long: check <origin xyz> in its <inertial>, '
                'the unit is m, not mm')))
        radius = np.sqrt(max(0.0, np.trace(link.inertia)) / (2.0 * link.mass))
        if radius > longest:
            found.append(Finding(WARNING, 'inertia', (
                f'link {name!r}: {link.mass:.4g} kg with this inertia have a radius of gyration '
                f'of {radius:.3g} m, more than the length of all links ({longest:.3g} m): check '
                'ixx .. izz, the unit is kg m^2, and that they are not placeholders')))
    return found


def _roles(description: Description, selection: Selection) -> dict[str, str]:
    inside = {joint.name for joint in selection.joints}
    roles = {}
    for name, joint in description.joints.items():
        if name not in inside:
            roles[name] = 'left out'
        elif joint.kind == 'fixed':
            roles[name] = 'fixed'
        elif name in selection.locked:
            roles[name] = f'locked at {selection.locked[name]:g}'
        elif name in selection.mimics:
            mimic = selection.mimics[name]
            roles[name] = f'mimics {mimic.joint} * {mimic.multiplier:g} + {mimic.offset:g}'
        else:
            roles[name] = 'moves'
    return roles


def _left_out(roles: dict[str, str]) -> list[Finding]:
    """Return notes about joints that are not coordinates of the model."""
    found = []
    for role, what in (('fixed', 'fixed joints'), ('locked', 'locked joints'),
                       ('mimics', 'mimic joints'),
                       ('left out', 'joints above or beside the base link, left out')):
        names = [name for name, actual in roles.items() if actual.startswith(role)]
        if names:
            texts = names if role in ('fixed', 'left out') else [
                f'{name} ({roles[name]})' for name in names]
            found.append(Finding(NOTE, 'joints', f'{what} ({len(names)}): ' + ', '.join(texts)))
    return found


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
