"""Who commands: two at once would fight over an arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import re

from rclpy.node import Node

from robodyn_ros.exceptions import printable

UNKNOWN = '_NODE_NAME_UNKNOWN_'  # what rmw calls a node that it has not heard of yet
_HEADER = 'std_msgs/msg/Header'
_NAME = re.compile(r'(/[a-z_][a-z0-9_]*)+', re.ASCII | re.IGNORECASE)  # others are made up


class Commanders:
    """
    Watches who publishes commands.

    A guard may publish as well: it speaks only when the controller does not. Which node is one is
    told by what it publishes, the state of a guard under its own name, not by how it is called.

    Parameters
    ----------
    node : Node
        That is commanded, or commands.
    topics : sequence of str
        Where commands come from, with their namespace.
    guard : str, optional
        Full name of the only node that may be a guard; default any.

    Attributes
    ----------
    names : tuple of str
        The nodes that publish there, sorted; one that publishes on several topics counts once, two
        of one name are two.
    guards : tuple of str
        Those of them that are guards.

    """

    def __init__(self, node: Node, topics: Sequence[str], guard: str = ''):
        self._node, self._topics, self._guard = node, tuple(topics), guard
        self.names: tuple[str, ...] = ()
        self.guards: tuple[str, ...] = ()

    @property
    def rivals(self) -> tuple[str, ...]:
        """Return those that are no guards."""
        return tuple(sorted((Counter(self.names) - Counter(self.guards)).elements()))

    @property
    def quarrel(self) -> str:
        """Return what is wrong if there are several; empty if not."""
        rivals = self.rivals
        if len(rivals) < 2:
            return ''
        return (f'{len(rivals)} nodes publish commands ({", ".join(rivals)}), and the '
                'newest message counts: stop all but one')

    def look(self) -> bool:
        """Look who is there; return whether a quarrel has begun."""
        before = self.names
        self.names = publishers_of(self._node, self._topics)
        self.guards = tuple(name for name, count in Counter(self.names).items()
                            for _ in range(min(count, self._guards_called(name))))
        return bool(self.quarrel) and self.names != before

    def _guards_called(self, name: str) -> int:
        """Return how many guards have a name."""
        if name != (self._guard or name) or not _NAME.fullmatch(name):
            return 0
        return sum(info.topic_type == _HEADER and _full_name(info) == name for info in
                   self._node.get_publishers_info_by_topic(f'{name}/state'))


def publishers_of(node: Node, topics: Sequence[str]) -> tuple[str, ...]:
    """Return the full names of the nodes that publish on any of some topics, see `Commanders`."""
    most: Counter[str] = Counter()
    for topic in topics:
        most |= Counter(map(_full_name, node.get_publishers_info_by_topic(topic)))
    return tuple(sorted(most.elements()))


def _full_name(info) -> str:
    return printable(f'{info.node_namespace.rstrip("/")}/{info.node_name}')
