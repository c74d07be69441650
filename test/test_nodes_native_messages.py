"""Joint states read by machine code: the same as by Python, and nothing outside of a message."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='the nodes need ROS 2')

import rclpy  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from robodyn_ros.control import turn  # noqa: E402
from robodyn_ros.dynamics.jit import blocks  # noqa: E402
from robodyn_ros.nodes.cdr import JointStateDecoder  # noqa: E402
from robodyn_ros.nodes.conversions import in_seconds  # noqa: E402
from robodyn_ros.nodes.native import code, rcl  # noqa: E402
from robodyn_ros.nodes.native.block import Block, Layouts, MAX_LAYOUTS  # noqa: E402
from robodyn_ros.nodes.native.rcl import probe  # noqa: E402
from robodyn_ros.safety.acceptance import State  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

NAMES = ('base', 'elbow', 'wrist')
FIELDS = {entry.name: entry.begin for entry in blocks.entries(State, {'joints': len(NAMES)})}
CANARY = 0x5a


class Reader:
    """The part of the loop that reads a message."""

    def __init__(self):
        self.block, self.message = Block(), rcl.SerializedMessage()
        places = {f'{name}.{entry.name}': entry.begin for name, cls in (
            ('state', State), ('inputs', turn.Inputs), ('turn', turn.Memory))
            for entry in blocks.entries(cls, {'joints': len(NAMES)})}
        places['memory.acceptance.kind'] = 0
        self._code = code.compiled(places)
        self._decode = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(
            self._code.address('decode'))
        self.layouts, self.decoder = Layouts(self.block), JointStateDecoder()
        self.state, self.unknown = np.zeros(40), np.zeros(4096, dtype=np.uint8)
        self.scale = np.ones(len(NAMES))
        for name, address in (('state_message', ctypes.addressof(self.message)),
                              ('state', self.state.ctypes.data),
                              ('effort_scale', self.scale.ctypes.data),
                              ('unknown', self.unknown.ctypes.data)):
            self.block[name] = address
        self.block['unknown_bytes'] = self.unknown.size

    def read(self, data):
        """Return the numbers of the state, (3, n); None if there is none in the message."""
        kept = np.full(len(data) + 64, CANARY, dtype=np.uint8)
        kept[:len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.message.buffer, self.message.length = kept.ctypes.data, len(data)
        self.state.fill(-7.0)
        if not self._decode(self.block.address):
            assert (self.state == -7.0).all()
            return None
        assert (kept[len(data):] == CANARY).all()
        return np.array([self.state[FIELDS[key]:FIELDS[key] + len(NAMES)]
                         for key in ('q', 'qd', 'effort')])

    def add(self, data, **options):
        """Register the layout of a message; return what it lacks."""
        self.decoder.decode(data)
        return self.layouts.register(self.decoder.layout(data), NAMES, **options)


def message(random, names=NAMES, frame='', effort=True, velocity=True):
    n = len(names)
    result = JointState(name=list(names), position=random.normal(size=n),
                        velocity=random.normal(size=n if velocity else 0),
                        effort=random.normal(size=n if effort else 0))
    result.header.frame_id = frame
    result.header.stamp.sec = int(random.integers(2**31))
    result.header.stamp.nanosec = int(random.integers(10**9))
    return result


@pytest.mark.parametrize('names, frame, effort', [
    (NAMES, '', True), (NAMES[::-1], 'base', True), (NAMES, 'a longer name of a frame', False),
    (('gripper', *NAMES, 'x' * 37), 'b', True), (('elbow', 'other', 'wrist', 'base'), '', False)])
def test_numbers_are_those_that_python_reads(names, frame, effort):
    random, reader = np.random.default_rng(1), Reader()
    first = serialize_message(message(random, names, frame, effort))
    assert reader.read(first) is None and reader.block['unknown_length'] == len(first)
    assert reader.unknown[:len(first)].tobytes() == first
    assert not reader.add(first)
    for _ in range(50):
        sent = message(random, names, frame, effort)
        data = serialize_message(sent)
        found, sample = reader.read(data), reader.decoder.decode(data)
        columns = [names.index(name) for name in NAMES]
        np.testing.assert_array_equal(found[:2], [sample.position[columns],
                                                  sample.velocity[columns]])
        np.testing.assert_array_equal(
            found[2], sample.effort[columns] if effort else [np.nan] * len(NAMES))
        assert reader.state[FIELDS['stamp']] == in_seconds(sample.stamp)


def test_efforts_are_read_in_the_scale_of_the_commands():
    random, reader = np.random.default_rng(9), Reader()
    reader.scale[:] = 2.0, -1.0, 0.5
    data = serialize_message(message(random))
    reader.add(data)
    np.testing.assert_array_equal(reader.read(data)[2],
                                  reader.decoder.decode(data).effort / reader.scale)


def test_velocities_that_are_not_reported_are_not_numbers():
    random, reader = np.random.default_rng(7), Reader()
    data = serialize_message(message(random, velocity=False))
    assert 'lack positions or velocities' in reader.add(data)
    assert not reader.add(data, velocity_required=False)
    found, sample = reader.read(data), reader.decoder.decode(data)
    np.testing.assert_array_equal(found[[0, 2]], [sample.position, sample.effort])
    assert np.isnan(found[1]).all()


def test_messages_of_other_joints_are_passed_over():
    random, reader = np.random.default_rng(2), Reader()
    data = serialize_message(message(random, ('left', 'right')))
    assert not reader.add(data)
    assert reader.read(data) is None
    assert not reader.block['unknown_length'] and not reader.block['refused']


@pytest.mark.parametrize('change, words', [
    ({'names': NAMES[:2]}, 'come in several messages'),
    ({'names': (*NAMES, 'base')}, 'name a joint twice')])
def test_what_machine_code_does_not_read_is_named(change, words):
    data = serialize_message(message(np.random.default_rng(3), **change))
    assert words in Reader().add(data)


def test_a_damaged_message_is_python_s():
    """No bit of counts and names may differ; no length exceeds the message."""
    random, reader = np.random.default_rng(4), Reader()
    good = serialize_message(message(random))
    assert not reader.add(good)
    for begin, size in reader.decoder.layout(good).compared:
        for place in range(begin, begin + size):
            bad = bytearray(good)
            bad[place] ^= 1 << int(random.integers(8))
            assert reader.read(bytes(bad)) is None, place
    for cut in range(len(good)):
        assert reader.read(good[:cut]) is None
    assert reader.read(good + bytes(8)) is None
    assert reader.read(good) is not None


def test_a_message_that_waits_for_python_is_not_overwritten():
    random, reader = np.random.default_rng(5), Reader()
    one, two = (serialize_message(message(random, frame=frame)) for frame in ('one', 'second'))
    for data in (one, two):
        assert reader.read(data) is None
    assert reader.block['refused'] == 2
    assert reader.unknown[:reader.block['unknown_length']].tobytes() == one
    assert reader.read(bytes(8000)) is None, 'longer than the room for it'


def test_there_is_a_bound_on_layouts():
    random, reader = np.random.default_rng(6), Reader()
    for k in range(MAX_LAYOUTS):
        assert not reader.add(serialize_message(message(random, frame='f' * (8 * k))))
    assert 'more than' in reader.add(serialize_message(message(random, frame='f' * 99)))


# --- what is assumed about rcl ------------------------------------------------------------------

@pytest.fixture(scope='module')
def wires():
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node('native_wires', context=context)
    publisher = node.create_publisher(Float64MultiArray, 'torques', 10)
    yield node, publisher
    node.destroy_node()
    rclpy.try_shutdown(context=context)


def test_what_is_assumed_about_rcl_holds_here(wires):
    node, publisher = wires
    probe(node, rcl.Rcl(), {'/torques': ('publisher', publisher.handle.pointer)})


def test_the_library_is_found_in_a_folder_whose_name_has_spaces(wires, monkeypatch, tmp_path):
    """Otherwise the loop would be Python's there, without need."""
    class Maps:
        @staticmethod
        def read_text():
            return text.replace(str(folder), str(spaced))

    text = rcl._MAPS.read_text()
    folder = Path(next(line.split(maxsplit=5)[5] for line in text.splitlines()
                       if '/librcl.so' in line)).parent
    spaced = tmp_path / 'my robots'
    spaced.symlink_to(folder)
    monkeypatch.setattr(rcl, '_MAPS', Maps)
    assert rcl.Rcl().addresses.keys() >= rcl.Rcl.ADDRESSES.keys()


def test_a_handle_of_another_topic_is_refused(wires):
    node, publisher = wires
    with pytest.raises(rcl.NativeLoopError, match="publisher of /other names '/torques'"):
        probe(node, rcl.Rcl(), {'/other': ('publisher', publisher.handle.pointer)})


@pytest.mark.parametrize('name', ['SerializedMessage', 'WaitSet'])
def test_structures_of_another_size_are_refused(wires, monkeypatch, name):
    """As of a version of rcl that has a field more."""
    node, _ = wires
    fields = getattr(rcl, name)._fields_[:-1]
    monkeypatch.setattr(rcl, name, type(name, (ctypes.Structure,), {'_fields_': fields}))
    made = rcl.Rcl()
    with pytest.raises((rcl.NativeLoopError, AttributeError),
                       match='another structure|impl|wait_set_init'):
        probe(node, made, {})
