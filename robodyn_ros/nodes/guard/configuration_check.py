"""Check of the controller's configuration by the guard: parameters compared, loads taken over."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.containment import contained
from robodyn_ros.nodes.guard.configuration import (
    configuration_from, difference, loop_from, payloads_from, shared_parameters, TOPIC,
    vector_from)
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.polling import PARTICIPANT, PolledSubscription
from robodyn_ros.safety import Guard, GuardState

_PAUSE = 1.0  # s between two log lines about texts that are no use
_SENDERS = 8  # participants whose configurations are kept
_UNREADABLE = 'the configuration of the controller cannot be read; the stack trace is in the log'


class ConfigurationCheck:
    """
    Compares the controller's configuration with the guard's own, and takes over the loads.

    Parameters
    ----------
    node : Node
        The guard node.
    model : RobotModel
        Model of the arm.
    values : GuardSettings
        Parameters of the guard.
    command_topic : str
        Full name of the torque topic.

    """

    def __init__(self, node: Node, model: RobotModel, values: GuardSettings,
                 command_topic: str):
        self._log, self._model, self._values = node.get_logger(), model, values
        self._topic = command_topic
        self._subscription = PolledSubscription(node, String, f'{values.controller}/{TOPIC}',
                                                qos.latched(qos.SOURCES))
        self._configuration: dict[str, Any] | None = None
        self._received: dict[bytes, dict[str, Any]] = {}  # by participant, the newest last
        self._loads_pending = self._compared = False
        self._logged = self._payload = ''
        self._usable: np.ndarray | None = None
        self._own: dict[str, Any] = {}
        self._problem = f'no message of the controller on {self._subscription.topic} yet'
        self._difference = ''

    @property
    def known(self) -> bool:
        """Whether a readable configuration was received."""
        return self._configuration is not None

    def poll(self, guard: Guard, torque: GuardTorque, twin: str = '') -> None:
        """
        Take a configuration, and set the reason why the guard must not be armed, if any.

        twin: that another guard is there, if it is.
        """
        for message in self._subscription.waiting():
            contained(self._log, self._read, message.data, self._subscription.source)
        self._select(guard.source)
        # not while the guard is in charge: a restarted controller does not have the payload yet
        if self._loads_pending and not guard.in_charge:
            self._loads_pending = False
            contained(self._log, self._set_loads, torque)
        # limits are replaced when they change; the digest takes too long for every torque
        if torque.usable is not self._usable:
            self._usable, self._compared = torque.usable, False
            self._own = shared_parameters(
                self._model, self._values.command, self._values.limits, self._topic,
                self._usable, self._values.drives)
        if self.known and not self._compared:
            self._compared = True
            self._difference = contained(self._log, difference, self._own, self._configuration,
                                         otherwise=_UNREADABLE)
        guard.refusal = twin or self._problem or self._difference
        self._log_changes(guard)

    def _read(self, text: str, source: bytes) -> None:
        """Keep a configuration; log one that is no use, and wait for another."""
        try:
            configuration = configuration_from(text)
        except RobodynError as error:
            self._log.warning(f'ignored: {error}', throttle_duration_sec=_PAUSE)
            if not self.known:
                self._problem = str(error)
            return
        participant = source[:PARTICIPANT]
        self._received.pop(participant, None)
        self._received[participant] = configuration
        unused = (key for key, each in self._received.items() if each is not self._configuration)
        if len(self._received) > _SENDERS:
            del self._received[next(unused)]

    def _select(self, controller: bytes) -> None:
        """Use the configuration of the node with these heartbeats, or the newest one."""
        newest = next(reversed(self._received.values()), None)
        chosen = self._received.get(controller[:PARTICIPANT], newest) if controller else newest
        if chosen is not self._configuration:
            self._configuration, self._problem = chosen, ''
            self._loads_pending, self._compared = True, False

    def _set_loads(self, torque: GuardTorque) -> None:
        """Set the loads of the controller for the torque of the guard."""
        configuration, self._problem = self._configuration, _UNREADABLE
        assert configuration is not None
        try:
            payloads = payloads_from(configuration)
            torque.set_loads(payloads, vector_from(configuration, 'gravity', 3),
                             vector_from(configuration, 'armature', self._model.nv))
            torque.set_loop(*loop_from(configuration, self._model.nv))
        except RobodynError as error:
            self._problem = str(error)
            return
        self._problem = ''
        payload = ', '.join(f'{load.mass:.2g} kg on {load.link}' for load in payloads) or 'none'
        if payload != self._payload:
            self._payload = payload
            self._log.info(f'the payload is that of the controller: {payload}')

    def _log_changes(self, guard: Guard) -> None:
        """Log a new difference while the guard is armed, which it remains."""
        refusal = guard.refusal if guard.state is GuardState.ARMED else ''
        if refusal != self._logged:
            self._logged = refusal
            if refusal:
                self._log.error(f'armed nevertheless: {refusal}')
