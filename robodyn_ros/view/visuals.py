"""Visual shapes of the links of a URDF, with poses and colours; mesh files are not loaded."""

from __future__ import annotations

from dataclasses import dataclass
import math
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model.frame import rotation_from_rpy
from robodyn_ros.model.source import read_text

# attributes of the element of each shape: name, number of values, and default
_SHAPES = {
    'box': (('size', 3, None),),
    'cylinder': (('radius', 1, None), ('length', 1, None)),
    'capsule': (('radius', 1, None), ('length', 1, None)),
    'sphere': (('radius', 1, None),),
    'mesh': (('scale', 3, '1 1 1'),),
}


@dataclass(frozen=True, eq=False)
class Visual:
    """
    A shape of a link.

    Attributes
    ----------
    link : str
    rotation, translation : (3, 3), (3,) array
        Pose in the frame of the link.
    shape : str
        box, cylinder, capsule, sphere or mesh.
    size : tuple of float
        Edges of a box; radius and length (m) of round shapes; scale of a mesh. The length of a
        capsule is that of its cylinder.
    file : str
        File of a mesh as in the URDF; else empty.
    color : tuple of float or None
        Red, green, blue and opacity, 0 to 1; None: that of the mesh.

    """

    link: str
    rotation: np.ndarray
    translation: np.ndarray
    shape: str
    size: tuple[float, ...]
    file: str = ''
    color: tuple[float, ...] | None = None


def read_visuals(urdf: str | bytes) -> tuple[list[Visual], list[str]]:
    """
    Return the shapes of all links, and messages about invalid ones.

    Parameters
    ----------
    urdf : str or bytes
        URDF that `RobotModel.from_urdf` has accepted, so that it declares no entities.

    """
    robot = ElementTree.fromstring(read_text(urdf))
    colors = {material.get('name'): _color(material) for material in robot.iter('material')
              if material.find('color') is not None}
    visuals, problems = [], []
    for link in robot.findall('link'):
        for element in link.findall('visual'):
            try:
                visuals.append(_visual(link.get('name', ''), element, colors))
            except ModelError as error:
                problems.append(str(error))
    return visuals, problems


def _visual(link: str, element: ElementTree.Element, colors: dict) -> Visual:
    geometry = element.find('geometry')
    found = [each for each in geometry if each.tag in _SHAPES] if geometry is not None else []
    if len(found) != 1:
        raise ModelError(f'a visual of link {link!r} is none of {", ".join(_SHAPES)}; it is not '
                         'drawn', link=link)
    shape = found[0]
    size = [number for name, count, default in _SHAPES[shape.tag]
            for number in _numbers(link, shape, name, count, default)]
    origin = element.find('origin')
    origin = ElementTree.Element('origin') if origin is None else origin
    xyz, rpy = (_numbers(link, origin, name, 3, '0 0 0') for name in ('xyz', 'rpy'))
    material = element.find('material')
    color = None
    if material is not None:
        color = _color(material) or colors.get(material.get('name'))
    return Visual(link, rotation_from_rpy(rpy), np.array(xyz), shape.tag, tuple(size),
                  shape.get('filename', ''), color)


def _color(material: ElementTree.Element) -> tuple[float, ...] | None:
    """Return the colour of a material; None if it has no valid one."""
    color = material.find('color')
    if color is None:
        return None
    try:
        return tuple(min(max(x, 0.0), 1.0)
                     for x in _numbers('', color, 'rgba', 4, '0.7 0.7 0.7 1'))
    except ModelError:
        return None


def _numbers(link: str, element: ElementTree.Element, name: str, count: int,
             default: str | None) -> list[float]:
    """Return the numbers in an attribute (raises `ModelError`)."""
    text = element.get(name, default)
    try:
        numbers = [float(part) for part in (text or '').split()]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ModelError(
            f'a visual of link {link!r}: {name}={shown(text)} of <{element.tag}> must be {count} '
            f'finite number{"s" * (count > 1)}; it is not drawn', link=link, value=text)
    return numbers
