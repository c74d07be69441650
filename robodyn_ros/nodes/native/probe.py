"""
What native loops assume about rcl, tried out before an arm depends on it.

Nothing here is sure from headers: a library may be of another version than the structures in
`rcl`. So structures are filled between canaries, handles are asked for the names of their topics,
what is sent is read by ROS itself, and a message goes out and comes back by address.
"""

from __future__ import annotations

import ctypes
import time

import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, Header

from robodyn_ros.nodes import qos
from robodyn_ros.nodes.native import rcl
from robodyn_ros.nodes.polling import PolledSubscription

_CANARY, _SPACE = 0x5A, 64   # around structures
_ROUND_TRIP = 1.0            # s that a message may take
_TOPIC = '~/loop_probe'


def probe(node: Node, made: rcl.Rcl, handles: dict,
          torque_message: bytes | None = None) -> None:
    """
    Try all that is assumed.

    Parameters
    ----------
    node : Node
        Owner of a topic for the time of this.
    made : Rcl
        Functions of rcl.
    handles : dict
        Name of a topic, and the handle that should have it: `kind, pointer` with the kind
        'publisher' or 'subscription'.
    torque_message : bytes, optional
        Serialized message of torques, all zero but for the last.

    Raises
    ------
    NativeLoopError
        What does not hold.

    """
    _check_structures(node, made)
    for topic, (kind, pointer) in handles.items():
        found = made.topic_name(kind, pointer)
        if found != topic:
            raise rcl.NativeLoopError(f'the handle of the {kind} of {topic} names {found!r}')
    if torque_message is not None:
        _check_torques(torque_message)
    _go_round(node, made)


def _check_torques(message: bytes) -> None:
    """Let ROS read a message."""
    read = deserialize_message(message, Float64MultiArray)
    if list(read.data[-1:]) != list(np.frombuffer(message[-8:], '<f8')) or any(read.data[:-1]):
        raise rcl.NativeLoopError('a message of torques is not read as it was written')


def _check_structures(node: Node, made: rcl.Rcl) -> None:
    """Fill structures between canaries."""
    for name, structure, fill, close in (
            ('message', rcl.SerializedMessage, lambda at: made.fill_buffer(at, 128), made.close),
            ('wait set', rcl.WaitSet, lambda at: made.fill_wait_set(at, node.context, 2),
             made.close)):
        size = ctypes.sizeof(structure)
        space = np.full(size + 2 * _SPACE, _CANARY, dtype=np.uint8)
        there = structure.from_buffer(space, _SPACE)
        ctypes.memset(ctypes.addressof(there), 0, size)
        fill(there)
        touched = (space[:_SPACE] != _CANARY).any() or (space[-_SPACE:] != _CANARY).any()
        filled = there.capacity == 128 if structure is rcl.SerializedMessage else (
            there.subscriptions_size == 2 and there.guard_conditions_size == 1 and there.impl)
        close(there)
        if touched or not filled:
            raise rcl.NativeLoopError(f'a {name} of rcl has another structure')


def _go_round(node: Node, made: rcl.Rcl) -> None:
    """Send a message by address, and take it by address."""
    publisher = node.create_publisher(Header, _TOPIC, qos.latched())
    subscription = PolledSubscription(node, Header, _TOPIC, qos.latched())
    text = b'\0\1\0\0' + bytes(8) + b'\6\0\0\0probe\0'
    data, taken = np.frombuffer(bytearray(text), dtype=np.uint8), made.buffer(1024)
    try:
        made.publish(publisher.handle.pointer, made.message(data))
        end = time.monotonic() + _ROUND_TRIP
        while not made.take(subscription.subscription.handle.pointer, taken):
            if time.monotonic() > end:
                raise rcl.NativeLoopError('a message that was sent by address did not come back')
            time.sleep(1e-3)
        read = deserialize_message(
            ctypes.string_at(taken.buffer, taken.length), Header)
        if read.frame_id != 'probe':
            raise rcl.NativeLoopError(f'a message came back as {read.frame_id!r}')
    finally:
        made.close(taken)
        subscription.destroy()
        node.destroy_publisher(publisher)
