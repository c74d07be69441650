"""Who else publishes where a controller publishes torques and listens for states."""

from __future__ import annotations

from collections import Counter

from rclpy.node import Node

from robodyn_ros.nodes.commanders import Commanders, publishers_of, UNKNOWN


class OtherCommanders:
    """
    Looks who is there: before the arm is taken over, and now and then while it is controlled.

    Parameters
    ----------
    node : Node
        The controller node.
    commands : str
        Topic of the torques.
    states : str
        Topic of the joint states. Several may publish there, such as arm and gripper.
    guard : str
        Full name of the guard.

    Attributes
    ----------
    complaint : str
        What is wrong with the company, empty if nothing.

    """

    def __init__(self, node: Node, commands: str, states: str, guard: str):
        self._node, self._commands, self._states = node, commands, states
        self._commanders = Commanders(node, [commands], guard)
        self._counts: tuple[int, ...] = ()
        self._speakers: tuple[str, ...] = ()
        self._usual: Counter[str] = Counter()
        self.complaint = ''

    def refusal(self) -> str:
        """Return why the arm cannot be taken over; empty if it can."""
        self._find_commanders()
        self._usual = Counter(self._speakers)
        commanders = self._commanders
        commanders.look()
        if len(commanders.rivals) < 2:
            return ''
        if any(UNKNOWN in name for name in commanders.names):  # it may be the guard
            return f'a new node publishes on {self._commands}, its name is not yet known'
        return (f'somebody else publishes on {self._commands}: two commanders would fight over '
                f'the arm ({", ".join(commanders.rivals)}); stop the other one')

    def look(self, active: bool) -> None:
        """
        Look who is there; log what is wrong once.

        Parameters
        ----------
        active : bool
            Whether the arm is controlled: who publishes joint states only since then is odd.

        """
        self._find_commanders()
        if not active:
            self._usual = Counter(self._speakers)
        before, self.complaint = self.complaint, self._commanders.quarrel or self._newcomers()
        if self.complaint and self.complaint != before:
            self._node.get_logger().warning(self.complaint)

    def summary(self) -> dict[str, str]:
        """Return who is there, for diagnostics."""
        return {'commanders': ', '.join(self._commanders.names),
                'publishers of joint states': ', '.join(self._speakers)}

    def _find_commanders(self) -> None:
        """Find out the names; they take a tenth of a millisecond each, so only of a new number."""
        counts = tuple(map(self._node.count_publishers, (self._commands, self._states)))
        names = (*self._commanders.names, *self._speakers)
        if counts != self._counts or any(UNKNOWN in name for name in names):
            self._counts = counts
            self._commanders.look()
            self._speakers = publishers_of(self._node, [self._states])

    def _newcomers(self) -> str:
        new = Counter(self._speakers) - self._usual
        # a name that was not known at first is no newcomer
        if len(self._speakers) <= self._usual.total():
            return ''
        return (f'{", ".join(sorted(new))} publishes joint states on {self._states} as well, '
                'since the arm is controlled: if they are of the same joints, stop one of them')
