"""
A minimal controller in Python, which publishes the positions of a state as torques.

    python benchmark/echo.py executor|polled --ros-args -r __ns:=/echo

`executor` is a callback under a SingleThreadedExecutor; `polled` waits as the controller does.
Topics, messages and qualities of service are those of the controller.
"""
import sys

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.polling import PolledSubscription


def main(way):
    """Echo states until a signal arrives."""
    rclpy.init(args=sys.argv)
    node = Node('echo')
    publisher = node.create_publisher(Float64MultiArray, 'effort_controller/commands',
                                      qos.reliable())
    command = Float64MultiArray()

    def echo(state):
        command.data = state.position
        publisher.publish(command)

    try:
        if way == 'polled':
            states = PolledSubscription(node, JointState, 'joint_states', qos.newest())
            while rclpy.ok():
                state = states.wait(0.1)
                if state is not None:
                    echo(state)
        else:
            node.create_subscription(JointState, 'joint_states', echo, qos.newest())
            executor = SingleThreadedExecutor()
            executor.add_node(node)
            executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    main(sys.argv[1])
