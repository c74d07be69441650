"""Nodes that publish commands for an arm; only one controller may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import re

from rclpy.node import Node

from robodyn_ros.nodes.polling import full_name

UNKNOWN = '_NODE_NAME_UNKNOWN_'  # rmw's name for a node that is not discovered yet
_HEADER = 'std_msgs/msg/Header'
_NAME = re.compile(r'(/[a-z_][a-z0-9_]*)+', re.ASCII | re.IGNORECASE)


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
