"""Visual shapes of the links of a URDF, with poses and colours; search of their mesh files."""

from __future__ import annotations

from dataclasses import dataclass
import math
import os
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import numpy as np

from robodyn_ros.exceptions import ModelError, shown
from robodyn_ros.model.frame import rotation_from_rpy
from robodyn_ros.model.source import read_text

FORMATS = ('.stl', '.dae', '.obj', '.ply', '.glb', '.gltf', '.off')
# attributes of the element of each shape: name, number of values, and default
_SHAPES = {
    'box': (('size', 3, None),),
    'cylinder': (('radius', 1, None), ('length', 1, None)),
    'capsule': (('radius', 1, None), ('length', 1, None)),
    'sphere': (('radius', 1, None),),
    'mesh': (('scale', 3, '1 1 1'),),
}


def find_mesh(uri: str, folder: Path | None = None) -> Path:
    """
    Return the file of a mesh in a URDF.

    Parameters
    ----------
    uri : str
        ``package://``, ``model://`` or ``file://``, or a path.
    folder : Path, optional
        Folder of the URDF, for relative paths and packages around it. None: the URDF came from
        the network, and only files in installed packages are permitted.

    Raises
    ------
    ModelError
        The file does not exist, cannot be read, or is not of a mesh format.

    """
    try:
        found = _named(uri, folder)
        if found.suffix.lower() not in FORMATS:
            raise ModelError(f'the mesh {shown(uri, 120)} is none of {", ".join(FORMATS)}',
                             file=uri)
        if folder is None and not _is_installed(found):
            raise ModelError(f'the mesh {shown(uri, 120)} of a robot_description from the network '
                             'is not in an installed package: give the URDF itself, as in '
                             '`robodyn view arm.urdf`', file=uri)
        if not found.is_file():
            raise ModelError(f'there is no mesh {shown(str(found), 200)}', file=uri)
    except ModelError:
        raise
    except (OSError, ValueError) as error:  # no permission, too long, NUL, not a valid URI
        reason = getattr(error, 'strerror', None) or error
        raise ModelError(f'the mesh {shown(uri, 120)} cannot be looked up: {reason}',
                         file=uri) from error
    return found


def _named(uri: str, folder: Path | None) -> Path:
    parts = urlparse(uri)
    if parts.scheme in ('package', 'model'):
        return _in_package(parts.netloc, unquote(parts.path).lstrip('/'), folder)
    if parts.scheme == 'file':
        return Path(unquote(parts.netloc + parts.path))
    return Path(folder or '', uri)


def _in_package(package: str, path: str, folder: Path | None) -> Path:
    for root in package_folders(package, folder):
        if (root / path).is_file():
            return root / path
    raise ModelError(
        f'the mesh {shown(f"package://{package}/{path}", 120)} was not found: source the '
        f'workspace that has the package {shown(package)}, or add the folder above it to '
        'ROS_PACKAGE_PATH', package=package)


def _is_installed(file: Path) -> bool:
    """Return whether the path of a file is in an installed package; links are not resolved."""
    roots = [Path(prefix, 'share') for prefix in _listed('AMENT_PREFIX_PATH')]
    roots += map(Path, _listed('ROS_PACKAGE_PATH'))
    name = Path(os.path.normpath(file))
    return name.is_absolute() and any(
        name.is_relative_to(os.path.normpath(root)) for root in roots)


def package_folders(package: str, folder: Path | None = None) -> list[Path]:
    """Return possible folders of a package: installed, in a source tree, or around the URDF."""
    folders = [Path(prefix, 'share', package) for prefix in _listed('AMENT_PREFIX_PATH')]
    for root in map(Path, _listed('ROS_PACKAGE_PATH')):
        folders += [root / package] + [root] * (root.name == package)
    if folder is not None:
        around = [folder.absolute(), *folder.absolute().parents]
        folders += [each for each in around if each.name == package]
        folders += [each / package for each in around[:3]]
    return folders


def _listed(variable: str) -> list[str]:
    return [part for part in os.environ.get(variable, '').split(os.pathsep) if part]


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
