"""Publisher of the configuration that controller and guard must share."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String

from robodyn_ros.control import ArmController
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.guard.configuration import loads_of, shared_parameters, TOPIC
from robodyn_ros.nodes.parameters import Parameters
from robodyn_ros.nodes.sending import send


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
                self._topic, controller.bounds.usable)
        if not same or not np.array_equal(learned, self._learned):
            if send(self._publisher, String(data=json.dumps(self._configuration()))):
                self._published, self._learned[:] = now, learned

    def _configuration(self) -> dict[str, Any]:
        controller = self._controller
        payloads = dict(controller.loads.payloads)
        if self._learned.any():
            learned = controller.adaptation.payload
            payloads[learned.link] = learned
        return {**self._parameters, **loads_of(payloads, controller.loads.gravity,
                                               controller.design.gains.armature)}
