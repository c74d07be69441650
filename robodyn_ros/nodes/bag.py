"""Writer of recordings as rosbag2 in MCAP, for Foxglove, PlotJuggler and `ros2 bag`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.files import made

# version of the metadata; 9 is of ROS 2 Jazzy, and later releases read it
_VERSION = 9


class Topic(NamedTuple):
    """
    Recording of a topic.

    Attributes
    ----------
    topic : str
        Name with its namespace.
    kind : str
        Message type, such as sensor_msgs/msg/JointState.
    latched : bool
        Whether the durability is transient local.
    messages : sequence of (int, bytes)
        Time of sending (ns since the epoch) and CDR data of each message.

    """

    topic: str
    kind: str
    latched: bool
    messages: Sequence[tuple[int, bytes]]


def check_bag(path: Path) -> None:
    """
    Raise if a bag cannot be written.

    Raises
    ------
    RobodynError
        The library rosbags is missing, or the folder exists.
    OSError
        The folder cannot be made.

    """
    try:
        import rosbags.rosbag2  # noqa: F401
    except ImportError as error:
        raise RobodynError(f'writing a bag needs the library rosbags, and {error}: '
                           "pip install rosbags (or 'robodyn_ros[record]')") from error
    if path.exists():
        raise RobodynError(f'{path} exists already: choose a new folder for the bag',
                           path=str(path))
    with made(path):  # and removed again, as the writer requires
        pass


def write_bag(path: Path, topics: Iterable[Any]) -> Path:
    """
    Write a bag, and return the path of its MCAP file.

    Parameters
    ----------
    path : Path
        Folder of the bag.
    topics : iterable of Topic
        Topics, or recorded streams of `client.recorder`; those without messages are left out.

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
            connection = writer.add_connection(topic.topic, topic.kind, typestore=store,
                                               offered_qos_profiles=[_quality(topic.latched)])
            rows += [(sent, connection, data) for sent, data in topic.messages]
        for sent, connection, data in sorted(rows, key=lambda row: row[0]):
            writer.write(connection, sent, data)
    return path / f'{path.name}.mcap'


def _quality(latched: bool):
    """Return the quality of service for playing the bag."""
    from rosbags.interfaces import (
        Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime)
    forever = QosTime(2147483647, 4294967295)
    return Qos(QosHistory.KEEP_LAST, 1 if latched else 10, QosReliability.RELIABLE,
               QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
               forever, forever, QosLiveliness.AUTOMATIC, forever, False)
