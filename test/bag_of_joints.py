"""Bags of joint states, as recorders write them, without ROS."""

import numpy as np

BEGIN = 10 ** 18  # ns


def store():
    """Return the types of messages."""
    from rosbags.typesys import get_typestore, Stores
    return get_typestore(Stores.LATEST)


def joint_state(types, time, names, position=(), effort=(), stamped=True):
    """Return (ns, CDR) of a JointState at a time (s)."""
    now = BEGIN + round(1e9 * time)
    seconds, rest = divmod(now if stamped else 0, 10 ** 9)
    stamp = types.types['builtin_interfaces/msg/Time'](sec=seconds, nanosec=rest)
    header = types.types['std_msgs/msg/Header'](stamp=stamp, frame_id='')
    kind = 'sensor_msgs/msg/JointState'
    message = types.types[kind](
        header=header, name=list(names), position=np.array(position, dtype=float),
        velocity=np.zeros(0), effort=np.array(effort, dtype=float))
    return now, bytes(types.serialize_cdr(message, kind))


def array(types, time, values):
    """Return (ns, CDR) of a Float64MultiArray at a time (s)."""
    layout = types.types['std_msgs/msg/MultiArrayLayout'](dim=[], data_offset=0)
    kind = 'std_msgs/msg/Float64MultiArray'
    message = types.types[kind](layout=layout, data=np.array(values, dtype=float))
    return BEGIN + round(1e9 * time), bytes(types.serialize_cdr(message, kind))


def contents(folder):
    """Return (messages by topic, types by topic) of a bag."""
    from rosbags.highlevel import AnyReader
    messages, kinds = {}, {}
    with AnyReader([folder]) as reader:
        for connection, stamp, data in reader.messages():
            kinds[connection.topic] = connection.msgtype
            messages.setdefault(connection.topic, []).append(
                (stamp, reader.deserialize(data, connection.msgtype)))
    return messages, kinds


def write_sqlite(folder, topics):
    """Write {topic: (type, [(ns, CDR)])} as a bag in SQLite."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    with Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        for topic, (kind, rows) in topics.items():
            connection = writer.add_connection(topic, kind, typestore=store())
            for now, data in rows:
                writer.write(connection, now, data)
