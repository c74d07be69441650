"""
Functions of the launch files of this package.

A launch argument for a parameter has description and checks of the node's table. If it is empty,
the parameter file decides, then the default of the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import Action, LaunchContext
from launch.actions import (
    DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction, TimerAction)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
import yaml

from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.settings import Parameter
from robodyn_ros.share import PACKAGE, share_path

# topics that arguments rename, with the name of the argument
_TOPICS = {'joint_states': 'joint_states', 'joint_commands': 'joint_commands',
           'effort_controller/commands': 'effort_command_topic'}
_SIGKILL_TIMEOUT = '70'  # s; longer than the longest release_time


def common_arguments(urdf: str) -> list[DeclareLaunchArgument]:
    """Return the arguments of every node; `urdf` describes the default of the URDF."""
    return [
        DeclareLaunchArgument('urdf', default_value='',
                              description=f'Path of the URDF. Empty: {urdf}'),
        DeclareLaunchArgument('namespace', default_value='',
                              description='Namespace of the nodes: one per arm.'),
        DeclareLaunchArgument(
            'params_file', default_value='', description='YAML file of parameters, such as a '
            f'changed copy of {share_path("config")}/controller.yaml or simulator.yaml. One file '
            'may have parameters of several nodes.'),
        DeclareLaunchArgument('joint_states', default_value='joint_states',
                              description='Topic of the joint states.'),
        DeclareLaunchArgument(
            'effort_command_topic', default_value='effort_controller/commands',
            description='Topic of the torques, as for forward_command_controller.'),
        DeclareLaunchArgument('joint_commands', default_value='joint_commands',
                              description='Topic of the torques with joint names.'),
    ]


def parameter_arguments(table: Iterable[Parameter],
                        names: Iterable[str]) -> list[DeclareLaunchArgument]:
    """Return the arguments for these parameters of a node."""
    rows = {row.name: row for row in table}
    return [DeclareLaunchArgument(name, default_value='', description=_described(rows[name]))
            for name in names]


def node(executable: str, name: str, table: Iterable[Parameter], names: Iterable[str],
         default_urdf: Path | None = None, **parameters: Any) -> OpaqueFunction:
    """
    Return the action that starts a node with the parameters from launch arguments.

    Parameters
    ----------
    executable, name : str
        Executable and name of the node.
    table : iterable of Parameter
        Parameters of the node.
    names : iterable of str
        Parameters with a launch argument.
    default_urdf : Path, optional
        URDF if neither an argument nor the parameter file names a robot.
    **parameters
        Further parameters, as for `launch_ros.actions.Node`.

    """
    rows = [row for row in table if row.name in set(names)]
    return OpaqueFunction(function=lambda context: [_make_node(
        context, executable, name, rows, default_urdf, parameters)])


def start(package: str, executable: str, **options: Any) -> Action:
    """
    Return the action that starts a node, once all launch files are read.

    Parameters
    ----------
    package, executable, **options
        As for `launch_ros.actions.Node`; the namespace is that of all nodes.

    Raises
    ------
    RobodynError
        The package is not installed.

    """
    try:
        get_package_prefix(package)
    except PackageNotFoundError as error:
        raise RobodynError(
            f'the package {package} is not installed: sudo apt install '
            f'ros-$ROS_DISTRO-{package.replace("_", "-")}', package=package) from error
    return afterwards(Node(package=package, executable=executable, output='screen',
                           namespace=LaunchConfiguration('namespace'), **options))


def afterwards(action: Action) -> TimerAction:
    """
    Return an action that runs as soon as all launch files are read.

    Thus no process runs after an error in one of them; launch does not stop processes that it has
    only just started.
    """
    return TimerAction(period=0.0, actions=[action])


def include(name: str, **options: Any) -> IncludeLaunchDescription:
    """Return the action that includes another launch file of this package."""
    path = share_path('launch', f'{name}.launch.py')
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(path)), **options)


def _make_node(context: LaunchContext, executable: str, name: str, rows: list[Parameter],
               default_urdf: Path | None, parameters: dict[str, Any]) -> Action:
    def given(argument: str) -> str:
        return LaunchConfiguration(argument).perform(context).strip()

    def file(argument: str) -> list[str]:
        path = Path(given(argument)).expanduser()
        if given(argument) and not path.is_file():
            raise ParameterError(f'{argument}:={path}: there is no such file', value=str(path))
        return [str(path)] if given(argument) else []

    parameters = {**parameters, **{row.name: _parsed(row, given(row.name))
                                   for row in rows if given(row.name)}}
    for path in file('urdf'):
        parameters['urdf_file'] = path
    return start(
        PACKAGE, executable, name=name,
        parameters=[*file('params_file'), *([parameters] if parameters else [])],
        remappings=[(topic, given(argument)) for topic, argument in _TOPICS.items()],
        # before the parameter file, which therefore overrides them
        ros_arguments=['-p', f'urdf_file:={default_urdf}'] if default_urdf else None,
        sigkill_timeout=_SIGKILL_TIMEOUT)


def _described(row: Parameter) -> str:
    unit = f' [{row.unit}]' if row.unit else ''
    choices = f' One of {", ".join(row.choices)}.' if row.choices else ''
    default = list(row.default) if row.is_array else row.default
    default = str(default).lower() if row.kind == 'bool' else default
    otherwise = f', or else {default}' if row.default or row.kind == 'bool' else ''
    return f'{row.description}{unit}{choices} If left out: as in params_file{otherwise}.'


def _parsed(row: Parameter, text: str) -> Any:
    """Return the value of a parameter from its argument; raise ParameterError."""
    try:
        value = text if row.kind == 'string' else yaml.safe_load(text)
        if row.kind == 'double' and isinstance(value, str):
            value = float(value)  # 1e-3 is a string in YAML 1.1
    except ValueError:
        pass  # refused by `checked`
    except yaml.YAMLError as error:
        raise ParameterError(f'{row.name}:={text} cannot be read: {error}',
                             name=row.name) from error
    checked = row.checked(value)
    return list(checked) if row.is_array else checked
