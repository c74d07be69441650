"""
A node that tries what an arm permits, for `test_security`.

    python security_visitor.py SECONDS WANTED --ros-args [--enclave NAME]

Subscribes, commands, and requests a hold; prints the results as a line of JSON. It ends earlier
once it has what is wanted: `states`, or `hold`, which is states and the answer to the request. The
name of the node is that of the enclave.
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


def try_everything(seconds, wanted, arguments):
    """Do so for a while."""
    rclpy.init(args=['visitor', *arguments])
    node = rclpy.create_node('operator' if '--enclave' in arguments else 'visitor')
    states = []
    node.create_subscription(JointState, 'joint_states', states.append, 10)
    hold = node.create_client(Trigger, 'computed_torque_controller/hold')
    publisher = commanding(node)
    published, answer, end = 0, None, time.monotonic() + seconds

    def has_all():
        commanded = publisher is None or published > 100 and publisher.get_subscription_count()
        answered = wanted == 'states' or answer is not None and answer.done()
        return states and commanded and answered

    while time.monotonic() < end and not (wanted and has_all()):
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
    try_everything(float(sys.argv[1]), sys.argv[2], sys.argv[3:])
