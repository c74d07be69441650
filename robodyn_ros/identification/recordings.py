"""
Reader of recordings of an arm: bags of ROS 2, in MCAP or SQLite, and tables (CSV).

Messages and joints may have any order; other joints, repeated and missing messages are permitted.
ROS is not needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodyn_ros.exceptions import near_matches, RobodynError, sentence, shown
from robodyn_ros.identification.recording import Recording

JOINT_STATE = 'sensor_msgs/msg/JointState'
FLOATS = 'std_msgs/msg/Float64MultiArray'


class Topics(NamedTuple):
    """
    Topics of positions and efforts.

    Attributes
    ----------
    states : str
        Topic of JointState messages with the positions.
    effort : str or None
        Topic of JointState or Float64MultiArray messages with the efforts; None: as `states`.
    effort_joints : sequence of str
        Order of the efforts in a Float64MultiArray.

    """

    states: str = '/joint_states'
    effort: str | None = None
    effort_joints: Sequence[str] = ()


class _Rows(NamedTuple):
    """Messages of a topic: stamps and times of recording (ns), values; NaN if missing."""

    stamp: np.ndarray
    logged: np.ndarray
    values: np.ndarray


def read_recording(path: str | PathLike, joint_names: Sequence[str],
                   topics: Topics = Topics()) -> Recording:
    """
    Return the recording of some joints in a file or folder.

    Raises
    ------
    RobodynError
        It cannot be read, or has no such topic, joint or efforts; the message lists those that
        exist.

    """
    path = Path(path)
    if not path.exists():
        raise RobodynError(f'{path} does not exist: give the folder of a bag, its .mcap or .db3 '
                           'file, or a .csv file', path=str(path))
    if path.suffix.lower() == '.csv':
        return _read_table(path, joint_names)
    with _opened(path) as reader:
        positions = _joint_rows(reader, topics.states, joint_names, 'position')
        if topics.effort is None:
            efforts = _joint_rows(reader, topics.states, joint_names, 'effort')
        elif _kind(reader, topics.effort) == FLOATS:
            efforts = _array_rows(reader, topics.effort, joint_names, topics.effort_joints)
        else:
            efforts = _joint_rows(reader, topics.effort, joint_names, 'effort')
        _check_complete(reader, topics, positions, efforts)
    # if one of them has no stamps, the times of recording are used for both
    stamped = (positions.stamp > 0).all() and (efforts.stamp > 0).all()
    times = [rows.stamp if stamped else rows.logged for rows in (positions, efforts)]
    begin = min(each.min() for each in times)
    return Recording(tuple(joint_names), 1e-9 * (times[0] - begin), positions.values,
                     1e-9 * (times[1] - begin), efforts.values)


@contextmanager
def _opened(path: Path) -> Iterator:
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.typesys import get_typestore, Stores
    except ImportError as error:
        raise RobodynError(f'reading a bag needs the library rosbags, and {error}: '
                           "pip install rosbags (or 'robodyn_ros[record]')") from error
    # the metadata are in the folder of the file
    folder = path if path.is_dir() else path.parent
    try:
        with AnyReader([folder], default_typestore=get_typestore(Stores.LATEST)) as reader:
            yield reader
    except (AnyReaderError, OSError) as error:
        reason = str(error).rstrip('.')
        raise RobodynError(f'{path} cannot be read as a bag: {reason}. A bag is a folder with a '
                           f'metadata.yaml; `ros2 bag reindex {folder}` writes a new one',
                           path=str(path)) from error


def _connections(reader, topic: str) -> list:
    name = '/' + topic.lstrip('/')
    found = [each for each in reader.connections if each.topic == name]
    if not found:
        known = sorted({f'{each.topic} ({each.msgtype})' for each in reader.connections
                        if each.msgtype in (JOINT_STATE, FLOATS)})
        names = sorted({each.topic for each in reader.connections})
        usable = ', '.join(known) if known else 'none; ' + near_matches(name, names)
        raise RobodynError(f'the bag has no topic {name}. Topics with joint states or arrays: '
                           f'{usable}', topic=name)
    return found


def _kind(reader, topic: str) -> str:
    return _connections(reader, topic)[0].msgtype


def _messages(reader, topic: str, kind: str) -> Iterator[tuple[int, Any]]:
    connections = _connections(reader, topic)
    if connections[0].msgtype != kind:
        raise RobodynError(f'topic {topic} has messages of {connections[0].msgtype}; {kind} is '
                           'needed', topic=topic, kind=connections[0].msgtype)
    for connection, logged, data in reader.messages(connections):
        try:
            message = reader.deserialize(data, connection.msgtype)
        except Exception as error:  # of several types
            raise RobodynError(f'topic {topic} has a message that cannot be decoded '
                               f'({shown(str(error))}): record it again, or cut the bag before '
                               f'{1e-9 * logged:.3f} s', topic=topic) from error
        yield logged, message


def _joint_rows(reader, topic: str, joint_names: Sequence[str], field: str) -> _Rows:
    """Return a field of the messages that name all joints."""
    stamps, logged, rows, seen = [], [], [], set()
    for time, message in _messages(reader, topic, JOINT_STATE):
        values = getattr(message, field)
        column = {name: k for k, name in enumerate(message.name)}
        seen.update(message.name)
        if not all(name in column for name in joint_names):
            continue
        stamps.append(1_000_000_000 * message.header.stamp.sec + message.header.stamp.nanosec)
        logged.append(time)
        rows.append([values[column[name]] if column[name] < len(values) else np.nan
                     for name in joint_names])
    if not rows:
        missing = [name for name in joint_names if name not in seen]
        what = (f'joint {missing[0]!r} is never named; {near_matches(missing[0], sorted(seen))}'
                if missing else 'no message names all joints at once')
        raise RobodynError(f'topic {topic}: {sentence(what)} Lock joints that are not recorded '
                           'with --lock, or give the topic of the arm', topic=topic,
                           missing=missing)
    return _Rows(np.array(stamps), np.array(logged), np.array(rows, dtype=float))


def _array_rows(reader, topic: str, joint_names: Sequence[str],
                order: Sequence[str]) -> _Rows:
    """Return the messages of an array topic, which have no stamps."""
    order = list(order or joint_names)
    for name in joint_names:
        if name not in order:
            raise RobodynError(f'--effort-joints does not have joint {name!r}; it has '
                               + ', '.join(order), joint=name)
    columns = [order.index(name) for name in joint_names]
    logged, rows = [], []
    for time, message in _messages(reader, topic, FLOATS):
        if len(message.data) != len(order):
            raise RobodynError(
                f'topic {topic} has {len(message.data)} numbers in a message, and {len(order)} '
                'joints are expected: give them in their order with --effort-joints', topic=topic)
        logged.append(time)
        rows.append(message.data[columns])
    values = np.array(rows, dtype=float).reshape(-1, len(columns))
    return _Rows(np.zeros(len(logged), dtype=np.int64), np.array(logged, dtype=np.int64), values)


def _check_complete(reader, topics: Topics, positions: _Rows, efforts: _Rows) -> None:
    for what, rows, topic in (('positions', positions, topics.states),
                              ('efforts', efforts, topics.effort or topics.states)):
        if np.isfinite(rows.values).all(axis=1).any():
            continue
        others = sorted({each.topic for each in reader.connections
                         if each.msgtype in (JOINT_STATE, FLOATS)} - {topic})
        raise RobodynError(f'topic {topic} has no {what} of all joints: '
                           + (f'record {what}' if what == 'positions' else
                              'give the topic that has them with --effort-topic; others are '
                              + (', '.join(others) or 'none')), topic=topic)


def _read_table(path: Path, joint_names: Sequence[str]) -> Recording:
    """Read columns `time`, and for each joint NAME.position and NAME.effort."""
    heads, rows = _table(path)
    wanted = ['time', *(f'{name}.{what}' for what in ('position', 'effort')
                        for name in joint_names)]
    for head in wanted:
        if head not in heads:
            raise RobodynError(f'{path} has no column {head!r}; {near_matches(head, heads)}',
                               path=str(path), column=head)
    table = rows[:, [heads.index(head) for head in wanted]]
    n = len(joint_names)
    return Recording(tuple(joint_names), table[:, 0], table[:, 1:n + 1], table[:, 0],
                     table[:, n + 1:])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _table(path: Path) -> tuple[list[str], np.ndarray]:
    """Return heads and rows of a CSV file; entries that are not numbers are NaN."""
    try:
        first, *others = path.read_text(encoding='utf-8-sig').splitlines() or ['']
    except UnicodeDecodeError as error:
        raise RobodynError(f'{path} is not text ({error}): write the table as UTF-8',
                           path=str(path)) from error
    heads = [head.strip() for head in first.split(',')]
    if all(map(_is_number, heads)):
        raise RobodynError(f'{path} begins with numbers: give the first line the names of the '
                           'columns, time,JOINT.position,...,JOINT.effort,...', path=str(path))
    lines = [(number, line) for number, line in enumerate(others, 2) if line.strip()]
    for number, line in lines:
        if line.count(',') + 1 != len(heads):
            raise RobodynError(f'{path}, line {number} has {line.count(",") + 1} columns, the '
                               f'first one {len(heads)}: make them equal', path=str(path))
    if not lines:
        return heads, np.empty((0, len(heads)))
    read: Any = np.genfromtxt  # its annotations have no `comments=None`
    return heads, read([line for _, line in lines], delimiter=',', comments=None, ndmin=2)
