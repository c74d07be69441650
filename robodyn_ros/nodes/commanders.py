"""Who commands: two at once would fight over an arm."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

GUARD = 'guard'  # usual name of the node that commands when a controller falls silent


class Commanders:
    """
    Watches who publishes commands.

    Parameters
    ----------
    node : Node
        That is commanded.
    topics : sequence of str
        Where commands come from, with their namespace.

    Attributes
    ----------
    names : tuple of str
        The nodes that publish there; one that publishes on both topics counts once.

    """

    def __init__(self, node: Node, topics: Sequence[str]):
        self._node, self._topics = node, tuple(topics)
        self.names: tuple[str, ...] = ()

    @property
    def quarrel(self) -> str:
        """Return what is wrong if there are several; empty if not."""
        if not self._quarrels:
            return ''
        return (f'{len(self.names)} nodes publish commands ({", ".join(self.names)}), and the '
                'newest message counts: stop all but one')

    @property
    def _quarrels(self) -> bool:
        # a guard speaks only when the controller does not
        return sum(name.rpartition('/')[2] != GUARD for name in self.names) > 1

    def look(self) -> bool:
        """Look who is there; return whether a quarrel has begun."""
        before = self.names
        # two nodes of one name are two: one entry per publisher of a topic, the most of any
        most: dict[str, int] = {}
        for topic in self._topics:
            here: dict[str, int] = {}
            for info in self._node.get_publishers_info_by_topic(topic):
                name = f'{info.node_namespace.rstrip("/")}/{info.node_name}'
                here[name] = here.get(name, 0) + 1
            for name, count in here.items():
                most[name] = max(count, most.get(name, 0))
        self.names = tuple(sorted(name for name, count in most.items() for _ in range(count)))
        return self._quarrels and self.names != before
