"""Where the mesh files lie that a URDF names."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlparse

from robodyn_ros.exceptions import ModelError, shown

FORMATS = ('.stl', '.dae', '.obj', '.ply', '.glb', '.gltf', '.off')


def find_mesh(uri: str, folder: Path | None = None) -> Path:
    """
    Return the file that a URDF means.

    Parameters
    ----------
    uri : str
        ``package://``, ``model://`` or ``file://``, or a path.
    folder : Path, optional
        Where the URDF lies: a relative path starts there, and a package may lie around it. None:
        the URDF came from the network, and only files in installed packages may be named.

    Raises
    ------
    ModelError
        There is no such file, it cannot be read, or no mesh is written in such files.

    """
    try:
        found = _named(uri, folder)
        if found.suffix.lower() not in FORMATS:
            raise ModelError(f'the mesh {shown(uri, 120)} is none of {", ".join(FORMATS)}',
                             file=uri)
        if folder is None and not _is_installed(found):
            raise ModelError(f'the mesh {shown(uri, 120)} of a robot_description that came from '
                             'the network lies in no installed package: give the URDF itself, as '
                             'in `robodyn view arm.urdf`', file=uri)
        if not found.is_file():
            raise ModelError(f'there is no mesh {shown(str(found), 200)}', file=uri)
    except ModelError:
        raise
    except (OSError, ValueError) as error:  # no permission, too long, NUL, no address
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
        f'workspace that has the package {shown(package)}, or name the folder above it in '
        'ROS_PACKAGE_PATH', package=package)


def _is_installed(file: Path) -> bool:
    """Return whether a file lies in a package; its name decides, links may lead to the source."""
    roots = [Path(prefix, 'share') for prefix in _listed('AMENT_PREFIX_PATH')]
    roots += map(Path, _listed('ROS_PACKAGE_PATH'))
    name = Path(os.path.normpath(file))
    return name.is_absolute() and any(
        name.is_relative_to(os.path.normpath(root)) for root in roots)


def package_folders(package: str, folder: Path | None = None) -> list[Path]:
    """Return where a package may lie: installed, in a source tree, or around the URDF."""
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
