"""
A simulated arm under the torque controller.

    ros2 launch robodyn_ros demo.launch.py
    ros2 launch robodyn_ros demo.launch.py urdf:=arm.urdf rviz:=true
    ros2 launch robodyn_ros demo.launch.py view:=true
    ros2 launch robodyn_ros demo.launch.py guard:=true
"""

from importlib.util import find_spec
import sys

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction, RegisterEventHandler,
    Shutdown, TimerAction)
from launch.conditions import IfCondition, UnlessCondition
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration, PythonExpression
import yaml

from robodyn_ros.model.robot import chain_options
from robodyn_ros.nodes.launching import afterwards, include, start
from robodyn_ros.share import PACKAGE, share_path

HINTS = """commands for another terminal (Ctrl-C in this one ends the demo):

let the arm float:
  ros2 service call {space}/computed_torque_controller/float std_srvs/srv/Trigger
push a link:
  ros2 topic pub --times 3 {space}/robot_simulator/wrench geometry_msgs/msg/WrenchStamped \
'{{header: {{frame_id: link4}}, wrench: {{force: {{x: 5.0}}}}}}'
hold the arm where it is:
  ros2 service call {space}/computed_torque_controller/hold std_srvs/srv/Trigger
show mode, faults and timing:
  ros2 topic echo /diagnostics
move again after a fault, once its cause is gone:
  ros2 service call {space}/computed_torque_controller/reset_fault std_srvs/srv/Trigger
"""


def generate_launch_description():
    """Return simulator and controller, and their visualization."""
    real_time_factor = LaunchConfiguration('real_time_factor')
    return LaunchDescription([
        DeclareLaunchArgument('rviz', default_value='false', description='Whether to show the '
                              'arm in RViz.'),
        DeclareLaunchArgument('rviz_frame', default_value='world', description='Fixed frame '
                              'of RViz: the root link of the URDF.'),
        DeclareLaunchArgument('view', default_value='false', description='Whether to show the '
                              'arm in the browser: robodyn view --control.'),
        DeclareLaunchArgument('robot_state_publisher', default_value=LaunchConfiguration('rviz'),
                              description='Whether to start robot_state_publisher.'),
        DeclareLaunchArgument('simulate', default_value='true', choices=['true'],
                              description='The demo simulates the arm; for a real one use '
                              'controller.launch.py.'),
        include('simulation'),
        DeclareLaunchArgument(
            'use_sim_time', description='Whether the controller uses simulated time.',
            default_value=PythonExpression([
                "'", real_time_factor, "' not in ('', '1', '1.0')"])),
        include('controller', launch_arguments={'simulate': 'false'}.items()),
        OpaqueFunction(function=rviz, condition=IfCondition(LaunchConfiguration('rviz'))),
        OpaqueFunction(function=view, condition=IfCondition(LaunchConfiguration('view'))),
        # with a guard the arm is held without its controller
        RegisterEventHandler(OnProcessExit(on_exit=ended),
                             condition=UnlessCondition(LaunchConfiguration('guard'))),
        TimerAction(period=4.0, actions=[OpaqueFunction(function=hints)]),
    ])


def ended(event, _context):
    """Shut down when simulator or controller ends; the visualization may end by itself."""
    if event.process_name.startswith(('simulator-', 'controller-')):
        return [Shutdown(reason='simulator or controller has ended')]
    return []


def rviz(_context):
    """Start RViz and the node of its markers."""
    actions = [start('rviz2', 'rviz2', arguments=[
        '-d', str(share_path('config', 'robodyn.rviz')), '-f', LaunchConfiguration('rviz_frame')])]
    if find_spec('visualization_msgs') is None:
        return [*actions, LogInfo(msg='visualization_msgs is not installed: no markers')]
    return [*actions, start(PACKAGE, 'markers', remappings=[
        ('joint_states', LaunchConfiguration('joint_states'))])]


def view(context):
    """Open the page."""
    return [afterwards(ExecuteProcess(name='view', output='screen', cmd=[
        sys.executable, '-m', 'robodyn_ros.cli.main', 'view', '--control', *robot(context),
        '--namespace', LaunchConfiguration('namespace'),
        '--joint-states', LaunchConfiguration('joint_states')]))]


def robot(context):
    """Return command-line options for chain and gravity of the nodes."""
    base, tip, locked, gravity = (
        LaunchConfiguration(name).perform(context).strip()
        for name in ('base', 'tip', 'locked', 'gravity'))
    return chain_options(base, tip, yaml.safe_load(locked) or []) + (
        ['--gravity', *map(str, yaml.safe_load(gravity))] if gravity else [])


def hints(context):
    """Log commands to try."""
    namespace = LaunchConfiguration('namespace').perform(context).strip('/')
    return [LogInfo(msg=HINTS.format(space=f'/{namespace}' if namespace else ''))]
