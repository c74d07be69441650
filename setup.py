from glob import glob
import os

from setuptools import find_packages
from setuptools import setup

package_name = 'robodyn_ros'


def share(*folders):
    """
    List the files of these folders for `data_files`, each under the share folder of the package.

    Folder structure is kept. The paths stay relative: colcon refuses absolute ones, and builds
    `--symlink-install` in another folder, where it has linked these files.
    """
    placed = {}
    for folder in folders:
        for path in sorted(glob(f'{folder}/**', recursive=True)):
            if os.path.isfile(path) and not path.endswith('.pyc'):
                target = os.path.join('share', package_name, os.path.dirname(path))
                placed.setdefault(target, []).append(path)
    return list(placed.items())


# ROS 2 as wheels, for machines without a ROS installation: extra -> version of each. Pinned as one
# set: messages of another release do not load into this rclpy.
WHEELS = {
    'ros': {'rclpy[fastrtps]': '9.1.2', 'common': '5.5.1', 'rcl': '2.3.0'},  # Kilted
    'jazzy': {'rclpy[fastrtps]': '7.1.6', 'common': '5.3.6', 'rcl': '2.0.3'},  # Python 3.12 only
}
# Messages by the repository whose version they have.
MESSAGES = {
    'common': ['diagnostic-msgs', 'geometry-msgs', 'sensor-msgs', 'std-msgs', 'std-srvs',
               'trajectory-msgs', 'visualization-msgs'],
    'rcl': ['lifecycle-msgs', 'rcl-interfaces', 'rosgraph-msgs'],
}
ros = {extra: [f'ros-{name}=={version}' for key, version in versions.items()
               for name in MESSAGES.get(key, [key])]
       for extra, versions in WHEELS.items()}
lint = [
    'flake8',
    'flake8-builtins',
    'flake8-comprehensions',
    'flake8-docstrings',
    'flake8-import-order',
    'flake8-quotes',
    'mypy',
    'pydocstyle',
    'ros-ament-flake8',
    'ros-ament-pep257',
]
record = ['rosbags']
replay = ['toppra>=0.6']
gym = ['gymnasium>=1']
view = ['lxml', 'pycollada', 'trimesh', 'viser>=1.1,<2']
browser = ['pillow', 'selenium']
runner = ['pytest', 'pytest-timeout', 'hypothesis']
docs = ['furo', 'myst-parser', 'sphinx>=7', 'sphinxcontrib-mermaid']
oracles = ['example-robot-data', 'mujoco', 'pin']

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={package_name: ['py.typed', 'arms/*.yaml', 'export/c/*', 'export/ros2_control/*',
                                 'montecarlo/host_delays.txt']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        *share('launch', 'config', 'urdf'),
    ],
    python_requires='>=3.10',
    # Loose, so that what a ROS distribution ships is good enough.
    install_requires=[
        'llvmlite>=0.45',
        'numpy',
        'scipy',
        'urdf-parser-py',
    ],
    extras_require={
        **ros,
        'plot': ['matplotlib'],
        'record': record,
        'replay': replay,
        'gym': gym,
        'franka': ['pylibfranka'],
        'docs': docs,
        'matrix': runner,
        'view': view,
        'xacro': ['xacro'],
        'test': [*runner, 'pytest-xdist', 'xacro', *record, *replay, *gym, *oracles, *lint, *view,
                 *browser],
    },
    zip_safe=False,
    maintainer='robodyn_ros maintainers',
    maintainer_email='maintainers@users.noreply.a-seed-77ad447e.example',
    description='Rigid-body dynamics from a URDF, compiled for the one robot at hand, and a ROS 2 '
                'torque controller and simulator that close the loop with it.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'controller = robodyn_ros.nodes.controller.node:main',
            'guard = robodyn_ros.nodes.guard.node:main',
            'markers = robodyn_ros.nodes.view.markers:main',
            'robodyn = robodyn_ros.cli.main:main',
            'simulator = robodyn_ros.nodes.simulator.node:main',
        ],
    },
)
