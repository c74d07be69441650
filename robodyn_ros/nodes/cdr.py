"""
Serialized messages of the control loop, read and written without message objects.

ROS 2 sends messages as XCDR version 1: four bytes that name the encoding, then the fields one
after the other, each aligned to its own size, counted from the end of those four bytes (OMG
DDS-XTypes 1.3, section 7.4.1; OMG CORBA 3.4, section 9.3). The deserialization to a Python message
takes longer than a control law.

The layout of a JointState depends on its names and lengths only, which seldom change. The first
message of a layout is parsed field by field; later ones are compared with it and read in one step.
Padding is not compared, because middlewares leave it uninitialised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import struct

import numpy as np

from robodyn_ros.exceptions import ArgumentError

LITTLE_ENDIAN = b'\x00\x01\x00\x00'
_HEADER = len(LITTLE_ENDIAN)
_BYTE_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
_MAX_LAYOUTS = 64    # layouts kept, by length of the message
_MAX_JOINTS = 1000   # of a message: a name takes a microsecond, once per layout
_MAX_DIMENSIONS = 100
_SECOND = 1_000_000_000
_LATEST = 2**31 * _SECOND - 1  # ns, largest stamp with 32 bits of seconds


@dataclass(eq=False, slots=True)
class JointStateSample:
    """
    Content of a JointState message.

    Attributes
    ----------
    stamp : int
        Time of the measurement, in ns since the epoch; 0 without a stamp.
    name : list of str
        Joints; the same object for all messages of one layout.
    position, velocity, effort : (n,) array
        Values in the order of the names, if they are as many; read-only.

    """

    stamp: int
    name: list[str]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class JointStateDecoder:
    """
    Reads serialized JointState messages.

    A length, count or string that exceeds the message is an error; no byte outside of the message
    is read.
    """

    def __init__(self) -> None:
        self._layouts: dict[int, JointStateLayout] = {}

    @property
    def layouts(self) -> list[JointStateLayout]:
        """Return the layouts of the messages so far."""
        return list(self._layouts.values())

    def layout(self, data: bytes) -> JointStateLayout:
        """Return the layout of the last message of this length."""
        return self._layouts[len(data)]

    def decode(self, data: bytes) -> JointStateSample:
        """
        Return the content of a message.

        Parameters
        ----------
        data : bytes
            Message as received, with the four bytes of the encoding.

        Raises
        ------
        ArgumentError
            The bytes are not a JointState, or of an encoding that ROS 2 does not use.

        """
        layout = self._layouts.get(len(data))
        if layout is None or not layout.fits(data):
            layout = JointStateLayout(data)
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            self._layouts[len(data)] = layout
        return layout.read(data)


class JointStateLayout:
    """
    Offsets of the fields of a JointState, for all messages with the same names and lengths.

    Attributes
    ----------
    data : bytes
        The first message.
    names : list of str
        Joints.
    arrays : list of (int, int)
        Length and begin of position, velocity and effort.
    compared : list of (int, int)
        Begin and size of the bytes that are the same in all messages of this layout.
    order : str
        Byte order, as in `struct`.

    """

    def __init__(self, data: bytes):
        cursor = _Cursor(data)
        cursor.skip(8, 4)  # stamp
        cursor.string()  # frame
        count = cursor.count()
        if count > _MAX_JOINTS:
            raise ArgumentError(f'{count} joints in a message, more than {_MAX_JOINTS}')
        self.data, self.names = data, [cursor.string() for _ in range(count)]
        self.arrays = [cursor.doubles() for _ in ('position', 'velocity', 'effort')]
        self.compared, self.order = cursor.compared, cursor.order
        self._fixed = struct.Struct(cursor.layout)
        self._values = self._fixed.unpack_from(data)
        self._number = np.dtype(f'{cursor.order}f8')
        self._stamp = struct.Struct(f'{cursor.order}iI')

    def fits(self, data: bytes) -> bool:
        """Whether a message of the same length has this layout."""
        # the byte order first: without it the counts have no meaning
        return (_BYTE_ORDERS.get(data[:2]) == self.order
                and self._fixed.unpack_from(data) == self._values)

    def read(self, data: bytes) -> JointStateSample:
        """Return the sample of a message that fits."""
        seconds, nanoseconds = self._stamp.unpack_from(data, _HEADER)
        return JointStateSample(
            min(seconds * _SECOND + nanoseconds, _LATEST), self.names,
            *[np.frombuffer(data, self._number, count, start) for count, start in self.arrays])


class DoublesLayout:
    """
    Offsets of the numbers of a Float64MultiArray, for all messages of the same layout.

    Attributes
    ----------
    data : bytes
        The message.
    array : (int, int)
        Length and begin of the numbers.
    compared, order
        As in `JointStateLayout`.

    Raises
    ------
    ArgumentError
        The bytes are not a Float64MultiArray.

    """

    def __init__(self, data: bytes):
        cursor = _Cursor(data)
        dimensions = cursor.count()
        if dimensions > _MAX_DIMENSIONS:
            raise ArgumentError(f'{dimensions} dimensions in a message, more than '
                                f'{_MAX_DIMENSIONS}')
        for _ in range(dimensions):
            cursor.string()  # label
            cursor.skip(8, 4)  # size and stride
        cursor.skip(4, 4)  # offset of the data
        self.data, self.array = data, cursor.doubles()
        self.compared, self.order = cursor.compared, cursor.order


class _Cursor:
    """
    Parser of a message, field by field.

    Attributes
    ----------
    order : str
        Byte order, as in `struct`.
    compared : list of (int, int)
        Begin and size of the counts and strings that were read.

    """

    def __init__(self, data: bytes):
        order = _BYTE_ORDERS.get(data[:2])
        if order is None:
            raise ArgumentError(f'a message of an unknown encoding: {data[:4].hex() or "empty"}')
        self.order, self._format = order, [order, f'{_HEADER}x']
        self._data, self._place, self.compared = data, _HEADER, [(0, 2)]
        self._count = struct.Struct(f'{order}I')

    @property
    def layout(self) -> str:
        """Return the format of `struct` that reads all counts and strings so far."""
        return ''.join(self._format)

    def skip(self, size: int, alignment: int) -> int:
        """Skip a field that is not compared; return its begin."""
        begin = self._reach(size, alignment)
        self._format.append(f'{size}x')
        return begin

    def count(self) -> int:
        """Read a count."""
        begin = self._reach(4, 4)
        self._format.append('I')
        self.compared.append((begin, 4))
        return self._count.unpack_from(self._data, begin)[0]

    def string(self) -> str:
        """Read a string; its count includes the zero at its end."""
        size = self.count()
        begin = self._reach(size, 1)
        self._format.append(f'{size}s')
        self.compared.append((begin, size))
        return self._data[begin:begin + size].removesuffix(b'\0').decode('utf-8', 'replace')

    def doubles(self) -> tuple[int, int]:
        """Skip a sequence of doubles; return its length and begin."""
        count = self.count()
        return count, self.skip(8 * count, 8) if count else self._place

    def _reach(self, size: int, alignment: int) -> int:
        """Move over padding and the field after it; return the begin of the field."""
        padding = (_HEADER - self._place) % alignment
        begin = self._place + padding
        if begin + size > len(self._data):
            raise ArgumentError(f'a message that ends after {len(self._data)} bytes, in the '
                                f'middle of its fields')
        self._format.append(f'{padding}x')
        self._place = begin + size
        return begin


class JointStateWriter:
    """
    Writer of serialized JointState messages of the same joints.

    Parameters
    ----------
    joint_names : sequence of str
        Joints, in the order of the arrays.
    only : str, optional
        Name of the only array in the messages; default all three.

    Attributes
    ----------
    data : bytearray
        The next message.
    position, velocity, effort : (n,) array
        Values of the next message; initially zero.

    """

    def __init__(self, joint_names: Sequence[str], only: str = ''):
        data = bytearray(LITTLE_ENDIAN + bytes(8))
        _append_string(data, '')
        _append_count(data, len(joint_names))
        for name in joint_names:
            _append_string(data, name)
        views = [_append_doubles(data, len(joint_names) if only in ('', each) else 0)
                 for each in ('position', 'velocity', 'effort')]
        self.data = data
        self.position, self.velocity, self.effort = (
            np.frombuffer(data, '<f8', count, start) for count, start in views)

    def write(self, stamp: int) -> bytes:
        """Return the message with a stamp, in ns since the epoch."""
        _STAMP.pack_into(self.data, _HEADER, *divmod(stamp, _SECOND))
        return bytes(self.data)


_STAMP = struct.Struct('<iI')


def _append_count(data: bytearray, count: int) -> None:
    data += bytes((_HEADER - len(data)) % 4) + struct.pack('<I', count)


def _append_string(data: bytearray, text: str) -> None:
    encoded = text.encode() + b'\0'
    _append_count(data, len(encoded))
    data += encoded


def _append_doubles(data: bytearray, count: int) -> tuple[int, int]:
    """Append zeros; return their number and begin."""
    _append_count(data, count)
    if not count:
        return 0, len(data)
    data += bytes((_HEADER - len(data)) % 8)
    start = len(data)
    data += bytes(8 * count)
    return count, start
