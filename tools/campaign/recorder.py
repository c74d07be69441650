"""A recorder of torques, true joint states and the states of guard and controller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger

from robodyn_ros.client.recorder import JointStream, Recorder, Stream
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.guard import node as guard
from robodyn_ros.nodes.simulator import node as simulator
from tools.campaign.publisher import FaultPublisher


class Commanded(NamedTuple):
    """
    Torques that were commanded by any node.

    Attributes
    ----------
    sent : (N,) array of int64
        Times of sending, in ns since the epoch.
    torque : (N, nv) array
        Torques in model order.
    wrong_length : int
        Number of messages with another number of values.

    """

    sent: np.ndarray
    torque: np.ndarray
    wrong_length: int


class FaultRecorder(Recorder):
    """
    Records arm, controller and guard, and publishes faulty messages.

    Parameters
    ----------
    look : callable, optional
        As for a `Recorder`.

    Attributes
    ----------
    truth : JointStream
        True joint states of the simulated arm.
    fault_publisher : FaultPublisher
        Publishers of faulty messages.

    """

    def __init__(self, look: Callable[[], None] | None = None):
        super().__init__(look)
        node = self._node
        self.truth = JointStream(node, f'{simulator.NAME}/ground_truth')
        self._commands = Stream(node, Float64MultiArray, 'effort_controller/commands')
        self._guard_states = Stream(node, Header, f'{guard.NAME}/state', latched=True)
        self._heartbeats = Stream(node, Header, f'{controller.NAME}/heartbeat')
        self._streams += [self.truth, self._commands, self._guard_states, self._heartbeats]
        self.fault_publisher = FaultPublisher(node, controller.NAME)

    def clear(self) -> None:
        """Delete all recorded messages except the newest of each topic."""
        for stream in self._streams:
            del stream.messages[:-1]
        self.diagnostics.clear()

    @property
    def guard_state(self) -> str:
        """Return the last state of the guard; empty if none was received."""
        return _frame(self._guard_states)

    @property
    def controller_state(self) -> str:
        """Return the state in the last heartbeat; empty if none was received."""
        return _frame(self._heartbeats)

    def clear_node_states(self) -> None:
        """Delete the states of guard and controller: the next ones are of a new process."""
        self._guard_states.messages.clear()
        self._heartbeats.messages.clear()

    def commanded(self, nv: int, begin: int = 0) -> Commanded:
        """Return the torques sent since a time (ns since the epoch)."""
        rows = [(sent, deserialize_message(data, Float64MultiArray).data)
                for sent, data in self._commands.messages if sent >= begin]
        good = [(sent, torque) for sent, torque in rows if len(torque) == nv]
        return Commanded(np.array([sent for sent, _ in good], dtype=np.int64),
                         np.array([torque for _, torque in good]).reshape(-1, nv),
                         len(rows) - len(good))

    def request(self, name: str) -> str:
        """Call a Trigger service of any node; return the reason of a refusal, '' if accepted."""
        try:
            response = self._call(Trigger, name, Trigger.Request())
        except StateError as error:
            return str(error)
        return '' if response.success else response.message

    def get_parameters(self, node: str, names: Sequence[str]) -> list:
        """Return the values of parameters of a node."""
        response = self._call(GetParameters, f'{node}/get_parameters',
                              GetParameters.Request(names=list(names)))
        return [parameter_value_to_python(value) for value in response.values]


def _frame(stream: Stream) -> str:
    if not stream.messages:
        return ''
    return deserialize_message(stream.messages[-1][1], Header).frame_id
