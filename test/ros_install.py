"""Marks for tests of what ROS finds and starts by name."""
import shutil

import pytest


def found(package='robodyn_ros'):
    """Return whether ROS finds a package."""
    try:
        from ament_index_python.packages import get_package_prefix
        return bool(get_package_prefix(package))
    except (ImportError, LookupError):  # PackageNotFoundError is a LookupError
        return False


needs_install = pytest.mark.skipif(
    not found(), reason='ROS does not find robodyn_ros: source install/setup.bash')
needs_ros2 = pytest.mark.skipif(
    shutil.which('ros2') is None, reason='the command `ros2` is not installed')
