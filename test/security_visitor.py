"""
A node that tries what an arm permits, for `test_security`.

    python security_visitor.py SECONDS --ros-args [--enclave NAME]

Subscribes, commands, and requests a hold; prints the results as a line of JSON. The name of the
node is that of the enclave.
"""

import json
import os
import sys
import time

import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger


def commanding(node):
    """Return a publisher of torques, or None if that is not allowed."""
    try:
        return node.create_publisher(Float64MultiArray, 'effort_controller/commands', 10)
    except Exception:  # its type is no part of rclpy's interface
        return None


def try_everything(seconds, arguments):
    """Do so for a while."""
    rclpy.init(args=['visitor', *arguments])
    node = rclpy.create_node('operator' if '--enclave' in arguments else 'visitor')
    states = []
    node.create_subscription(JointState, 'joint_states', states.append, 10)
    hold = node.create_client(Trigger, 'computed_torque_controller/hold')
    publisher = commanding(node)
    published, answer, end = 0, None, time.monotonic() + seconds
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.02)
        if publisher is not None:
            publisher.publish(Float64MultiArray(data=[0.0] * 7))
            published += 1
        if answer is None and hold.service_is_ready():
            answer = hold.call_async(Trigger.Request())
    print(json.dumps({
        'states': len(states), 'published': published, 'refused': publisher is None,
        'nodes': sorted(node.get_node_names()),
        'hold': bool(answer and answer.done() and answer.result().success)}), flush=True)
    os._exit(0)  # what is left to do here is not what is tested


if __name__ == '__main__':
    try_everything(float(sys.argv[1]), sys.argv[2:])
