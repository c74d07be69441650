"""Linear feedback commands from messages: joints mapped by name, sizes checked."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from robodyn_ros.control import LinearCommand
from robodyn_ros.exceptions import ArgumentError, near_matches, shown

_BEFORE = 3      # numbers in a row before the gains
_OVERHEAD = 512  # bytes of a message besides its numbers and joint names


class LinearFeedbackReader:
    """
    Reads linear feedback commands from messages.

    A message is a matrix with one row per joint: feedforward torque, position, velocity, then the
    joint's row of the gain matrix, position gains before velocity gains, both in the order of the
    rows. The label of the first dimension names the joints, separated by commas; empty: the
    model's order.

    Parameters
    ----------
    joint_names : sequence of str
        The model's joints.

    """

    def __init__(self, joint_names: Sequence[str]):
        self._names = list(joint_names)
        n = len(self._names)
        self._size = n, _BEFORE + 2 * n
        self._max_bytes = (8 * math.prod(self._size) + _OVERHEAD
                           + sum(len(name.encode()) + 2 for name in self._names))
        self._label, self._order = '', np.arange(len(self._names))

    def decode(self, data: bytes) -> LinearCommand:
        """
        Return the command in a serialized message, in model order.

        A message that is larger than one for these joints can be is not deserialized.

        Raises
        ------
        ArgumentError
            Too many bytes, another message type, wrong names or sizes.

        """
        if len(data) > self._max_bytes:
            rows, columns = self._size
            raise ArgumentError(
                f'a message of {len(data)} bytes, more than {self._max_bytes}; for '
                f'{rows} joints give {rows} x {columns} numbers', size=len(data))
        try:
            message = deserialize_message(data, Float64MultiArray)
        except rclpy_implementation.RMWError:
            raise ArgumentError(f'a message of {len(data)} bytes that are no Float64MultiArray',
                                size=len(data)) from None
        return self.read(message)

    def read(self, message: Float64MultiArray) -> LinearCommand:
        """
        Return the command in a message, in model order.

        Raises
        ------
        ArgumentError
            Wrong names or sizes.

        """
        layout, wanted, n = message.layout, self._size, len(self._names)
        sizes = tuple(each.size for each in layout.dim)
        if sizes != wanted or layout.data_offset:
            raise ArgumentError(f'layout has dimensions {sizes} and offset {layout.data_offset}; '
                                f'for {n} joints give {wanted} and 0', size=sizes)
        if len(message.data) != wanted[0] * wanted[1]:
            raise ArgumentError(f'{len(message.data)} numbers; {wanted[0]} x {wanted[1]} are '
                                f'{wanted[0] * wanted[1]}', size=len(message.data))
        self._read_order(layout.dim[0].label)
        rows = np.empty(wanted)
        rows[self._order] = np.asarray(message.data).reshape(wanted)
        gain = np.empty((n, 2 * n))
        gain[:, np.concatenate((self._order, n + self._order))] = rows[:, _BEFORE:]
        feedforward, position, velocity = rows[:, :_BEFORE].T.copy()
        return LinearCommand(feedforward, position, velocity, gain)

    def _read_order(self, label: str) -> None:
        """Read the order of the joints from a label."""
        if label == self._label:
            return
        known = self._names
        names = [name.strip() for name in label.split(',')] if label else known
        for name in names:
            if name not in known:
                raise ArgumentError(f'joint {shown(name)} is not in the model: '
                                    f'{near_matches(name, known)}', joint=name)
            if names.count(name) > 1:
                raise ArgumentError(f"joint '{name}' is named twice", joint=name)
        missing = [name for name in known if name not in names]
        if missing:
            raise ArgumentError(f'joints not named: {", ".join(missing)}', joint=missing[0])
        self._label, self._order = label, np.array([known.index(name) for name in names])
