"""
The torque controller: joint states in, torques out.

    ros2 launch robodyn_ros controller.launch.py
    ros2 launch robodyn_ros controller.launch.py urdf:=arm.urdf simulate:=true
    ros2 launch robodyn_ros controller.launch.py urdf:=arm.urdf mode:=gravity_compensation
    ros2 launch robodyn_ros controller.launch.py robot_description:="$(xacro arm.xacro)"
    ros2 launch robodyn_ros controller.launch.py urdf:=arm.urdf ros2_control:=true
    ros2 launch robodyn_ros controller.launch.py urdf:=arm.urdf guard:=true
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.parameter_descriptions import ParameterValue

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes.controller.node import NAME
from robodyn_ros.nodes.controller.parameters import PARAMETERS
from robodyn_ros.nodes.guard.node import NAME as GUARD
from robodyn_ros.nodes.guard.parameters import PARAMETERS as GUARD_PARAMETERS
from robodyn_ros.nodes.launching import (
    common_arguments, include, node, parameter_arguments, start)
from robodyn_ros.share import share_path

ARGUMENTS = ('base', 'tip', 'locked', 'gravity', 'mode', 'autostart', 'command_joints',
             'publish_joint_commands', 'lockstep', 'driver_compensates_gravity', 'shutdown_effort')
GUARD_ARGUMENTS = ('base', 'tip', 'locked', 'gravity', 'command_joints',
                   'publish_joint_commands', 'driver_compensates_gravity')
CONTROLLERS = ('joint_state_broadcaster', 'effort_controller')
FILE = share_path('config', 'ros2_control_effort.yaml')


def generate_launch_description():
    """Return the controller, with a simulated arm if `simulate` is set."""
    return LaunchDescription([
        *common_arguments(urdf='robot_description, or urdf_file in params_file, or else the '
                          'topic robot_description.'),
        *parameter_arguments(PARAMETERS, ('robot_description', *ARGUMENTS)),
        DeclareLaunchArgument('simulate', default_value='false', description='Whether to simulate '
                              'the arm instead of waiting for a real one.'),
        DeclareLaunchArgument('guard', default_value='false', description='Whether to start a '
                              'guard, which takes over when the controller falls silent.'),
        DeclareLaunchArgument('use_sim_time', default_value='false', description='Whether '
                              'stamps are simulated time, from /clock.'),
        DeclareLaunchArgument(
            'ros2_control', default_value='false', description=f'Whether to start '
            f'{" and ".join(CONTROLLERS)} in the controller_manager of the arm, in the same '
            'namespace, as soon as it runs.'),
        DeclareLaunchArgument(
            'ros2_control_file', default_value=str(FILE), description='YAML file of the '
            'parameters of those two: a copy with the names of the joints.'),
        OpaqueFunction(function=ros2_control,
                       condition=IfCondition(LaunchConfiguration('ros2_control'))),
        OpaqueFunction(function=guard, condition=IfCondition(LaunchConfiguration('guard'))),
        OpaqueFunction(function=controller),
        include('simulation', condition=IfCondition(LaunchConfiguration('simulate'))),
    ])


def controller(context):
    """Start the controller."""
    parameters = robot(context)
    if LaunchConfiguration('guard').perform(context).lower() in ('true', '1'):
        parameters['guard.use'] = 'expected'
    return [node('controller', NAME, PARAMETERS, ARGUMENTS, **parameters)]


def guard(context):
    """Start the guard of the same arm."""
    return [node('guard', GUARD, GUARD_PARAMETERS, GUARD_ARGUMENTS, **robot(context))]


def robot(context):
    """Return the parameters that controller and guard have in common."""
    parameters = {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'),
                                                 value_type=bool)}
    text = LaunchConfiguration('robot_description').perform(context)
    if text.strip():  # an empty text would override that in params_file
        # a string, as XML must not be parsed as YAML
        parameters['robot_description'] = ParameterValue(text, value_type=str)
    return parameters


def ros2_control(context):
    """Start the spawner, which loads and activates the controllers that forward torques."""
    path = Path(LaunchConfiguration('ros2_control_file').perform(context)).expanduser()
    if not path.is_file():
        raise ParameterError(f'ros2_control_file:={path}: there is no such file', value=str(path))
    return [start('controller_manager', 'spawner', arguments=[
        *CONTROLLERS, '--controller-manager', 'controller_manager', '--param-file', str(path)])]
