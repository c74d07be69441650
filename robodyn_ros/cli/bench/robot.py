"""A robot with the same meaning for all libraries, and its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel


class BenchRobot:
    """
    A robot and a state.

    Parameters
    ----------
    name : str
    text : str
        URDF of the rigid bodies, see `plain`.
    **selection
        Base, tip and locked joints, as for `RobotModel.from_urdf`.

    Attributes
    ----------
    model : RobotModel
        Model; its joint order is that of the state.
    link : str
        Link with the most joints between it and the base.
    state : dict of str to (nv,) array
        q, qd, qdd and tau.

    """

    def __init__(self, name: str, text: str, **selection: Any):
        self.name, self.text = name, text
        self.model = RobotModel.from_urdf(text, **selection)
        self.joints = self.model.nv
        self.link = self.model.body_names[int(np.argmax(_depths(self.model)))]
        self.state = dict(zip(('q', 'qd', 'qdd', 'tau'), self.states(4)))

    def states(self, count: int, rows: int | None = None) -> np.ndarray:
        """Return random arrays inside the position limits; (count, [rows,] nv)."""
        rng = np.random.default_rng(1)
        low, high = (np.clip(limit, -2.0, 2.0) for limit in (self.model.lower, self.model.upper))
        shape = (count, self.joints) if rows is None else (count, rows, self.joints)
        return low + (high - low) * rng.random(shape)


class Order:
    """
    Conversion between our order of joints and that of another library.

    Parameters
    ----------
    ours, theirs : sequence of str
        Names of the joints.

    Raises
    ------
    RobodynError
        The names are not the same.

    """

    def __init__(self, ours: Sequence[str], theirs: Sequence[str]):
        if sorted(ours) != sorted(theirs):
            raise RobodynError(f'the joints are {", ".join(ours)} here, but {", ".join(theirs)} '
                               'in the library to compare with')
        self._theirs = np.array([list(ours).index(name) for name in theirs])
        self._ours = np.argsort(self._theirs)

    def of(self, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return a copy of a state in the order of the other library."""
        return {name: np.ascontiguousarray(row[..., self._theirs]) for name, row in state.items()}

    def columns(self, array) -> np.ndarray:
        """Return a vector or the columns of a matrix in our order."""
        return np.asarray(array)[..., self._ours]

    def square(self, matrix) -> np.ndarray:
        """Return rows and columns in our order."""
        return np.asarray(matrix)[np.ix_(self._ours, self._ours)]


def plain(path: str | PathLike, fixed: Sequence[str] = ()) -> str:
    """
    Return a URDF with the same meaning for all libraries.

    Shapes and friction are left out. Mimic joints, which some libraries ignore, are fixed;
    continuous joints, which have two coordinates in Pinocchio, get limits.
    """
    root = ElementTree.parse(path).getroot()
    for link in root.iter('link'):
        for shape in (*link.findall('visual'), *link.findall('collision')):
            link.remove(shape)
    for joint in root.findall('joint'):
        for part in joint.findall('dynamics'):
            joint.remove(part)
        if joint.get('name') in fixed or joint.find('mimic') is not None:
            joint.set('type', 'fixed')
            for part in (*joint.findall('mimic'), *joint.findall('limit')):
                joint.remove(part)
        if joint.get('type') == 'continuous':
            _bound(joint)
    for kind in ('transmission', 'gazebo', 'mujoco'):
        for part in root.findall(kind):
            root.remove(part)
    return ElementTree.tostring(root, encoding='unicode')


def _bound(joint: ElementTree.Element) -> None:
    joint.set('type', 'revolute')
    limit = joint.find('limit')
    limit = ElementTree.SubElement(joint, 'limit') if limit is None else limit
    for key, value in (('lower', '-6.28'), ('upper', '6.28'), ('effort', '100'),
                       ('velocity', '10')):
        limit.set(key, limit.get(key, value))


def _depths(model: RobotModel) -> list[int]:
    depth: list[int] = []
    for parent in model.parent:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    return depth
