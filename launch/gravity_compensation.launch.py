"""
Gravity compensation: the arm floats, for hand guiding.

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
    """Return the controller in gravity compensation, simulated if `simulate` is set."""
    return LaunchDescription([
        DeclareLaunchArgument('mode', default_value='gravity_compensation',
                              description='As for the controller.'),
        include('controller'),
        # with a guard the arm is held without its controller
        RegisterEventHandler(OnProcessExit(on_exit=ended),
                             condition=UnlessCondition(LaunchConfiguration('guard'))),
    ])


def ended(event, _context):
    """Shut down when a node ends, except for a spawner of ros2_control that has succeeded."""
    if 'spawner' in event.process_name and event.returncode == 0:
        return []
    return [Shutdown(reason='a node has ended')]
