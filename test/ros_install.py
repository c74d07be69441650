"""What is found and started by name: this package, others, and the command `ros2`."""

from importlib.metadata import distribution
import os
from pathlib import Path
import shutil
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = 'robodyn_ros'
SCRIPT = """#!{python}
import sys
sys.path.insert(0, {root!r})
from {module} import {function}
sys.exit({function}())
"""


def found(package=PACKAGE):
    """Return whether ROS finds a package."""
    try:
        from ament_index_python.packages import get_package_prefix
        return bool(get_package_prefix(package))
    # OSError: there is no AMENT_PREFIX_PATH; PackageNotFoundError is a LookupError
    except (ImportError, LookupError, OSError):
        return False


needs_ros2 = pytest.mark.skipif(
    shutil.which('ros2') is None, reason='the command `ros2` is not installed')


@pytest.fixture(scope='session')
def install(tmp_path_factory):
    """Let ROS find this checkout if it finds no installed package."""
    with pytest.MonkeyPatch.context() as patch:
        if not found():
            prefix = make_prefix(tmp_path_factory.mktemp('install'))
            patch.setenv('AMENT_PREFIX_PATH', str(prefix), prepend=os.pathsep)
        yield


def make_prefix(prefix):
    """Fill a folder as `colcon build --symlink-install` does; return it."""
    share, scripts = prefix / 'share', prefix / 'lib' / PACKAGE
    marker = share / 'ament_index' / 'resource_index' / 'packages' / PACKAGE
    for folder in (marker.parent, scripts):
        folder.mkdir(parents=True)
    marker.touch()
    # `ros2 launch` looks into folders, not through links to folders
    for folder in ('launch', 'config', 'urdf'):
        shutil.copytree(ROOT / folder, share / PACKAGE / folder, copy_function=os.symlink)
    os.symlink(ROOT / 'package.xml', share / PACKAGE / 'package.xml')
    for entry in distribution(PACKAGE).entry_points.select(group='console_scripts'):
        script = scripts / entry.name
        script.write_text(SCRIPT.format(python=sys.executable, root=str(ROOT), module=entry.module,
                                        function=entry.attr))
        script.chmod(0o755)
    return prefix
