"""Serialized messages: read as the middleware reads them, and never beyond their end."""

import struct
import time

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

from rclpy.serialization import deserialize_message, serialize_message  # noqa: E402
from robodyn_ros.exceptions import ArgumentError  # noqa: E402
from robodyn_ros.nodes.cdr import (  # noqa: E402
    DoublesLayout, JointStateDecoder, JointStateWriter)
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, MultiArrayDimension  # noqa: E402

NAMES = ['shoulder', 'elbow', 'Handgelenk-ä', 'x']
TEXT = st.text(st.characters(codec='utf-8', exclude_characters='\0'), max_size=9)
NUMBERS = st.lists(st.floats(allow_nan=False), max_size=5)


def message(names=NAMES, frame='', stamp=(7, 8), arrays=None):
    """Return a JointState with different numbers everywhere."""
    size = len(names)
    arrays = arrays or [np.arange(size) + 10.0 * k for k in range(3)]
    state = JointState(name=list(names), **dict(zip(('position', 'velocity', 'effort'), arrays)))
    state.header.frame_id = frame
    state.header.stamp.sec, state.header.stamp.nanosec = stamp
    return state


def assert_same(sample, state):
    stamp = state.header.stamp
    assert sample.stamp == 10**9 * stamp.sec + stamp.nanosec
    assert sample.name == list(state.name)
    for field in ('position', 'velocity', 'effort'):
        np.testing.assert_array_equal(getattr(sample, field), getattr(state, field))


def test_layouts_may_take_turns():
    decoder = JointStateDecoder()
    for state in [message(), message(NAMES[::-1]), message(NAMES[:1], 'base'), message([]),
                  message(frame='world'), message(stamp=(-3, 5)),
                  message(arrays=[[1.0] * 4, [], [2.0] * 3])] * 2:
        assert_same(decoder.decode(serialize_message(state)), state)


def test_names_of_one_layout_are_one_list():
    decoder = JointStateDecoder()
    first, second = (decoder.decode(serialize_message(message(stamp=(k, 0)))) for k in (1, 2))
    assert first.name is second.name
    # as long as before, and other joints
    assert decoder.decode(serialize_message(message([*NAMES[:3], 'y']))).name[3] == 'y'


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXT, max_size=4), TEXT, NUMBERS, NUMBERS, NUMBERS,
       st.integers(-2**31, 2**31 - 1), st.integers(0, 10**9 - 1))
def test_any_message_is_read_as_the_middleware_reads_it(names, frame, q, qd, effort, sec, nanosec):
    state = message(names, frame, (sec, nanosec), [q, qd, effort])
    decoder = JointStateDecoder()
    for _ in range(2):  # parsed, then compared
        assert_same(decoder.decode(serialize_message(state)), state)


def test_padding_has_no_meaning():
    data = bytearray(serialize_message(message(['abc', 'abcdef'])))
    decoder = JointStateDecoder()
    names = decoder.decode(bytes(data)).name
    place = data.index(b'abcdef\0') + 7
    data[place] ^= 0xff
    assert decoder.decode(bytes(data)).name is names


def test_a_message_of_another_byte_order():
    fields = [('iI', (5, 6)), ('I4s', (1, b'\0')), ('I', (1,)), ('I4s', (2, b'a\0')),
              ('I', (1,)), ('d', (0.5,)), ('I4x', (1,)), ('d', (0.25,)), ('I4x', (1,)),
              ('d', (0.125,))]
    decoder = JointStateDecoder()
    for order, kind in (('<', 1), ('>', 0), ('<', 1)):
        data = bytes([0, kind, 0, 0]) + b''.join(
            struct.pack(order + each, *values) for each, values in fields)
        sample = decoder.decode(data)
        assert (sample.stamp, sample.name) == (5_000_000_006, ['a'])
        assert (*sample.position, *sample.velocity, *sample.effort) == (0.5, 0.25, 0.125)


@pytest.mark.parametrize('count, seconds', [(1000, 0.5), (1001, 0.01), (200_000, 0.01)])
def test_many_names_take_little_time(count, seconds):
    """The loop that commands an arm reads them; of 200,000 names it took minutes."""
    data = serialize_message(JointState(name=[str(k % 7) for k in range(count)]))
    start = time.thread_time()
    try:
        assert len(JointStateDecoder().decode(data).name) == count <= 1000
    except ArgumentError as error:
        assert str(error) == f'{count} joints in a message, more than 1000'
    assert time.thread_time() - start < seconds


def test_what_ends_too_early_is_refused():
    data = serialize_message(message())
    for size in range(len(data)):
        if size >= len(data) - 3:  # padding at the end
            continue
        with pytest.raises(ArgumentError, match='unknown encoding|ends after'):
            JointStateDecoder().decode(data[:size])


@pytest.mark.parametrize('encoding', [b'', b'\0\2\0\0', b'\1\1\0\0', b'\0'])
def test_other_encodings_are_refused(encoding):
    with pytest.raises(ArgumentError, match='unknown encoding'):
        JointStateDecoder().decode(encoding)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytes_are_read_or_refused(data):
    good = serialize_message(message())
    decoder = JointStateDecoder()
    decoder.decode(good)
    damaged = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        sample = decoder.decode(bytes(damaged))
    except ArgumentError:
        pass
    else:
        assert sum(array.nbytes for array in (
            sample.position, sample.velocity, sample.effort)) < len(good)
    assert_same(decoder.decode(good), message())


def test_many_layouts_are_forgotten_again():
    decoder = JointStateDecoder()
    for size in range(200):
        state = message([str(k) for k in range(size)])
        assert_same(decoder.decode(serialize_message(state)), state)
    assert len(decoder._layouts) <= 64


def test_joint_states_are_written_as_the_middleware_writes_them():
    writer = JointStateWriter(NAMES)
    writer.position[:], writer.effort[:] = [1.0, 2.0, 3.0, 4.0], 5.0
    state = deserialize_message(writer.write(1_500_000_002), JointState)
    assert list(state.name) == NAMES
    assert list(state.position) == [1.0, 2.0, 3.0, 4.0]
    assert list(state.velocity) == [0.0] * 4 and list(state.effort) == [5.0] * 4
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (1, 500_000_002)
    assert len(writer.write(0)) == len(serialize_message(state))


def test_efforts_alone():
    writer = JointStateWriter(NAMES, only='effort')
    writer.effort[:] = range(4)
    state = deserialize_message(writer.write(-1), JointState)
    assert not len(state.position) and not len(state.velocity)
    assert list(state.effort) == [0.0, 1.0, 2.0, 3.0]
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (-1, 999_999_999)


@pytest.mark.parametrize('labels', [(), ('torques',), ('row', 'column')])
def test_where_the_numbers_of_an_array_are(labels):
    message = Float64MultiArray(data=[1.0, -2.0, 3.5])
    message.layout.dim = [MultiArrayDimension(label=each, size=3) for each in labels]
    data = serialize_message(message)
    layout = DoublesLayout(data)
    count, begin = layout.array
    assert list(np.frombuffer(data, '<f8', count, begin)) == [1.0, -2.0, 3.5]
    assert layout.order == '<'
    with pytest.raises(ArgumentError):
        DoublesLayout(data[:begin + 8])
    with pytest.raises(ArgumentError, match='dimensions'):
        DoublesLayout(data[:4] + b'\xff' * 4 + data[8:])
