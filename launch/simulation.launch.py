"""
A simulated arm: torques in, joint states out.

    ros2 launch robodyn_ros simulation.launch.py
    ros2 launch robodyn_ros simulation.launch.py urdf:=arm.urdf publish_rate:=500
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration

from robodyn_ros.nodes.launching import common_arguments, node, parameter_arguments, start
from robodyn_ros.nodes.simulator import NAME
from robodyn_ros.nodes.simulator_parameters import PARAMETERS
from robodyn_ros.share import share_path

ARM = share_path('urdf', 'robodyn7.urdf')
ARGUMENTS = ('base', 'tip', 'locked', 'gravity', 'publish_rate', 'real_time_factor', 'step',
             'initial_positions')


def generate_launch_description():
    """Return the simulator, and robot_state_publisher if it is wanted."""
    return LaunchDescription([
        *common_arguments(urdf=f'urdf_file in params_file, or else {ARM}'),
        *parameter_arguments(PARAMETERS, ARGUMENTS),
        DeclareLaunchArgument(
            'robot_state_publisher', default_value='false', description='Whether to start '
            'robot_state_publisher: transforms for RViz, and the topic robot_description, which '
            'otherwise the simulator publishes.'),
        node('simulator', NAME, PARAMETERS, ARGUMENTS, default_urdf=ARM),
        OpaqueFunction(function=state_publisher,
                       condition=IfCondition(LaunchConfiguration('robot_state_publisher'))),
    ])


def state_publisher(context):
    """Start robot_state_publisher with the text of the URDF."""
    path = Path(LaunchConfiguration('urdf').perform(context) or ARM)
    return [start('robot_state_publisher', 'robot_state_publisher',
                  remappings=[('joint_states', LaunchConfiguration('joint_states'))],
                  parameters=[{'robot_description': path.expanduser().read_text('utf-8')}])]
