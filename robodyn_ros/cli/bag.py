"""A run as a rosbag2 in MCAP, which Foxglove, PlotJuggler and `ros2 bag` open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from robodyn_ros.exceptions import RobodynError

# of the metadata; 9 is that of ROS 2 Jazzy, which newer ones read
_VERSION = 9


class Topic(NamedTuple):
    """
    What came on a topic.

    Attributes
    ----------
    name : str
        With its namespace.
    kind : str
        Such as sensor_msgs/msg/JointState.
    latched : bool
        Whether late joiners get the last message.
    messages : sequence of (int, bytes)
        When each was sent (ns since the epoch), and what: CDR, as it was on the wire.

    """

    name: str
    kind: str
    latched: bool
    messages: Sequence[tuple[int, bytes]]


def check_bag(path: Path) -> None:
    """
    Raise if a bag cannot be written; before a run that would be for nothing.

    Raises
    ------
    RobodynError
        The library is missing, or the folder is there already.
    OSError
        The folder cannot be made.

    """
    try:
        import rosbags.rosbag2  # noqa: F401
    except ImportError as error:
        raise RobodynError(f'a bag is written with the library rosbags, and {error}: '
                           "pip install rosbags (or 'robodyn_ros[record]')") from error
    if path.exists():
        raise RobodynError(f'{path} is there already: a bag is a new folder, name another one',
                           path=str(path))
    path.mkdir(parents=True)
    path.rmdir()  # the writer wants to make it


def write_bag(path: Path, topics: Iterable[Topic]) -> Path:
    """
    Write a bag, and return the path of its MCAP file.

    Parameters
    ----------
    path : Path
        Folder to make.
    topics : iterable of Topic
        Those without messages are left out.

    Raises
    ------
    RobodynError
        As `check_bag`.

    """
    check_bag(path)
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import get_typestore, Stores
    store = get_typestore(Stores.LATEST)
    with Writer(path, version=_VERSION, storage_plugin=StoragePlugin.MCAP) as writer:
        rows = []
        for topic in topics:
            if not topic.messages:
                continue
            connection = writer.add_connection(topic.name, topic.kind, typestore=store,
                                               offered_qos_profiles=[_quality(topic.latched)])
            rows += [(sent, connection, data) for sent, data in topic.messages]
        for sent, connection, data in sorted(rows, key=lambda row: row[0]):
            writer.write(connection, sent, data)
    return path / f'{path.name}.mcap'


def _quality(latched: bool):
    """Return the quality of service with which a bag is played again."""
    from rosbags.interfaces import (
        Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime)
    forever = QosTime(2147483647, 4294967295)
    return Qos(QosHistory.KEEP_LAST, 1 if latched else 10, QosReliability.RELIABLE,
               QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
               forever, forever, QosLiveliness.AUTOMATIC, forever, False)
