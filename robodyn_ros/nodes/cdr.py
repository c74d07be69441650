"""
Serialized messages of the control loop, read and written without message objects.

ROS 2 sends messages as XCDR version 1: four bytes that name the encoding, then the fields one
after the other, each aligned to its own size, counted from the end of those four bytes (OMG
DDS-XTypes 1.3, section 7.4.1; OMG CORBA 3.4, section 9.3). Making a Python message of these bytes
costs more than a whole control law does.

The layout of a JointState depends on its names and lengths alone, which seldom change. The first
message of a layout is parsed field by field; those after it are compared with it and read in one
step. Padding is not compared, because middlewares leave it uninitialised.
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
_LAYOUTS = 64        # at most kept, by length of the message
_MOST_JOINTS = 1000  # of a message: reading names takes a microsecond each, once per layout
_MOST_DIMENSIONS = 100
_SECOND = 1_000_000_000
_LATEST = 2**31 * _SECOND - 1  # ns, that a stamp of 32 bits of seconds can have


@dataclass(eq=False, slots=True)
class JointStateSample:
    """
    What a JointState message says.

    Attributes
    ----------
    stamp : int
        When it was measured, in ns since the epoch; 0 if it has no stamp.
    name : list of str
        Joints. The same list for all messages of one layout.
    position, velocity, effort : (n,) array
        In the order of the names, if they are as many; read-only.

    """

    stamp: int
    name: list[str]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class JointStateDecoder:
    """
    Reads serialized JointState messages.

    A length, count or string that leads out of the message is an error; no byte outside of it is
    read.
    """

    def __init__(self) -> None:
        self._layouts: dict[int, JointStateLayout] = {}

    @property
    def layouts(self) -> list[JointStateLayout]:
        """Return the layouts of the messages that came."""
        return list(self._layouts.values())

    def layout(self, data: bytes) -> JointStateLayout:
        """Return the layout of the message that was read last, of this length."""
        return self._layouts[len(data)]

    def decode(self, data: bytes) -> JointStateSample:
        """
        Return what a message says.

        Parameters
        ----------
        data : bytes
            As received, with the four bytes of the encoding.

        Raises
        ------
        ArgumentError
            The bytes are no JointState, or of an encoding that ROS 2 does not use.

        """
        layout = self._layouts.get(len(data))
        if layout is None or not layout.fits(data):
            layout = JointStateLayout(data)
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            self._layouts[len(data)] = layout
        return layout.read(data)


class JointStateLayout:
    """
    Where the fields of a JointState are: those of a message, and of all that are alike.

    Attributes
    ----------
    data : bytes
        The first message.
    names : list of str
        Joints.
    arrays : list of (int, int)
        Of position, velocity and effort: how many there are, and where they begin.
    compared : list of (int, int)
        Begin and size of the bytes that are the same in all messages of this layout.
    order : str
        Of the bytes, as `struct` writes it.

    """

    def __init__(self, data: bytes):
        cursor = _Cursor(data)
        cursor.pass_over(8, 4)  # the stamp
        cursor.string()  # the frame
        count = cursor.count()
        if count > _MOST_JOINTS:
            raise ArgumentError(f'{count} joints in a message, more than {_MOST_JOINTS}')
        self.data, self.names = data, [cursor.string() for _ in range(count)]
        self.arrays = [cursor.doubles() for _ in ('position', 'velocity', 'effort')]
        self.compared, self.order = cursor.compared, cursor.order
        self._fixed = struct.Struct(cursor.layout)
        self._values = self._fixed.unpack_from(data)
        self._number = np.dtype(f'{cursor.order}f8')
        self._stamp = struct.Struct(f'{cursor.order}iI')

    def fits(self, data: bytes) -> bool:
        """Whether a message of the same length has this layout."""
        # the byte order first: counts read in another one would be none
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
    Where the numbers of a Float64MultiArray are: in a message, and in all that are alike.

    Attributes
    ----------
    data : bytes
        The message.
    array : (int, int)
        How many numbers there are, and where they begin.
    compared, order
        As in `JointStateLayout`.

    Raises
    ------
    ArgumentError
        The bytes are no Float64MultiArray.

    """

    def __init__(self, data: bytes):
        cursor = _Cursor(data)
        dimensions = cursor.count()
        if dimensions > _MOST_DIMENSIONS:
            raise ArgumentError(f'{dimensions} dimensions in a message, more than '
                                f'{_MOST_DIMENSIONS}')
        for _ in range(dimensions):
            cursor.string()  # its label
            cursor.pass_over(8, 4)
        cursor.pass_over(4, 4)  # the offset
        self.data, self.array = data, cursor.doubles()
        self.compared, self.order = cursor.compared, cursor.order


class _Cursor:
    """
    Goes through a message field by field.

    Attributes
    ----------
    order : str
        Of the bytes, as `struct` writes it.
    compared : list of (int, int)
        Begin and size of what was read.

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
        """Return the format of `struct` up to the last field: counts and strings are read."""
        return ''.join(self._format)

    def pass_over(self, size: int, alignment: int) -> int:
        """Go over a field that is not compared; return where it begins."""
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
        """Go over a sequence of doubles; return how many there are, and where they begin."""
        count = self.count()
        return count, self.pass_over(8 * count, 8) if count else self._place

    def _reach(self, size: int, alignment: int) -> int:
        """Go over the padding and a field after it; return where the field begins."""
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
    Serialized JointState messages of the same joints.

    Parameters
    ----------
    joint_names : sequence of str
        Joints, in the order of the arrays.
    only : str, optional
        The one array that messages have; by default they have all three.

    Attributes
    ----------
    data : bytearray
        The next message.
    position, velocity, effort : (n,) array
        What it says; zero at first.

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
        """Return the message, measured at `stamp`, in ns since the epoch."""
        _STAMP.pack_into(self.data, _HEADER, *divmod(stamp, _SECOND))
        return bytes(self.data)


class DoublesWriter:
    """
    Serialized Float64MultiArray messages of one size.

    Parameters
    ----------
    size : int
        How many numbers.

    Attributes
    ----------
    values : (size,) array
        What the next message says.

    """

    def __init__(self, size: int):
        self._data = data = bytearray(LITTLE_ENDIAN + bytes(8))  # no dimensions, no offset
        count, start = _append_doubles(data, size)
        self.values = np.frombuffer(data, '<f8', count, start)

    def write(self) -> bytes:
        """Return the message."""
        return bytes(self._data)


_STAMP = struct.Struct('<iI')


def _append_count(data: bytearray, count: int) -> None:
    data += bytes((_HEADER - len(data)) % 4) + struct.pack('<I', count)


def _append_string(data: bytearray, text: str) -> None:
    encoded = text.encode() + b'\0'
    _append_count(data, len(encoded))
    data += encoded


def _append_doubles(data: bytearray, count: int) -> tuple[int, int]:
    """Append zeros; return how many there are, and where they begin."""
    _append_count(data, count)
    if not count:
        return 0, len(data)
    data += bytes((_HEADER - len(data)) % 8)
    start = len(data)
    data += bytes(8 * count)
    return count, start
