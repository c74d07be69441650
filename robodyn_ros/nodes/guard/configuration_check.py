"""What a guard makes of its controller's contract: loads are taken over, parameters compared."""

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
    contract_from, difference, payloads_from, terms_of, TOPIC, vector_from)
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.safety import Guard, GuardState

_UNREADABLE = 'the contract of the controller cannot be read; the stack trace is in the log'


class ConfigurationCheck:
    """
    Compares the contract with the guard's own parameters, and takes over its loads.

    Parameters
    ----------
    node : Node
        The guard node.
    model : RobotModel
        Of the arm.
    values : GuardSettings
        The parameters of the guard.
    command_topic : str
        Full name of the topic of the torques.

    """

    def __init__(self, node: Node, model: RobotModel, values: GuardSettings,
                 command_topic: str):
        self._log, self._model, self._values = node.get_logger(), model, values
        self._topic = command_topic
        self._contracts = PolledSubscription(node, String, f'{values.controller}/{TOPIC}',
                                             qos.latched())
        self._contract: dict[str, Any] | None = None
        self._unread = self._compared = False
        self._told = self._carried = ''
        self._usable: np.ndarray | None = None
        self._own: dict[str, Any] = {}
        self._problem = f'no word of the controller on {self._contracts.topic} yet'
        self._difference = ''

    @property
    def known(self) -> bool:
        """Whether the controller has said anything that can be understood."""
        return self._contract is not None

    def listen(self, guard: Guard, torque: GuardTorque) -> None:
        """Take what has come, and let the guard know whether it may be armed."""
        message = self._contracts.take()
        if message is not None:
            contained(self._log, self._read, message.data)
        # a controller that was started anew does not know what the arm carries: not before it
        # has the arm back
        if self._unread and not guard.in_charge:
            self._unread = False
            contained(self._log, self._reckon, torque)
        # limits are replaced when they change; the digest takes too long for every torque
        if torque.usable is not self._usable:
            self._usable, self._compared = torque.usable, False
            self._own = terms_of(self._model, self._values.command, self._values.limits,
                                 self._topic, self._usable)
        if self.known and not self._compared:
            self._compared = True
            self._difference = contained(self._log, difference, self._own, self._contract,
                                         otherwise=_UNREADABLE)
        guard.refusal = self._problem or self._difference
        self._tell(guard)

    def _read(self, text: str) -> None:
        self._problem, self._unread = _UNREADABLE, False
        try:
            contract = contract_from(text)
        except RobodynError as error:
            self._problem = str(error)
            return
        self._contract, self._unread, self._compared, self._problem = contract, True, False, ''

    def _reckon(self, torque: GuardTorque) -> None:
        """Carry what the controller says that the arm carries."""
        contract, self._problem = self._contract, _UNREADABLE
        try:
            payloads = payloads_from(contract)
            torque.set_loads(payloads, vector_from(contract, 'gravity', 3),
                             vector_from(contract, 'armature', self._model.nv))
        except RobodynError as error:
            self._problem = str(error)
            return
        self._problem = ''
        carried = ', '.join(f'{load.mass:.2g} kg on {load.link}' for load in payloads) or 'none'
        if carried != self._carried:
            self._carried = carried
            self._log.info(f'the payload is that of the controller: {carried}')

    def _tell(self, guard: Guard) -> None:
        """Log a difference that comes up while the guard is armed; it is no reason to leave."""
        refusal = guard.refusal if guard.state is GuardState.ARMED else ''
        if refusal != self._told:
            self._told = refusal
            if refusal:
                self._log.error(f'armed all the same: {refusal}')
