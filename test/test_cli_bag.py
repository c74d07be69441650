"""Bags: what is written is what is read, by a library that is not ours."""
import sys

from bag_of_joints import contents
import numpy as np
import pytest
from robodyn_ros.exceptions import RobodynError
from robodyn_ros.nodes.bag import check_bag, Topic, write_bag

rosbags = pytest.importorskip('rosbags', reason='bags need the library rosbags')


def serialized(position):
    from rosbags.typesys import get_typestore, Stores
    store = get_typestore(Stores.LATEST)
    kind = store.types['sensor_msgs/msg/JointState']
    time = store.types['builtin_interfaces/msg/Time'](sec=3, nanosec=4)
    header = store.types['std_msgs/msg/Header'](stamp=time, frame_id='')
    joints = kind(header=header, name=['a'], position=np.array([position]),
                  velocity=np.zeros(0), effort=np.zeros(0))
    return bytes(store.serialize_cdr(joints, 'sensor_msgs/msg/JointState'))


def test_messages_come_back_in_the_order_of_their_times(tmp_path):
    kind = 'sensor_msgs/msg/JointState'
    topics = [Topic('/b', kind, False, [(30, serialized(3.0)), (50, serialized(5.0))]),
              Topic('/a', kind, True, [(40, serialized(4.0))]), Topic('/none', kind, False, [])]
    path = write_bag(tmp_path / 'bag', topics)
    assert path.read_bytes().startswith(b'\x89MCAP0\r\n'), 'not an MCAP file'
    messages, kinds = contents(tmp_path / 'bag')
    assert kinds == {'/a': kind, '/b': kind}
    assert [(stamp, m.position[0]) for stamp, m in messages['/b']] == [(30, 3.0), (50, 5.0)]
    assert messages['/a'][0][1].header.stamp.sec == 3
    assert (tmp_path / 'bag' / 'metadata.yaml').exists(), 'ros2 bag needs it'


def test_a_bag_never_replaces_anything(tmp_path):
    with pytest.raises(RobodynError, match='exists already'):
        check_bag(tmp_path)


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, 'rosbags.rosbag2', None)
    with pytest.raises(RobodynError, match='pip install rosbags'):
        check_bag(tmp_path / 'bag')
