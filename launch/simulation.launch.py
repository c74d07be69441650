"""
A simulated arm: torques in, joint states out.

    ros2 launch robodyn_ros simulation.launch.py
    ros2 launch robodyn_ros simulation.launch.py urdf:=arm.urdf publish_rate:=500
    ros2 launch robodyn_ros simulation.launch.py faults:='["5.0 freeze joint2 0.5"]'
"""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.parameter_descriptions import ParameterValue

from robodyn_ros.nodes.launching import common_arguments, node, parameter_arguments, start
from robodyn_ros.nodes.simulator.node import NAME
from robodyn_ros.nodes.simulator.parameters import PARAMETERS
from robodyn_ros.share import share_path

ARM = share_path('urdf', 'robodyn7.urdf')
ARGUMENTS = ('base', 'tip', 'locked', 'gravity', 'publish_rate', 'real_time_factor', 'step',
             'initial_positions', 'lockstep', 'start_paused', 'faults', 'seed')


def generate_launch_description():
    """Return the simulator, and robot_state_publisher if it is set."""
    return LaunchDescription([
        *common_arguments(urdf='robot_description, or urdf_file in params_file, or else '
                          f'{ARM}'),
        *parameter_arguments(PARAMETERS, ('robot_description', *ARGUMENTS)),
        DeclareLaunchArgument(
            'robot_state_publisher', default_value='false', description='Whether to start '
            'robot_state_publisher: transforms for RViz, and the topic robot_description, which '
            'the simulator publishes otherwise.'),
        OpaqueFunction(function=simulator),
        OpaqueFunction(function=state_publisher,
                       condition=IfCondition(LaunchConfiguration('robot_state_publisher'))),
    ])


def simulator(context):
    """Start the simulator."""
    text = LaunchConfiguration('robot_description').perform(context)
    if not text.strip():
        return [node('simulator', NAME, PARAMETERS, ARGUMENTS, default_urdf=ARM)]
    return [node('simulator', NAME, PARAMETERS, ARGUMENTS, robot_description=xml(text))]


def state_publisher(context):
    """Start robot_state_publisher with the text of the URDF."""
    path = Path(LaunchConfiguration('urdf').perform(context) or ARM)
    text = LaunchConfiguration('robot_description').perform(context)
    if LaunchConfiguration('urdf').perform(context) or not text.strip():
        text = path.expanduser().read_text('utf-8')
    return [start('robot_state_publisher', 'robot_state_publisher',
                  remappings=[('joint_states', LaunchConfiguration('joint_states'))],
                  parameters=[{'robot_description': xml(text)}])]


def xml(text):
    """Return a text as a string parameter, which is not parsed as YAML."""
    return ParameterValue(text, value_type=str)
