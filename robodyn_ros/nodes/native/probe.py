"""
Choice between native loop and Python, and test of the assumptions about rcl.

The installed library may be of another version than the structures in `rcl`. Therefore structures
are filled between canaries, the topic names of handles are compared, the torque message is
deserialized by ROS, and a message is published and taken by address.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
import time
from typing import TypeVar

import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, Header

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.native import rcl
from robodyn_ros.nodes.polling import PolledSubscription

_CANARY, _SPACE = 0x5A, 64   # value and number of bytes around structures
_ROUND_TRIP = 1.0            # s, longest for a message
_TOPIC = '~/loop_probe'
_Loop = TypeVar('_Loop')


def probe(node: Node, made: rcl.Rcl, handles: dict,
          torque_message: bytes | None = None) -> None:
    """
    Test all assumptions.

    Parameters
    ----------
    node : Node
        Owner of a temporary topic.
    made : Rcl
        Functions of rcl.
    handles : dict
        Expected handle of each topic name: `kind, pointer` with the kind 'publisher' or
        'subscription'.
    torque_message : bytes, optional
        Serialized message of torques, all zero but for the last.

    Raises
    ------
    NativeLoopError
        An assumption does not hold.

    """
    _check_structures(node, made)
    for topic, (kind, pointer) in handles.items():
        found = made.topic_name(kind, pointer)
        if found != topic:
            raise rcl.NativeLoopError(f'the handle of the {kind} of {topic} names {found!r}')
    if torque_message is not None:
        _check_torques(torque_message)
    _check_round_trip(node, made)


def _check_torques(message: bytes) -> None:
    """Deserialize a message of torques with ROS."""
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
        tested = structure.from_buffer(space.data, _SPACE)
        ctypes.memset(ctypes.addressof(tested), 0, size)
        fill(tested)
        touched = (space[:_SPACE] != _CANARY).any() or (space[-_SPACE:] != _CANARY).any()
        filled = tested.capacity == 128 if structure is rcl.SerializedMessage else (
            tested.subscriptions_size == 2 and tested.guard_conditions_size == 1
            and tested.impl)
        close(tested)
        if touched or not filled:
            raise rcl.NativeLoopError(f'a {name} of rcl has another structure')


def _check_round_trip(node: Node, made: rcl.Rcl) -> None:
    """Publish a message by address, and take it by address."""
    publisher = node.create_publisher(Header, _TOPIC, qos.latched())
    subscription = PolledSubscription(node, Header, _TOPIC, qos.latched())
    text = b'\0\1\0\0' + bytes(8) + b'\6\0\0\0probe\0'
    data, taken = np.frombuffer(bytearray(text), dtype=np.uint8), made.buffer(1024)
    try:
        made.publish(publisher.handle.pointer, made.message(data))
        end = time.monotonic() + _ROUND_TRIP
        while not made.take(subscription.subscription.handle.pointer, taken):
            if time.monotonic() > end:
                raise rcl.NativeLoopError('a message published by address was not received')
            time.sleep(1e-3)
        read = deserialize_message(
            ctypes.string_at(taken.buffer, taken.length), Header)
        if read.frame_id != 'probe':
            raise rcl.NativeLoopError(f'a message was received as {read.frame_id!r}')
    finally:
        made.close(taken)
        subscription.destroy()
        node.destroy_publisher(publisher)


def open_loop(choice: str, problem: str, make: Callable[[], _Loop]) -> tuple[_Loop | None, str]:
    """
    Return the native loop, or None, and the reason why there is none.

    Parameters
    ----------
    choice : {'auto', 'native', 'python'}
        Parameter `loop`.
    problem : str
        Known reason why the loop cannot be native; empty if there is none.
    make : callable
        Returns the native loop.

    Raises
    ------
    ParameterError
        `choice` is 'native', and the native loop cannot run.

    """
    if choice == 'python':
        return None, 'the parameter loop is python'
    native = None
    if not problem:
        try:
            native = make()
        except Exception as error:  # of another middleware, or another version of rcl or LLVM
            problem = f'{type(error).__name__}: {error}'
    if problem and choice == 'native':
        raise ParameterError(f'loop: native is not possible: {problem}; set loop to auto',
                             parameter='loop', value='native')
    return native, problem
