"""Findings about a URDF: defects, implausible values, and the roles of joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.cli.check.finding import Finding, NOTE, STOP, WARNING
from robodyn_ros.cli.check.limits import (
    followers, limits, limits_without_model, soft_limits, units)
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.description import Description, read_description
from robodyn_ros.model.findings import WarningList
from robodyn_ros.model.robot import Robot
from robodyn_ros.model.selection import select, Selection
from robodyn_ros.model.source import read_source

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
    return Reading(model, [*_warnings(model), *_sizes(model, description),
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
