"""Construction of the arrays of a RobotModel from a URDF: order, lumping, coordinates."""
from __future__ import annotations

import os
from typing import Any, Mapping

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ModelError
from robodyn_ros.model.description import Description, read_description
from robodyn_ros.model.findings import Problems, WarningList
from robodyn_ros.model.frame import Frame, frame_at_origin, read_only, rotation_about, snap
from robodyn_ros.model.inertia import parallel_axis, principal_moments_and_axes, rotate_inertia
from robodyn_ros.model.joints import Joint, Mimic
from robodyn_ros.model.links import Link, ROUNDING
from robodyn_ros.model.mimic import Coordinate, coordinates
from robodyn_ros.model.placeholders import doubts
from robodyn_ros.model.selection import select, Selection

EARTH = np.array([0.0, 0.0, -9.81])  # m/s^2, in the frame of the root of a URDF

NEGLIGIBLE = 1e-12  # inertia about the axis, relative to the trace of the inertia


def build_model(source: str | bytes | os.PathLike, gravity: NDArray, base: str | None,
                tip: str | None, locked: Mapping[str, float] | None) -> dict[str, Any]:
    """
    Return the fields of the RobotModel of a URDF, by name.

    Raises
    ------
    ModelError
        If the URDF or the selection is faulty.

    """
    warnings = WarningList()
    description = read_description(source, warnings)
    selection = select(description, base, tip, locked, warnings)
    review_description(description, selection, warnings)
    with np.errstate(over='ignore', invalid='ignore'):  # reported by _check_finite
        bodies = _lump(description, selection)
        bodies.check_inertias(warnings)
        fields = {**bodies.fields(), **_coordinate_fields(bodies, selection, warnings)}
    _check_finite(fields)
    review_fields(fields, warnings)
    gravity = in_base(gravity, description, selection.base, warnings)
    return {'name': description.name, 'base_link': selection.base, 'gravity': gravity,
            **fields, 'warnings': warnings.lines()}


def in_base(gravity: NDArray, description: Description, base: str,
            warnings: WarningList) -> NDArray:
    """
    Return gravity in the base frame; that of the earth is turned by the joints above the base.

    Moving joints above it count at position 0, and are named. Another gravity is one in the base
    frame, and is not turned.
    """
    above = {joint.child: joint for joint in description.joints.values()}
    rotation, moving, link = np.eye(3), [], base
    while link in above:
        joint = above[link]
        rotation, link = joint.rotation @ rotation, joint.parent
        moving += [joint.name] if joint.moves else []
    turned = snap(rotation.T @ EARTH)
    if not np.array_equal(gravity, EARTH) or np.allclose(turned, EARTH, atol=1e-6):
        return gravity
    warnings.add(f'base link {base!r} is tilted: gravity there is '
                 f'({", ".join(f"{x:.4g}" for x in turned)}); another one is set by gravity')
    for name in moving:
        warnings.add('joint above the base turns gravity, and is regarded as standing at 0', name)
    return read_only(turned)


class _Bodies:
    """The bodies built so far; entry 0 of the lumped lists is the fixed base."""

    def __init__(self) -> None:
        self.joints: list[Joint] = []
        self.frames: list[Frame] = []  # joint frames in the parent bodies
        self.links: dict[str, Frame] = {}
        self.mass = [0.0]
        self.first_moment = [np.zeros(3)]
        self.inertia = [np.zeros((3, 3))]
        self.flawed: list[Link] = []

    def start_body(self, joint: Joint, frame: Frame) -> Frame:
        """Add a body at a moving joint and return the frame of its link."""
        self.joints.append(joint)
        self.frames.append(frame)
        self.mass.append(0.0)
        self.first_moment.append(np.zeros(3))
        self.inertia.append(np.zeros((3, 3)))
        return frame_at_origin(len(self.joints) - 1)

    def add(self, link: Link, frame: Frame) -> None:
        """Lump a link into its body."""
        self.links[link.name] = frame
        if link.flaw:
            self.flawed.append(link)
        slot = frame.body + 1
        com = frame.rotation @ link.com + frame.translation
        self.mass[slot] += link.mass
        self.first_moment[slot] = self.first_moment[slot] + link.mass * com
        self.inertia[slot] = self.inertia[slot] + parallel_axis(
            rotate_inertia(link.inertia, frame.rotation), link.mass, com)

    def check_inertias(self, warnings: WarningList) -> None:
        """Raise for links with impossible inertia, unless their lumped body is valid."""
        problems = Problems()
        for link in self.flawed:
            slot = self.links[link.name].body + 1
            with problems.collect():
                if slot > 0 and not _sound(self.mass[slot], self.first_moment[slot],
                                           self.inertia[slot]):
                    raise ModelError(link.flaw, link=link.name, inertia=link.inertia.tolist())
                warnings.add(f'{link.flaw}; it is fixed to others that make up for it')
        problems.raise_any()

    def fields(self) -> dict[str, Any]:
        """Return the fields of the model that describe its bodies."""
        return {
            'body_names': tuple(joint.child for joint in self.joints),
            'body_joints': tuple(joint.name for joint in self.joints),
            'parent': [frame.body for frame in self.frames],
            'prismatic': [joint.kind == 'prismatic' for joint in self.joints],
            'axis': [joint.axis for joint in self.joints],
            'rotation': [frame.rotation for frame in self.frames],
            'translation': [frame.translation for frame in self.frames],
            'mass': self.mass[1:],
            'first_moment': self.first_moment[1:],
            'inertia': self.inertia[1:],
            'links': self.links,
            'base_mass': self.mass[0],
            'base_first_moment': self.first_moment[0],
        }


def _lump(description: Description, selection: Selection) -> _Bodies:
    bodies = _Bodies()
    bodies.add(description.links[selection.base], frame_at_origin(-1))
    for joint in selection.joints:  # parents first
        frame = bodies.links[joint.parent].compose(joint.rotation, joint.translation)
        if joint.kind == 'fixed':
            pass
        elif joint.name in selection.locked:
            frame = frame.compose(*_displacement(joint, selection.locked[joint.name]))
        else:
            frame = bodies.start_body(joint, frame)
        bodies.add(description.links[joint.child], frame)
    return bodies


def _sound(mass: float, first_moment: NDArray, inertia: NDArray) -> bool:
    com = first_moment / mass if mass > 0.0 else np.zeros(3)
    central = parallel_axis(inertia, -mass, com)
    if not np.all(np.isfinite(central)):
        return False
    moments, _ = principal_moments_and_axes(central)
    return bool(moments[0] >= -ROUNDING * max(moments[-1], 0.0))


def _displacement(joint: Joint, position: float) -> tuple[NDArray, NDArray]:
    if joint.kind == 'prismatic':
        return np.eye(3), position * joint.axis
    if joint.moves:
        return rotation_about(joint.axis, position), np.zeros(3)
    return np.eye(3), np.zeros(3)  # floating and planar joints are locked at 0 only


def _coordinate_fields(bodies: _Bodies, selection: Selection,
                       warnings: WarningList) -> dict[str, Any]:
    found = coordinates(bodies.joints, selection.mimics, warnings)
    index = {name: position for position, name in enumerate(found)}
    mimics = [selection.mimics.get(joint.name, Mimic(joint.name, 1.0, 0.0))
              for joint in bodies.joints]
    listed: list[Coordinate] = list(found.values())
    return {
        'joint_names': tuple(found),
        'lower': [one.lower for one in listed],
        'upper': [one.upper for one in listed],
        'velocity_limit': [one.velocity for one in listed],
        'effort_limit': [one.effort for one in listed],
        'damping': [one.damping for one in listed],
        'friction': [one.friction for one in listed],
        'continuous': [one.continuous for one in listed],
        'coordinate': [index[mimic.joint] for mimic in mimics],
        'multiplier': [mimic.multiplier for mimic in mimics],
        'offset': [mimic.offset for mimic in mimics],
    }


def _check_finite(fields: dict[str, Any]) -> None:
    # all numbers of the URDF are finite, but products of huge ones overflow
    for what in ('translation', 'mass', 'first_moment', 'inertia'):
        for name, value in zip(fields['body_names'], fields[what]):
            if not np.all(np.isfinite(value)):
                raise ModelError(f'link {name!r}: its {what.replace("_", " ")}, with all that is '
                                 'fixed to it, is too large for a number; correct the masses, '
                                 'inertias and distances', link=name)
    others = [fields['base_first_moment'], [fields['base_mass']], fields['damping'],
              fields['friction']]
    others += [frame.translation for frame in fields['links'].values()]
    if not all(np.all(np.isfinite(value)) for value in others):
        raise ModelError('masses, distances or friction of the URDF add up to more than a number '
                         'can hold; correct them')


def review_description(description: Description, selection: Selection,
                       warnings: WarningList) -> None:
    """Add warnings about locked joints and links that are left out."""
    if selection.locked:
        positions = (f'{name} at {position:g}' for name, position in selection.locked.items())
        warnings.add('locked joints: ' + ', '.join(positions))
    left_out = len(description.links) - len(selection.joints) - 1
    if left_out:
        warnings.add(f'{left_out} links above or beside base link {selection.base!r} are left out')


def review_fields(fields: dict[str, Any], warnings: WarningList) -> None:
    """Add warnings about bodies without mass, and joints that move no inertia."""
    for text, joint in doubts(fields):
        warnings.add(text, joint)
    massless = _massless_bodies(fields)
    coordinate = fields['coordinate']
    loaded = {coordinate[body] for body, none in enumerate(massless) if not none}
    for body, name in enumerate(fields['body_joints']):
        if coordinate[body] not in loaded:
            warnings.add('joint moves no mass or inertia, the mass matrix is singular; give the '
                         'links it moves an inertial or make it fixed', name)
        elif not _has_mass(fields, body):
            warnings.add('link is moved by a joint but has no mass', fields['body_names'][body])


def _massless_bodies(fields: dict[str, Any]) -> list[bool]:
    count = len(fields['mass'])
    mass_below = [False] * count
    for body in reversed(range(count)):  # children first
        parent = fields['parent'][body]
        if parent >= 0 and (mass_below[body] or _has_mass(fields, body)):
            mass_below[parent] = True
    return [not mass_below[body] and not _has_joint_inertia(fields, body) for body in range(count)]


def _has_mass(fields: dict[str, Any], body: int) -> bool:
    return fields['mass'][body] > 0.0 or bool(np.any(fields['inertia'][body]))


def _has_joint_inertia(fields: dict[str, Any], body: int) -> bool:
    if fields['prismatic'][body]:
        return fields['mass'][body] > 0.0
    axis, inertia = fields['axis'][body], fields['inertia'][body]
    return bool(axis @ inertia @ axis > NEGLIGIBLE * np.trace(inertia))
