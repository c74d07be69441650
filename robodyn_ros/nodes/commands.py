"""Torque commands from messages: checked, mapped by name, counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.exceptions import near_matches, shown
from robodyn_ros.nodes.conversions import EffortWriter


class Refusals:
    """
    Messages that were dropped, counted by reason.

    Attributes
    ----------
    counts : dict of str to int
        How many, by a short reason.

    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._told: dict[str, int] = {}

    def add(self, reason: str, text: str) -> None:
        """Count one; `text` says what was wrong with it, with names and values."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self._texts[reason] = text

    def news(self) -> list[str]:
        """Return one line per reason that came up since the last call."""
        lines = []
        for reason, count in self.counts.items():
            more = count - self._told.get(reason, 0)
            if more:
                self._told[reason] = count
                lines.append(self._texts[reason] + (f' ({more} of these)' if more > 1 else ''))
        return lines


class CommandReader:
    """
    The torques that were commanded last.

    Parameters
    ----------
    joint_names : sequence of str
        The model's joints.
    command_joints : sequence of str
        Order in arrays without names; empty for the model's.

    Attributes
    ----------
    torque : (nv,) array
        The command, model order; joints that were never commanded have 0.
    received : int
        Commands taken.
    refusals : Refusals
        Commands dropped.

    Raises
    ------
    ParameterError
        `command_joints` is not the model's joints in some order.

    """

    def __init__(self, joint_names: Sequence[str], command_joints: Sequence[str] = ()):
        self._names = list(joint_names)
        self._index = {name: i for i, name in enumerate(joint_names)}
        self.command_joints = EffortWriter(joint_names, command_joints).joints
        self._order = np.array([self._index[name] for name in self.command_joints], dtype=np.intp)
        self.torque = np.zeros(len(self._names))
        self.received = 0
        self.refusals = Refusals()

    def clear(self) -> None:
        """Command no torque."""
        self.torque[:] = 0.0

    def read_array(self, message: Float64MultiArray) -> bool:
        """Take torques in the order of `command_joints`; return whether they were good."""
        return self._take(np.asarray(message.data), self._order, self.command_joints)

    def read_named(self, message: JointState) -> bool:
        """Take torques by name, of all joints or some; return whether they were good."""
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
        self.torque[order] = values
        self.received += 1
        return True

    def _refuse(self, reason: str, text: str) -> bool:
        self.refusals.add(reason, f'dropped {text}; the torques before it stay')
        return False
