"""A recorder that also hears who commands the arm, where it truly is, and what its guard says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger

from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes.controller import node as controller
from robodyn_ros.nodes.guard import node as guard
from robodyn_ros.nodes.recorder import JointStream, Recorder, Stream
from robodyn_ros.nodes.simulator import node as simulator
from robodyn_ros.reliability.fault_publisher import FaultPublisher


class Commanded(NamedTuple):
    """
    Torques that were commanded, by whomever.

    Attributes
    ----------
    sent : (N,) array of int64
        When, in ns since the epoch.
    torque : (N, nv) array
        In model order.
    odd : int
        Messages of another length.

    """

    sent: np.ndarray
    torque: np.ndarray
    odd: int


class FaultRecorder(Recorder):
    """
    Listens to arm, controller and guard, and can do them harm.

    Parameters
    ----------
    look : callable, optional
        As for a `Recorder`.

    Attributes
    ----------
    truth : JointStream
        Where the arm is in fact.
    fault_publisher : FaultPublisher
        What is published that should not be.

    """

    def __init__(self, look: Callable[[], None] | None = None):
        super().__init__(look)
        node = self._node
        self.truth = JointStream(node, f'{simulator.NAME}/ground_truth')
        self._commands = Stream(node, Float64MultiArray, 'effort_controller/commands')
        self._words = Stream(node, Header, f'{guard.NAME}/state', latched=True)
        self._beats = Stream(node, Header, f'{controller.NAME}/heartbeat')
        self._streams += [self.truth, self._commands, self._words, self._beats]
        self.fault_publisher = FaultPublisher(node, controller.NAME)

    def forget(self) -> None:
        """Forget what was recorded; the newest of each topic stays."""
        for stream in self._streams:
            del stream.messages[:-1]
        self.diagnostics.clear()

    @property
    def word(self) -> str:
        """Return what the guard said last; empty if it said nothing."""
        return _frame(self._words)

    @property
    def phase(self) -> str:
        """Return what the heartbeat said last; empty if there was none."""
        return _frame(self._beats)

    def forget_words(self) -> None:
        """Forget what guard and controller said: the next word is of a new one."""
        self._words.messages.clear()
        self._beats.messages.clear()

    def commanded(self, nv: int, begin: int = 0) -> Commanded:
        """Return the torques since a time (ns since the epoch)."""
        rows = [(sent, deserialize_message(data, Float64MultiArray).data)
                for sent, data in self._commands.messages if sent >= begin]
        good = [(sent, torque) for sent, torque in rows if len(torque) == nv]
        return Commanded(np.array([sent for sent, _ in good], dtype=np.int64),
                         np.array([torque for _, torque in good]).reshape(-1, nv),
                         len(rows) - len(good))

    def call(self, name: str) -> str:
        """Call a service of any node without arguments; return what it refused, '' if nothing."""
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
