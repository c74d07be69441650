"""
An arm by the library of its vendor, as joint states and effort commands of ROS.

The bridge is a process of its own, between the library and the controller. It publishes the joint
states, and sends the torques of effort_controller/commands within the limits of the vendor. When
commands stay away, and at its end, it damps the arm and gives it back to the vendor's controller.
"""

from __future__ import annotations

import argparse

from robodyn_ros import arms
from robodyn_ros.cli.options import add_namespace_argument

EXAMPLES = """examples:
  robodyn bridge franka 172.16.0.2
  robodyn bridge franka 172.16.0.2 --no-realtime       for a kernel without PREEMPT_RT
  robodyn arm fr3 --urdf fr3.urdf --write my_fr3       parameters of the controller for it

exit codes: 0 success, 2 invalid arguments or input, or no arm at the address
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add('vendor', choices=('franka',), help='library')
    add('address', help='address of the robot')
    add('--arm', default='fr3', metavar='NAME', help='profile with the joints (default fr3)')
    add('--prefix', default='', metavar='TEXT', help='prefix of joints, such as left_')
    add('--no-realtime', action='store_true', help='do not insist on a real-time kernel')
    add_namespace_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run the bridge; return its exit code."""
    from robodyn_ros.nodes.bridge.franka import FrankaArm
    from robodyn_ros.nodes.bridge.loop import Bridge  # needs ROS
    from robodyn_ros.nodes.process import run_process

    profile = arms.load(options.arm)[1].named(options.prefix)

    def make(_stop):
        return Bridge('franka_bridge', FrankaArm(
            options.address, list(profile.joints), not options.no_realtime))

    namespace = options.namespace.strip('/')
    return run_process('franka_bridge', make, Bridge.work, [
        '--ros-args', '-r', f'__ns:=/{namespace}'] if namespace else [])
