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
        Where the URDF lies: a relative path starts there, and a package may lie around it.

    Raises
    ------
    ModelError
        There is no such file, or no mesh is written in such files.

    """
    parts = urlparse(uri)
    if parts.scheme in ('package', 'model'):
        found = _in_package(parts.netloc, unquote(parts.path).lstrip('/'), folder)
    elif parts.scheme == 'file':
        found = Path(unquote(parts.netloc + parts.path))
    else:
        found = Path(folder or '', uri)
    if found.suffix.lower() not in FORMATS:
        raise ModelError(f'the mesh {shown(uri, 120)} is none of {", ".join(FORMATS)}', file=uri)
    if not found.is_file():
        raise ModelError(f'there is no mesh {found}', file=uri)
    return found


def _in_package(package: str, path: str, folder: Path | None) -> Path:
    for root in package_folders(package, folder):
        if (root / path).is_file():
            return root / path
    raise ModelError(
        f'the mesh package://{package}/{path} was not found: source the workspace that has the '
        f'package {package}, or name the folder above it in ROS_PACKAGE_PATH', package=package)


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
