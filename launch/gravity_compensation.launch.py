"""
An arm that floats: it carries its own weight, and follows the hand.

    ros2 launch robodyn_ros gravity_compensation.launch.py urdf:=arm.urdf
    ros2 launch robodyn_ros gravity_compensation.launch.py simulate:=true
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, RegisterEventHandler, Shutdown
from launch.conditions import UnlessCondition
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration

from robodyn_ros.nodes.launching import include


def generate_launch_description():
    """Return the floating controller, and an arm for it if none is there."""
    return LaunchDescription([
        DeclareLaunchArgument('mode', default_value='gravity_compensation',
                              description='As for the controller.'),
        include('controller'),
        # with a guard the arm outlives its controller
        RegisterEventHandler(OnProcessExit(on_exit=ended),
                             condition=UnlessCondition(LaunchConfiguration('guard'))),
    ])


def ended(event, _context):
    """End all when a node ends; ros2_control's spawner is done when it has succeeded."""
    if 'spawner' in event.process_name and event.returncode == 0:
        return []
    return [Shutdown(reason='one of the nodes ended')]
