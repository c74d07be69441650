"""
Functions of rcl that native loops call by address, their structures, and the test of these.

The installed library may be of another version than the structures here. Therefore structures are
filled between canaries, the topic names of handles are compared, the torque message is
deserialized by ROS, and a message is published and taken by address.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from ctypes import c_int32, c_size_t, c_void_p
from pathlib import Path
import time
from typing import TypeVar

import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from std_msgs.msg import Header

from robodyn_ros.dynamics.jit import builtin
from robodyn_ros.exceptions import ParameterError, RobodynError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.native import rcl
from robodyn_ros.nodes.polling import PolledSubscription

OK, TIMEOUT, NOTHING_TO_TAKE = 0, 2, 401
# offset of the number of the publisher, 16 bytes, in `rmw_message_info_t`; size of that at most
GID, INFO = 40, 128
_MAPS = Path('/proc/self/maps')
_CANARY, _SPACE = 0x5A, 64   # value and number of bytes around structures
_ROUND_TRIP = 1.0            # s, longest for a message
_TOPIC = '~/loop_probe'
_Loop = TypeVar('_Loop')


class NativeLoopError(RobodynError):
    """The platform or the middleware does not support the native loop."""


class _Allocator(ctypes.Structure):
    """`rcutils_allocator_t`."""

    _fields_ = [(name, c_void_p) for name in (
        'allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')]


class SerializedMessage(ctypes.Structure):
    """`rcutils_uint8_array_t`: bytes of a message."""

    _fields_ = [('buffer', c_void_p), ('length', c_size_t), ('capacity', c_size_t),
                ('allocator', _Allocator)]


class WaitSet(ctypes.Structure):
    """`rcl_wait_set_t`."""

    _fields_ = [(f'{kind}{word}', c_void_p) for kind in (
        'subscriptions', 'guard_conditions', 'timers', 'clients', 'services', 'events')
        for word in ('', '_size')] + [('impl', c_void_p)]


class Rcl:
    """
    Functions of the librcl of this process.

    Raises
    ------
    NativeLoopError
        The process has no librcl or several, or a function is missing.

    """

    ADDRESSES = {'clear': 'rcl_wait_set_clear',
                 'add_subscription': 'rcl_wait_set_add_subscription',
                 'add_guard_condition': 'rcl_wait_set_add_guard_condition', 'wait': 'rcl_wait',
                 'take': 'rcl_take_serialized_message',
                 'publish': 'rcl_publish_serialized_message',
                 'matched': 'rcl_publisher_get_subscription_count',
                 'trigger': 'rcl_trigger_guard_condition',
                 'forget_error': 'rcutils_reset_error'}

    def __init__(self) -> None:
        found = _libraries(_MAPS.read_text())
        if len(found) != 1:
            raise NativeLoopError(f'this process has {len(found)} librcl.so instead of one')
        library = ctypes.CDLL(found[0])
        try:
            self.addresses: dict[str, int] = {
                name: builtin.address_of(getattr(library, symbol))
                for name, symbol in self.ADDRESSES.items()}
            self._zero, self._init, self._fini = (getattr(library, f'rcl_{name}') for name in (
                'get_zero_initialized_wait_set', 'wait_set_init', 'wait_set_fini'))
            default = library.rcutils_get_default_allocator
            self._names = {kind: getattr(library, f'rcl_{kind}_get_topic_name')
                           for kind in ('publisher', 'subscription')}
            self._publish, self._take = (getattr(library, self.ADDRESSES[name])
                                         for name in ('publish', 'take'))
            self._make, self._free = (getattr(library, f'rcutils_uint8_array_{name}')
                                      for name in ('init', 'fini'))
        except AttributeError as error:
            raise NativeLoopError(f'librcl.so lacks a function: {error}') from error
        default.restype, self._zero.restype = _Allocator, WaitSet
        self._init.argtypes = [c_void_p, *[c_size_t] * 6, c_void_p, _Allocator]
        self._fini.argtypes = self._free.argtypes = [c_void_p]
        self._make.argtypes = [c_void_p, c_size_t, c_void_p]
        self._publish.argtypes, self._take.argtypes = [c_void_p] * 3, [c_void_p] * 4
        for each in self._names.values():
            each.argtypes, each.restype = [c_void_p], ctypes.c_char_p
        for each in (self._init, self._fini, self._make, self._free, self._publish, self._take):
            each.restype = c_int32
        self._allocator = default()
        libc = ctypes.CDLL(None)
        self.addresses.update({name: builtin.address_of(getattr(libc, name))
                               for name in ('clock_gettime', 'clock_nanosleep', 'usleep')})

    def wait_set(self, context, subscriptions: int) -> WaitSet:
        """Return a wait set for subscriptions and one guard condition; release with `close`."""
        made = self._zero()
        self.fill_wait_set(made, context, subscriptions)
        return made

    def fill_wait_set(self, made: WaitSet, context, subscriptions: int) -> None:
        """Initialize a wait set in a zeroed structure."""
        if self._init(ctypes.byref(made), subscriptions, 1, 0, 0, 0, 0, context.handle.pointer,
                      self._allocator) != OK:
            raise NativeLoopError('rcl_wait_set_init failed')

    def buffer(self, capacity: int) -> SerializedMessage:
        """Return a message to receive into; release with `close`."""
        message = SerializedMessage()
        self.fill_buffer(message, capacity)
        return message

    def fill_buffer(self, message: SerializedMessage, capacity: int) -> None:
        """Allocate the buffer of a zeroed structure."""
        if self._make(ctypes.byref(message), capacity, ctypes.byref(self._allocator)) != OK:
            raise NativeLoopError(f'no memory for a message of {capacity} bytes')

    def topic_name(self, kind: str, pointer: int) -> str:
        """Return the topic of a publisher or subscription."""
        return self._names[kind](pointer).decode()

    def publish(self, publisher: int, message: SerializedMessage) -> None:
        """Publish a serialized message."""
        if self._publish(publisher, ctypes.byref(message), None) != OK:
            raise NativeLoopError('rcl_publish_serialized_message failed')

    def take(self, subscription: int, message: SerializedMessage) -> bool:
        """Take a serialized message; return whether there was one."""
        return self._take(subscription, ctypes.byref(message), None, None) == OK

    def message(self, data: np.ndarray) -> SerializedMessage:
        """Return a message to publish; the caller keeps the bytes alive."""
        return SerializedMessage(data.ctypes.data, data.nbytes, data.nbytes, self._allocator)

    def close(self, owned) -> None:
        """Release a wait set, or a message from `buffer`."""
        (self._fini if isinstance(owned, WaitSet) else self._free)(ctypes.byref(owned))


def _libraries(maps: str) -> list[str]:
    """Return the paths of librcl among the mapped files; a path may contain spaces."""
    paths = {fields[5] for fields in (line.split(maxsplit=5) for line in maps.splitlines())
             if len(fields) == 6}
    return sorted(path for path in paths if Path(path).name.startswith('librcl.so'))


def probe(node: Node, made: rcl.Rcl, handles: dict) -> None:
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
    _check_round_trip(node, made)


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
