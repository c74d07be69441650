"""Torque commands from messages: checked, mapped by name, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.exceptions import ArgumentError, near_matches, shown
from robodyn_ros.model.per_joint import COMMAND
from robodyn_ros.nodes.command_message import command_order, CommandMessage


class Refusals:
    """
    Counts of dropped messages, by reason.

    Attributes
    ----------
    counts : dict of str to int
        Number of messages by short reason.

    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._reported: dict[str, int] = {}

    def add(self, reason: str, text: str) -> None:
        """Count a message; `text` describes the problem with names and values."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self._texts[reason] = text

    def new_lines(self) -> list[str]:
        """Return one line per reason that occurred since the last call."""
        lines = []
        for reason, count in self.counts.items():
            new = count - self._reported.get(reason, 0)
            if new:
                self._reported[reason] = count
                lines.append(self._texts[reason] + (f' ({new} of these)' if new > 1 else ''))
        return lines


class CommandReader:
    """
    Reader of torque commands.

    Parameters
    ----------
    joint_names : sequence of str
        The model's joints.
    command_joints : sequence of str
        Order of the joints in arrays without names; empty: the model's.

    Attributes
    ----------
    command : (5, nv) array
        Last command, rows `COMMAND`, model order; NaN where its messages have no such numbers.
    torque : (nv,) array
        Its efforts, in N m or N; 0 for joints without a command.
    received : int
        Number of valid commands.
    refusals : Refusals
        Counts of dropped commands.

    Raises
    ------
    ParameterError
        `command_joints` is not the model's joints in some order.

    """

    def __init__(self, joint_names: Sequence[str], command_joints: Sequence[str] = ()):
        self._names = list(joint_names)
        self._index = {name: i for i, name in enumerate(joint_names)}
        self._order = command_order(joint_names, command_joints)
        self.command_joints = tuple(joint_names[j] for j in self._order)
        self.command = np.full((len(COMMAND), len(self._names)), np.nan)
        self.torque = self.command[0]
        self.clear()
        self.received = 0
        self.refusals = Refusals()

    def clear(self) -> None:
        """Reset the torques to zero, without other numbers."""
        self.command[:] = np.nan
        self.torque[:] = 0.0

    def read_array(self, message: Float64MultiArray) -> bool:
        """Read torques in the order of `command_joints`; return whether they are valid."""
        return self._take(np.asarray(message.data), self._order, self.command_joints)

    def read(self, message: Any, form: CommandMessage) -> bool:
        """Read a command of another form; return whether it is valid."""
        try:
            rows = form.read(message)
        except ArgumentError as error:
            return self._refuse('unreadable', f'a command: {error}')
        for k, what in enumerate(COMMAND):
            self.command[k] = rows[k] if what in form.roles else np.nan
        self.received += 1
        return True

    def read_named(self, message: JointState) -> bool:
        """
        Read torques by name, of all joints or some; return whether they are valid.

        Positions and gains that another message had for these joints are gone.
        """
        unknown = [name for name in message.name if name not in self._index]
        if unknown:
            return self._refuse(
                'unknown joint', f'a command for joint {shown(unknown[0])}, which is not in the '
                f'model ({near_matches(unknown[0], self._names)})')
        if len(set(message.name)) != len(message.name):
            return self._refuse('joint named twice', 'a command that names a joint twice')
        order = np.array([self._index[name] for name in message.name], dtype=np.intp)
        return self._take(np.asarray(message.effort), order, message.name)

    def _take(self, values: np.ndarray, order: np.ndarray, names: Sequence[str]) -> bool:
        if values.size != order.size or not order.size:
            return self._refuse('wrong length', f'a command of length {values.size} for '
                                f'{order.size} joints ({", ".join(names)})')
        finite = np.isfinite(values)
        if not finite.all():
            j = int(np.argmin(finite))
            return self._refuse('not finite', f'a command with effort {values[j]} for joint '
                                f'{names[j]!r}')
        self.command[1:, order], self.torque[order] = np.nan, values
        self.received += 1
        return True

    def _refuse(self, reason: str, text: str) -> bool:
        self.refusals.add(reason, f'dropped {text}; the torques before it stay')
        return False
