"""Publisher of the controller state in the message of joint_trajectory_controller."""

from __future__ import annotations

import time

from control_msgs.msg import JointTrajectoryControllerState
import numpy as np
from rclpy.node import Node

from robodyn_ros.control import ArmController, Term
from robodyn_ros.model import RobotModel
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.conversions import point
from robodyn_ros.nodes.publishers import quiet_publisher, send
from robodyn_ros.trajectory import Reference, shortest_turn

_DEPTH = 10  # a plot may poll only a few times a second


class ControllerState:
    """
    Publishes `~/controller_state` at a fixed rate, while it has subscribers.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    states : StateInput
        Joint states.
    rate : float
        Rate of messages, in Hz.

    """

    def __init__(self, node: Node, controller: ArmController, states: StateInput,
                 rate: float):
        self._node, self._controller, self._states = node, controller, states
        self._period, self._due = 1.0 / rate, time.monotonic()
        self._publisher = quiet_publisher(
            node, JointTrajectoryControllerState, '~/controller_state', _DEPTH)
        self._message = JointTrajectoryControllerState(
            joint_names=list(controller.model.joint_names))

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)

    def update(self) -> None:
        """Publish if a message is due; to be called often."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = max(self._due, now - self._period) + self._period
        if self._states.complete and self._publisher.get_subscription_count():
            send(self._publisher, self._filled())

    def _filled(self) -> JointTrajectoryControllerState:
        controller, states, message = self._controller, self._states, self._message
        reference = controller.reference
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.reference = point(reference.q, reference.qd, reference.qdd, reference.effort,
                                  controller.status.trajectory[1])
        if hasattr(message, 'speed_scaling_factor'):  # not in every release
            message.speed_scaling_factor = controller.path_speed.rate
        measured = states.effort if np.isfinite(states.effort).all() else ()
        message.feedback = point(states.q, states.qd, effort=measured)
        message.error = point(*deviation(controller.model, reference, states))
        message.output = point(effort=controller.terms[Term.TOTAL])
        return message


def deviation(model: RobotModel, reference: Reference, states: StateInput
              ) -> tuple[np.ndarray, np.ndarray]:
    """Return reference minus state, (nv,) each: positions (shortest turn) and velocities."""
    error = reference.q - states.q
    for j in np.flatnonzero(model.continuous):
        error[j] = shortest_turn(float(error[j]))
    return error, reference.qd - states.qd
