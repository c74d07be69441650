"""The controller's end of the line to its guard: heartbeats go out, the guard's state comes in."""

from __future__ import annotations

import time

import numpy as np
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import Float64MultiArray, Header

from robodyn_ros.control import ArmController
from robodyn_ros.control.permission import CommandPermission
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.controller.heartbeat import Heartbeat
from robodyn_ros.nodes.controller.parameters import GuardSettings
from robodyn_ros.nodes.conversions import nanoseconds
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety import GuardState

_LOOK = 0.005   # s between looks at what the guard says
_WORDS = {state.value: state for state in GuardState}


class GuardLink:
    """
    Tells the guard how the controller is, and the controller whether it may command.

    Parameters
    ----------
    node : Node
        The controller node.
    topic : str
        Of the torques, where the guard commands as well.
    reader : CommandReader
        Reads what the guard commands.
    values : GuardSettings
        The parameters `guard.*`.

    Attributes
    ----------
    name : str
        Of the guard, with its namespace.
    heartbeat : Heartbeat
        What it listens to.
    deference : CommandPermission
        What is known of it.

    """

    def __init__(self, node: Node, topic: str, reader: CommandReader, values: GuardSettings):
        self._node, self._topic, self._reader = node, topic, reader
        self._words = _words(node, values.name)  # may be refused
        self.name = self._words.topic.rpartition('/')[0]
        self.heartbeat = Heartbeat(node)
        self.deference = CommandPermission(
            values.required, values.timeout,
            expected=values.expected or values.required)
        self._commands: PolledSubscription | None = None
        self._looked = 0.0
        self._told = ''

    def destroy(self) -> None:
        """Close the topics."""
        self.heartbeat.destroy()
        self._words.destroy()
        self._stop_listening()

    @property
    def commands(self) -> bool:
        """Whether the guard commands the arm."""
        return self.deference.guard_commands

    @property
    def complaint(self) -> str:
        """Return why the arm must not move; empty if it may."""
        return self.deference.problem

    @property
    def refusal(self) -> str:
        """Return why the arm cannot be taken over; empty if it can."""
        return self.deference.refusal

    @property
    def silent(self) -> bool:
        """Whether a guard that was there is silent."""
        return self.deference.silent

    @property
    def summary(self) -> str:
        """Tell what is known of the guard, for diagnostics."""
        deference = self.deference
        if deference.silent:
            return 'silent'
        return 'none' if deference.guard_state is None else deference.guard_state.value

    def may_command(self) -> bool:
        """Return whether the controller may command; to be called every turn."""
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            self._look(now)
        permitted = self.deference.may_command(now)
        self._tell()
        return permitted

    def paused(self) -> bool:
        """Whether the process was held up since it was asked whether it may command."""
        return self.deference.paused(time.monotonic())

    def beat(self, commands: bool) -> None:
        """Let the guard know that the controller lives, and whether it commands."""
        stamp = self.heartbeat.next_stamp()
        phase = self.deference.heartbeat_sent(time.monotonic(), commands, stamp)
        self.heartbeat.send(stamp, phase)

    def handed_over(self) -> np.ndarray | None:
        """Return the last torque of a guard that gives the arm back, once; None if none does."""
        if self._commands is None or self.deference.guard_commands:
            return None
        message = self._commands.take()
        self._stop_listening()
        good = message is not None and self._reader.read_array(message)
        return self._reader.torque if good else None

    def take_back(self, controller: ArmController) -> None:
        """Let a controller go on from the last torque of a guard that gives the arm back."""
        torque = self.handed_over()
        if torque is not None:
            controller.start_from(torque)

    def look(self) -> None:
        """Find out whether a guard listens; to be called now and then."""
        self.heartbeat.look()

    @property
    def words(self) -> Subscription:
        """Return the subscription of its state; for a loop that listens in place of this."""
        return self._words.subscription

    def follow(self) -> None:
        """Log what has changed, and listen to what it commands; to be called now and then."""
        self._listen()
        self._tell()

    def _look(self, now: float) -> None:
        message = self._words.take()
        if message is not None and message.frame_id in _WORDS:
            self.deference.receive(now, _WORDS[message.frame_id], nanoseconds(message.stamp))
        self._listen()

    def _listen(self) -> None:
        if self.deference.guard_state is GuardState.COMMANDING and self._commands is None:
            self._commands = PolledSubscription(
                self._node, Float64MultiArray, self._topic, qos.newest())

    def _stop_listening(self) -> None:
        if self._commands is not None:
            self._commands.destroy()
            self._commands = None

    def _tell(self) -> None:
        """Log what has changed."""
        text = self.summary
        if text == self._told:
            return
        log, before, self._told = self._node.get_logger(), self._told, text
        if text == 'silent':
            log.error('the guard is silent: nobody would take over')
        elif text == GuardState.GONE.value:
            log.warning('the guard has left: nobody would take over')
        elif text == GuardState.REFUSING.value:
            log.error('the guard refuses to guard this controller, its log says why: nobody would '
                      'take over')
        elif before in ('', 'none', 'silent', GuardState.GONE.value) and text != 'none':
            log.info(f'there is a guard: {text}')


def _words(node: Node, guard: str) -> PolledSubscription:
    try:
        return PolledSubscription(node, Header, f'{guard}/state', qos.latched())
    except InvalidTopicNameException as error:
        raise ParameterError(f'guard.name is {guard!r}, which is no name of a node',
                             value=guard) from error
