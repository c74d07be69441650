"""Other nodes on the topics of torques and joint states of a controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from rclpy.node import Node

from robodyn_ros.nodes.publishers import (
    Commanders, full_name, names_by_publisher, publisher_names, publishers_of, UNKNOWN)

OTHER_COMMANDER = 'another node publishes on'  # begin of a refusal
_NAMES = 64  # publishers that are remembered
_SURE = 3  # updates after which a conflict is none of discovery


class OtherCommanders:
    """
    Detects other publishers, before activation and periodically while the arm is controlled.

    And whether a node subscribes to the torques at all.

    Parameters
    ----------
    node : Node
        The controller node.
    commands : str
        Topic of the torques.
    states : str
        Topic of the joint states; several publishers are normal, such as arm and gripper.
    guard : str
        Full name of the guard.
    sends : bool
        Whether the torques leave by that topic.

    Attributes
    ----------
    problem : str
        Problem with the publishers; empty if there is none.
    conflict : str
        Several commanders that all updates of the last seconds have found, as text; or ''.

    """

    def __init__(self, node: Node, commands: str, states: str, guard: str, sends: bool = True):
        self._node, self._commands, self._states = node, commands, states
        self._silent_listeners = {node.get_fully_qualified_name(), guard}
        self._sends = sends
        self._commanders = Commanders(node, [commands], guard)
        self._counts: tuple[int, ...] = ()
        self._state_publishers: tuple[str, ...] = ()
        self._initial: Counter[str] = Counter()
        self.problem = self.conflict = ''
        self._found = 0
        self._named: set[bytes] = set()

    def refusal(self) -> str:
        """Return why the controller cannot be activated; empty if it can."""
        self._find_publishers()
        self._initial = Counter(self._state_publishers)
        commanders = self._commanders
        commanders.update()
        if len(commanders.competing) < 2:
            return ''
        if any(UNKNOWN in name for name in commanders.names):  # it may be the guard
            return f'a new node publishes on {self._commands}, its name is not yet known'
        return (f'{OTHER_COMMANDER} {self._commands}: an arm must have one commander '
                f'({", ".join(commanders.competing)}); stop the other one')

    def update(self, active: bool) -> None:
        """
        Update the publishers; log a new problem once.

        Parameters
        ----------
        active : bool
            Whether the arm is controlled: publishers of joint states that appear then are a
            problem.

        """
        self._find_publishers()
        if not active:
            self._initial = Counter(self._state_publishers)
        conflict = self._commanders.conflict
        # a guard may be known as a commander before it is known as a guard
        self._found = self._found + 1 if conflict and active else 0
        self.conflict = conflict if self._found > _SURE else ''
        before, self.problem = self.problem, (
            conflict or self._new_publishers()
            or (self.unheard() if active else ''))
        if self.problem and self.problem != before:
            self._node.get_logger().warning(self.problem)

    def unheard(self) -> str:
        """Return that no driver subscribes to the torques; '' if one does."""
        if not self._sends or any(
                full_name(each) not in self._silent_listeners for each in
                self._node.get_subscriptions_info_by_topic(self._commands)):
            return ''
        return (f'no driver subscribes to {self._commands}, so that no torque reaches the arm: '
                'start or activate its effort controller, or correct effort_command_topic')

    def gone(self, sources: Collection[bytes]) -> bool:
        """Return whether none of these publishers of joint states is there any more."""
        return self._sends and bool(sources) and not any(
            names_by_publisher(self._node, self._states, sources))

    def summary(self) -> dict[str, str]:
        """Return the publishers, for diagnostics."""
        return {'commanders': ', '.join(self._commanders.names),
                'publishers of joint states': ', '.join(self._state_publishers)}

    def _find_publishers(self) -> None:
        """Look up the names if the number has changed; a look-up takes 0.1 ms per name."""
        counts = tuple(map(self._node.count_publishers, (self._commands, self._states)))
        names = (*self._commanders.names, *self._state_publishers)
        if counts != self._counts or any(UNKNOWN in name for name in names):
            self._counts = counts
            self._commanders.update()
            self._state_publishers = publishers_of(self._node, [self._states])

    def _new_publishers(self) -> str:
        new = Counter(self._state_publishers) - self._initial
        # a name that only became known later is not a new publisher
        if len(self._state_publishers) <= self._initial.total():
            return ''
        return self._unused(', '.join(sorted(new)))

    def name_foreign(self, source: bytes) -> None:
        """Log the publisher of joint states that were dropped, once, while it is there."""
        if not source or source in self._named:
            return
        self._named = {source, *(self._named if len(self._named) < _NAMES else ())}
        text = self._unused(publisher_names(self._node, self._states, [source]))
        if text != self.problem:
            self.problem = text
            self._node.get_logger().warning(text)

    def _unused(self, names: str) -> str:
        return (f'{names} publishes joint states on {self._states} as well, '
                'only since activation: they are not used')
