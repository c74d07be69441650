"""
An arm that floats: it carries its own weight, and follows the hand.

    ros2 launch robodyn_ros gravity_compensation.launch.py urdf:=arm.urdf
    ros2 launch robodyn_ros gravity_compensation.launch.py simulate:=true
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, RegisterEventHandler, Shutdown
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration

from robodyn_ros.nodes.launching import include


def generate_launch_description():
    """Return the floating controller, and an arm for it if none is there."""
    return LaunchDescription([
        DeclareLaunchArgument('simulate', default_value='false', description='Whether to simulate '
                              'the arm instead of waiting for a real one.'),
        DeclareLaunchArgument('mode', default_value='gravity_compensation',
                              description='As for the controller.'),
        include('controller'),
        include('simulation', condition=IfCondition(LaunchConfiguration('simulate'))),
        RegisterEventHandler(OnProcessExit(on_exit=Shutdown(reason='one of the nodes ended'))),
    ])
