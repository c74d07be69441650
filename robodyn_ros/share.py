"""
Paths of the files that belong to the package: robot descriptions, launch files, configuration.

The files are looked up relative to the running code only, so that code and data have the same
version: in the source checkout (also for an editable install and `colcon build
--symlink-install`), or in the `share` folder of the install prefix (pip and colcon alike).
"""

from pathlib import Path
from xml.etree import ElementTree

from robodyn_ros.exceptions import RobodynError

PACKAGE = 'robodyn_ros'


def share_path(*parts: str) -> Path:
    """
    Return the path of a file or folder of the package.

    Parameters
    ----------
    *parts : str
        Path below the share folder, as in ``share_path('urdf', 'arm.urdf')``; none: the folder.

    Returns
    -------
    pathlib.Path
        Absolute path; it exists.

    Raises
    ------
    RobodynError
        If it does not exist.

    """
    root = _share_root(Path(__file__).resolve())
    found = root.joinpath(*parts)
    if not found.exists():
        raise RobodynError(
            f'{"/".join(parts)} is not among the files of {PACKAGE} in {root}: check its name, or '
            'install the package again',
            path=str(found),
        )
    return found


def version() -> str:
    """
    Return the version of the package, from the package.xml beside the running code.

    The metadata of an installed package may be of another version, if a checkout comes first on
    the path.

    Raises
    ------
    RobodynError
        If the package.xml is not found.

    """
    return ElementTree.parse(share_path('package.xml')).getroot().findtext('version', '')


def _share_root(module: Path) -> Path:
    checkout = module.parents[1]
    if (checkout / 'setup.py').is_file() and (checkout / 'package.xml').is_file():
        return checkout
    for prefix in module.parents:
        root = prefix / 'share' / PACKAGE
        if (root / 'package.xml').is_file():
            return root
    raise RobodynError(
        f'the share folder of {PACKAGE} was not installed with the code in {checkout}: install '
        'the package with pip or colcon instead of copying its Python files',
        path=str(checkout),
    )
