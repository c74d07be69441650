"""Commands of controller and guard: torques, and what drives get that have gains of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model.per_joint import COMMAND
from robodyn_ros.nodes.command_message import CommandMessage, CommandSettings, DriveSettings
from robodyn_ros.safety import drive
from robodyn_ros.settings import per_joint


class CommandWriter:
    """
    Writer of the commands of torques.

    Parameters
    ----------
    joint_names : sequence of str
        The model's joints.
    values : CommandSettings
        Order of the joints, and scale of efforts.
    drives : DriveSettings
        Message, and gains of the drives.
    function : Function
        `drive.command` over arrays: torque, what it answers, drives -> command.

    Attributes
    ----------
    message : CommandMessage
    drives : (k,) array
        Block of `drive.Program`.
    function : Function or None
        None where the message has torques as they are.
    scale : (nv,) array
        Effort by torque, of commands and states.

    Raises
    ------
    ParameterError
        A parameter is wrong.

    """

    def __init__(self, joint_names: Sequence[str], values: CommandSettings,
                 drives: DriveSettings, function: Function):
        self.message = message = CommandMessage(joint_names, values.command_joints, drives)
        n = {'joints': len(joint_names)}
        self.drives = np.zeros(blocks.size(drive.Program, n))
        self._p = p = blocks.views(drive.Program, self.drives, n)
        for source, name, row in (
                (values, 'effort_scale', p.scale), (drives, 'effort_quantum', p.quantum),
                (drives, 'drive_kp', p.kp), (drives, 'drive_kd', p.kd)):
            row[:] = per_joint(name, getattr(source, name), joint_names)
        self.scale = p.scale.copy()
        if not p.scale.all():
            name = joint_names[int(np.argmin(np.abs(p.scale)))]
            raise ParameterError(f"effort_scale of joint '{name}' is 0: it would get no torque",
                                 parameter='effort_scale', joint=name)
        gains = {'kp', 'kd'} & message.roles
        p.commanded[()] = bool(gains)
        if len(gains) == 1 or gains and not {'position', 'velocity'} <= message.roles:
            raise ParameterError('command_fields has gains of drives: it needs position, '
                                 'velocity, kp and kd', parameter='command_fields')
        if p.kp.any() and not gains:
            raise ParameterError('drive_kp is set, but command_fields has no kp: without it a '
                                 'stiffness acts about the measured position, and needs no value',
                                 parameter='drive_kp')
        as_is = message.roles & {*COMMAND} == {COMMAND[0]} and not (
            p.quantum.any() or p.kd.any()) and (p.scale == 1.0).all()
        self.function = None if as_is else function
        self._call: Any = None
        self._torque = self._command = np.zeros(0)

    @property
    def holds(self) -> bool:
        """Whether drives have gains that are commanded, and hold the arm after the last torque."""
        return bool(self._p.commanded)

    def follow(self, answered: np.ndarray) -> None:
        """Set the array of what torques answer, such as the memory of the cycle."""
        if self.function is not None:
            self._call, (self._torque, self._command) = self.bound(answered)

    def bound(self, answered: np.ndarray, torque: np.ndarray | None = None):
        """Return a call of `function` with what it answers, its arrays of torque and command."""
        assert self.function is not None
        n = len(self.scale)
        torque = np.zeros(n) if torque is None else torque
        command = np.zeros(len(COMMAND) * n)
        return self.function.bound(torque, answered, self.drives, command), (torque, command)

    def falls_in_silence(self, dynamics: Dynamics, compensates: bool, silence: str) -> str:
        """Return why the arm falls when commands stop, see `drive.falls_in_silence`."""
        return drive.falls_in_silence(dynamics, self._p, compensates, silence)

    def write(self, torque: np.ndarray, stamp: int = 0, last: bool = False) -> bytes:
        """
        Return the message of a torque.

        Parameters
        ----------
        torque : (nv,) array
            Torque, in N m or N.
        stamp : int
            Time of the command, in ns since the epoch.
        last : bool
            Whether no other may follow: gains of the drives hold the arm where it is.

        """
        if self.function is None:
            return self.message.write(torque, stamp)
        self._p.last[()], self._torque[:] = last, torque
        self._call.call()
        self._p.last[()] = 0.0  # the native loop has the same block
        return self.message.write(self._command, stamp)

    def torque_of(self, message: Any, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the torque that drives make of a message (raises as `CommandMessage.read`)."""
        return drive.torque_of(self.message.read(message), q, qd, self._p)
