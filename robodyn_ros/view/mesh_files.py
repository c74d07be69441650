"""Search of the mesh files of a URDF."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from robodyn_ros.exceptions import ModelError, shown

FORMATS = ('.stl', '.dae', '.obj', '.ply', '.glb', '.gltf', '.off')


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
