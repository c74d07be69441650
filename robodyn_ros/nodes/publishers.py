"""
Publishers: beside a loop, which goes on where a message is not sent; and those of other nodes.

Only one controller may publish commands for an arm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
import re
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.node import Node, PublisherEventCallbacks
from rclpy.publisher import Publisher

from robodyn_ros.exceptions import printable
from robodyn_ros.nodes import qos

_REPEAT = 5.0  # s between two lines of the log
_GID = 16  # bytes of the number of a publisher
UNKNOWN = '_NODE_NAME_UNKNOWN_'  # rmw's name for a node that is not discovered yet
_HEADER = 'std_msgs/msg/Header'
_NAME = re.compile(r'(/[a-z_][a-z0-9_]*)+', re.ASCII | re.IGNORECASE)


def quiet_publisher(node: Node, kind: type, topic: str, depth: int = 1) -> Publisher:
    """Return a publisher without event callbacks, which slow down every wait of the executor."""
    return node.create_publisher(kind, topic, qos.reliable(depth), event_callbacks=(
        PublisherEventCallbacks(use_default_callbacks=False)))


def send(publisher: Publisher, message: Any) -> bool:
    """
    Publish a message; return whether the middleware took it.

    It refuses messages while it shuts down and while its queues are full on a busy computer.
    The next message of a loop replaces this one, an end of the process would leave the arm alone.
    """
    try:
        publisher.publish(message)
    except rclpy_implementation.RCLError as error:
        get_logger('robodyn_ros').warning(
            f'a message on {publisher.topic_name} is lost, the next one replaces it: '
            f'{str(error).splitlines()[0]}', throttle_duration_sec=_REPEAT)
        return False
    return True


def full_name(info: Any) -> str:
    """Return the name, with its namespace, of the node of a publisher or a subscription."""
    return printable(f'{info.node_namespace.rstrip("/")}/{info.node_name}')


def names_by_publisher(node: Node, topic: str, sources: Iterable[bytes]) -> list[str | None]:
    """Return the name of the node with each of these publishers (GID); None: it is gone."""
    names = {bytes(each.endpoint_gid)[:_GID]: full_name(each)
             for each in node.get_publishers_info_by_topic(topic)}
    return [names.get(each[:_GID]) for each in sources]


def publisher_names(node: Node, topic: str, sources: Iterable[bytes]) -> str:
    """Return the names of the nodes with publishers of these GIDs, as text."""
    return ', '.join(each or 'a node that is gone'
                     for each in names_by_publisher(node, topic, sources))


class Commanders:
    """
    Nodes that publish commands.

    A guard may publish as well, as it commands only when the controller does not. A guard is
    recognized by the state of a guard that it publishes under its own name.

    Parameters
    ----------
    node : Node
        Node for the look-ups.
    topics : sequence of str
        Full names of the topics of commands.
    guard : str, optional
        Full name of the only node that may be a guard; default any.

    Attributes
    ----------
    names : tuple of str
        Nodes that publish commands, sorted; a node with several topics counts once, two nodes of
        one name count twice.
    guards : tuple of str
        Guards among them.

    """

    def __init__(self, node: Node, topics: Sequence[str], guard: str = ''):
        self._node, self._topics, self._guard = node, tuple(topics), guard
        self.names: tuple[str, ...] = ()
        self.guards: tuple[str, ...] = ()

    @property
    def competing(self) -> tuple[str, ...]:
        """Return the nodes that are no guards."""
        return tuple(sorted((Counter(self.names) - Counter(self.guards)).elements()))

    @property
    def conflict(self) -> str:
        """Return a text that names several commanders; empty if there is at most one."""
        competing = self.competing
        if len(competing) < 2:
            return ''
        return (f'{len(competing)} nodes publish commands ({", ".join(competing)}), and the '
                'newest message counts: stop all but one')

    def update(self) -> bool:
        """Look up the nodes; return whether there is a new conflict."""
        before = self.names
        self.names = publishers_of(self._node, self._topics)
        self.guards = tuple(name for name, count in Counter(self.names).items()
                            for _ in range(min(count, self._guards_named(name))))
        return bool(self.conflict) and self.names != before

    def _guards_named(self, name: str) -> int:
        """Return the number of guards with a name."""
        if name != (self._guard or name) or not _NAME.fullmatch(name):
            return 0
        return sum(info.topic_type == _HEADER and full_name(info) == name for info in
                   self._node.get_publishers_info_by_topic(f'{name}/state'))


def publishers_of(node: Node, topics: Sequence[str]) -> tuple[str, ...]:
    """Return the full names of the nodes that publish on any of the topics, see `Commanders`."""
    most: Counter[str] = Counter()
    for topic in topics:
        most |= Counter(map(full_name, node.get_publishers_info_by_topic(topic)))
    return tuple(sorted(most.elements()))
