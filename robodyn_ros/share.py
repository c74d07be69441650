"""
Where the files that come with the package lie: robot descriptions, launch files, configuration.

They lie beside the running code, never elsewhere, so that code and data are of one version: in the
source checkout (also for an editable install and `colcon build --symlink-install`), or in the
`share` folder of the prefix that the code was installed into (pip and colcon alike).
"""

from pathlib import Path
from xml.etree import ElementTree

from robodyn_ros.exceptions import RobodynError

PACKAGE = 'robodyn_ros'


def share_path(*parts: str) -> Path:
    """
    Find a file or folder of the package.

    Parameters
    ----------
    *parts : str
        Path below the share folder, as in ``share_path('urdf', 'arm.urdf')``. None: the folder.

    Returns
    -------
    pathlib.Path
        Absolute path of what exists there.

    Raises
    ------
    RobodynError
        If nothing is there.

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

    The metadata of an installed package would be those of another version where a checkout comes
    first on the path.

    Raises
    ------
    RobodynError
        If the files of the package are not there.

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
