"""Connection of the controller to its guard: heartbeats and configuration out, state in."""

from __future__ import annotations

from contextlib import suppress
import json
import math
import time
from typing import Any

import numpy as np
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from std_msgs.msg import Header, String

from robodyn_ros.control import ArmController
from robodyn_ros.control.turn_host import TurnHost
from robodyn_ros.exceptions import ArgumentError, ParameterError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.command_writer import CommandWriter
from robodyn_ros.nodes.controller.parameters import GuardSettings
from robodyn_ros.nodes.conversions import nanoseconds, set_stamp
from robodyn_ros.nodes.guard.configuration import (
    loads_of, loop_of, shared_parameters, TOPIC)
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.publishers import quiet_publisher, send
from robodyn_ros.safety import GuardState, Phase

_POLL = 0.005   # s between polls of the guard's state
_UNARMED = 2.0  # s for which a guard may watch only, while the controller commands
_STATES = {state.value: state for state in GuardState}


class Heartbeat:
    """
    Publishes `~/heartbeat` while it has subscribers.

    Parameters
    ----------
    node : Node
        The controller node.

    Attributes
    ----------
    publisher : Publisher
        Publisher of the topic.
    subscribed : bool
        Whether the topic has subscribers, by the last `update_subscribers`.

    """

    def __init__(self, node: Node):
        self._node = node
        self.publisher = quiet_publisher(node, Header, '~/heartbeat')
        self._message = Header()
        self._stamp, self.subscribed = 0, False

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self.publisher)

    def update_subscribers(self) -> None:
        """Check for subscribers; to be called periodically."""
        self.subscribed = self.publisher.get_subscription_count() > 0

    def next_stamp(self) -> int:
        """Return the wall clock in ns, made strictly increasing."""
        self._stamp = max(self._stamp + 1, time.time_ns())
        return self._stamp

    def resume_after(self, stamp: int) -> None:
        """Continue after the last stamp of the native loop, in ns."""
        self._stamp = max(stamp, self._stamp)

    def send(self, stamp: int, phase: Phase) -> None:
        """Publish a heartbeat, if the topic has subscribers."""
        if self.subscribed:
            set_stamp(self._message.stamp, stamp)
            self._message.frame_id = phase.value
            send(self.publisher, self._message)


class GuardLink:
    """
    Sends heartbeats to the guard; returns whether the controller may command.

    Parameters
    ----------
    node : Node
        The controller node.
    topic : str
        Topic of the torques, where the guard publishes as well.
    writer : CommandWriter
        Writer of the commands, which reads those of the guard.
    values : GuardSettings
        Parameters `guard.*`.
    turns : TurnHost
        Turns of the loop, with the permission to command.

    Attributes
    ----------
    name : str
        Full name of the guard.
    states : PolledSubscription
        State of the guard.
    heartbeat : Heartbeat
        Publisher of the heartbeat.
    turns : TurnHost
        Turns of the loop.
    since : float
        Time of the steady clock since which the controller commands without an armed guard, s;
        infinite while it does not command.

    """

    def __init__(self, node: Node, topic: str, writer: CommandWriter, values: GuardSettings,
                 turns: TurnHost):
        self._node, self._topic, self._writer = node, topic, writer
        self.states = _state_subscription(node, values.name)  # may raise
        self.name = self.states.topic.rpartition('/')[0]
        self.heartbeat = Heartbeat(node)
        self.turns = turns
        self._commands: PolledSubscription | None = None
        self._polled, self.since = 0.0, math.inf
        self._logged = ''

    def destroy(self) -> None:
        """Close the topics."""
        self.heartbeat.destroy()
        self.states.destroy()
        self._unsubscribe_commands()

    @property
    def problem(self) -> str:
        """Return why the arm must not move; empty if it may."""
        return self.turns.problem or self.turns.demanded(
            'the guard is watching only' if self._unarmed else '')

    @property
    def _unarmed(self) -> bool:
        """Whether the guard watches only, although the controller has commanded for a while."""
        return (self.turns.guard_state is GuardState.WATCHING and not self.turns.guard_silent
                and time.monotonic() - self.since > _UNARMED)

    @property
    def summary(self) -> str:
        """Return the state of the guard, for diagnostics."""
        if self.turns.guard_silent:
            return 'silent'
        state = self.turns.guard_state
        return 'watching only' if self._unarmed else 'none' if state is None else state.value

    @property
    def source(self) -> bytes:
        """Return the publisher of the guard's state; empty: there is none yet."""
        return next(iter(self.states.bound), b'')

    def begin(self, received: bool) -> bool:
        """Begin a turn, with a state or without; return whether to command in it."""
        now = time.monotonic()
        if now - self._polled >= _POLL:
            self._polled = now
            self._poll(now)
        permitted = self.turns.begin(now, received)
        self._log_changes()
        return permitted

    def send_heartbeat(self) -> None:
        """Send a heartbeat, if one is due."""
        stamp = self.heartbeat.next_stamp()
        phase = self.turns.heartbeat(time.monotonic(), stamp)
        if phase is not None:
            self.heartbeat.send(stamp, phase)

    def resume_from_guard(self, controller: ArmController) -> None:
        """Start a controller from the last torque of a guard that commanded until now."""
        if self._commands is None or self.turns.guard_commands:
            return
        message, memory = self._commands.take(), controller.host.memory
        self._unsubscribe_commands()
        if message is not None:
            with suppress(ArgumentError):
                controller.requests.start_from(self._writer.torque_of(
                    message, memory.q, memory.qd))

    def update(self) -> None:
        """Subscribe to a commanding guard, log changes; to be called beside the native loop."""
        self._subscribe_commands()
        self._log_changes()

    def _poll(self, now: float) -> None:
        if self.turns.guard_silent:  # another one may guard from now on
            self.states.bound = frozenset()
        message = self.states.take()
        if message is not None and message.frame_id in _STATES:
            gone = message.frame_id == GuardState.GONE.value
            self.states.bound = frozenset() if gone else frozenset([self.states.source])
            self.turns.guard_heard(now, _STATES[message.frame_id], nanoseconds(message.stamp))
        self._subscribe_commands()

    def _subscribe_commands(self) -> None:
        if self.turns.guard_state is GuardState.COMMANDING and self._commands is None:
            self._commands = PolledSubscription(
                self._node, self._writer.message.type, self._topic, qos.newest())

    def _unsubscribe_commands(self) -> None:
        if self._commands is not None:
            self._commands.destroy()
            self._commands = None

    def _log_changes(self) -> None:
        """Log changes of the guard's state."""
        if math.isfinite(self.since) and self.turns.guard_state is not GuardState.WATCHING:
            self.since = time.monotonic()
        text = self.summary
        if text == self._logged:
            return
        log, before, self._logged = self._node.get_logger(), self._logged, text
        if text == 'silent':
            log.error('the guard is silent: no node would take over')
        elif text == GuardState.GONE.value:
            log.warning('the guard has ended: no node would take over')
        elif text == GuardState.REFUSING.value:
            log.error('the guard refuses to guard this controller, see its log: no node would '
                      'take over')
        elif self._unarmed:
            log.warning('the guard is watching only, see its log: no node would take over')
        elif before in ('', 'none', 'silent', GuardState.GONE.value) and text != 'none':
            log.info(f'there is a guard: {text}')


def _state_subscription(node: Node, guard: str) -> PolledSubscription:
    try:
        return PolledSubscription(node, Header, f'{guard}/state', qos.latched())
    except InvalidTopicNameException as error:
        raise ParameterError(f'guard.name is {guard!r}, which is not a valid node name',
                             value=guard) from error


class ConfigurationPublisher:
    """
    Publishes `~/guard_contract`, and again whenever it changes.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    table : Parameters
        Parameters of the node.
    command_topic : str
        Full name of the torque topic.

    """

    def __init__(self, node: Node, controller: ArmController, table: Parameters,
                 command_topic: str):
        self._node, self._controller = node, controller
        self._table, self._topic = table, command_topic
        self._published: tuple = ()
        self._parameters: dict[str, Any] = {}
        self._learned = np.full_like(controller.adaptation.pseudo_inertia, np.nan)
        self._publisher = node.create_publisher(String, f'~/{TOPIC}', qos.latched())
        self.publish()

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    def publish(self) -> None:
        """Publish the configuration if it has changed; to be called periodically."""
        controller = self._controller
        loads, learned = controller.loads, controller.adaptation.pseudo_inertia
        now = (loads.payloads, loads.gravity, controller.bounds, self._table.values,
               controller.design.gains)
        # these objects are replaced, never changed
        same = len(self._published) and all(a is b for a, b in zip(now, self._published))
        if not same:
            self._parameters = shared_parameters(
                controller.model, self._table.values.command, controller.settings.limits,
                self._topic, controller.bounds.usable, self._table.values.drives)
        if not same or not np.array_equal(learned, self._learned):
            if send(self._publisher, String(data=json.dumps(self._configuration()))):
                self._published, self._learned[:] = now, learned

    def _configuration(self) -> dict[str, Any]:
        controller = self._controller
        payloads = dict(controller.loads.payloads)
        if self._learned.any():
            learned = controller.adaptation.payload
            payloads[learned.link] = learned
        return {**self._parameters, **loop_of(controller.design.loop), **loads_of(
            payloads, controller.loads.gravity, controller.design.gains.armature)}
