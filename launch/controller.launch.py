"""
The torque controller: joint states in, torques out.

    ros2 launch robodyn_ros controller.launch.py
    ros2 launch robodyn_ros controller.launch.py urdf:=arm.urdf mode:=gravity_compensation
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.parameter_descriptions import ParameterValue

from robodyn_ros.nodes.controller import NAME
from robodyn_ros.nodes.controller_parameters import PARAMETERS
from robodyn_ros.nodes.launching import common_arguments, node, parameter_arguments

ARGUMENTS = ('base', 'tip', 'locked', 'gravity', 'mode', 'autostart', 'command_joints',
             'publish_joint_commands', 'driver_compensates_gravity', 'shutdown_effort')


def generate_launch_description():
    """Return the controller."""
    return LaunchDescription([
        *common_arguments(urdf='urdf_file in params_file, or else the topic robot_description.'),
        *parameter_arguments(PARAMETERS, ARGUMENTS),
        DeclareLaunchArgument('use_sim_time', default_value='false', description='Whether '
                              'stamps are times of /clock.'),
        node('controller', NAME, PARAMETERS, ARGUMENTS, use_sim_time=ParameterValue(
            LaunchConfiguration('use_sim_time'), value_type=bool)),
    ])
