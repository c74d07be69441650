"""
Loop of a bridge: states of a library as JointState, and its torques from effort commands.

The library sets the pace. Without commands the arm is not driven: it is held by its vendor's
controller, or lies there. The first command begins control; silence damps the arm, and gives it
back as soon as it is slow. So does the end of the process.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
import time
from typing import NamedTuple, Protocol

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robodyn_ros.exceptions import RobodynError
from robodyn_ros.nodes import qos
from robodyn_ros.nodes.cdr import JointStateWriter
from robodyn_ros.nodes.commands import CommandReader
from robodyn_ros.nodes.polling import PolledSubscription
from robodyn_ros.nodes.process import StopRequest
from robodyn_ros.nodes.publishers import quiet_publisher, send
from robodyn_ros.nodes.realtime import configure_realtime, RealtimeSettings

SILENCE = 0.05   # s without a command, after which the arm is damped
SLOW = 0.05      # rad/s below which it is given back,
LONGEST = 2.0    # s, or after this time in any case
_PAUSE = 0.5     # s of silence, after which commands begin anew after a fault
_FOLLOWS = 0.1   # of its difference from the clock, by which a stamp is corrected,
_JUMP = 0.02     # s, unless it is larger
_REPORT = 60.0   # s between two lines of the log


class State(NamedTuple):
    """What a library reports; `time` is that of the arm, in s."""

    time: float
    q: Sequence[float]
    qd: Sequence[float]
    effort: Sequence[float]


class Fault(RobodynError):
    """The arm has ended the control."""


class Gone(RobodynError):
    """The arm does not answer any more: the bridge ends."""


class Arm(Protocol):
    """
    An arm behind a library.

    Attributes
    ----------
    joints : list of str
        Names of the joints.
    damping : (n,) array
        Damping in silence, N m s/rad.

    """

    joints: list[str]
    damping: np.ndarray

    def read(self) -> State:
        """Return the next state, when it comes; raise `Fault`."""

    def begin(self) -> None:
        """Begin control; raise `Fault`."""

    def write(self, torque: np.ndarray) -> None:
        """Send a torque, within the vendor's limits; raise `Fault`."""

    def release(self) -> None:
        """End control: the vendor's controller holds the arm, or it lies there."""

    def recover(self) -> None:
        """Clear the fault of the last control; raise `Fault`."""

    def figures(self) -> str:
        """Return figures of the connection, for the log."""


class Bridge(Node):
    """
    Node of a bridge.

    Parameters
    ----------
    name : str
        Name of the node.
    arm : Arm
        The arm.

    Attributes
    ----------
    driven : bool
        Whether torques are sent.
    fault : str
        Why the arm has ended the control; '' while it has not.

    """

    def __init__(self, name: str, arm: Arm):
        super().__init__(name, start_parameter_services=False)
        self._arm = arm
        self._states = quiet_publisher(self, JointState, 'joint_states')
        self._writer = JointStateWriter(arm.joints)
        self._commands = PolledSubscription(
            self, Float64MultiArray, 'effort_controller/commands', qos.reliable(10))
        self._reader = CommandReader(arm.joints)
        self.driven, self.fault = False, ''
        self._last = self._since = self._logged = -math.inf
        self._longest = self._arm_time = self._stamp = 0.0

    def work(self, stop: StopRequest) -> None:
        """Run until a signal, and give the arm back."""
        configure_realtime(self, RealtimeSettings(), alone=True)
        while not stop.requested or self.driven:
            try:
                state = self._arm.read()
                self._publish(state)
                self._answer(state, stop.requested)
            except Fault as error:
                self._fail(str(error))
                if stop.requested:
                    break
            self._report()
        self.get_logger().info(self._arm.figures())

    def _publish(self, state: State) -> None:
        writer = self._writer
        writer.position[:], writer.velocity[:], writer.effort[:] = state[1:]
        send(self._states, writer.write(self._stamped(state.time)))

    def _stamped(self, time_: float) -> int:
        """Return the stamp in ns: intervals are those of the arm, not of the network."""
        now = 1e-9 * self.get_clock().now().nanoseconds
        stamp = self._stamp + max(time_ - self._arm_time, 0.0)
        off = now - stamp
        stamp += off if abs(off) > _JUMP else _FOLLOWS * off
        self._arm_time, self._stamp = time_, stamp
        return round(1e9 * stamp)

    def _answer(self, state: State, ends: bool) -> None:
        """Send the newest command, or what silence asks for."""
        now = time.monotonic()
        fresh = bool(sum(self._reader.read_array(each) for each in self._commands.waiting()))
        silence = now - self._last
        if fresh and not ends:
            if self.driven:
                self._longest = max(self._longest, silence)
            self._last = now
            if not self.driven and self._permitted(silence):
                self._begin()
        if not self.driven:
            return
        if not ends and now - self._last < SILENCE:
            self._since = now
            self._arm.write(self._reader.torque)
            return
        qd = np.asarray(state.qd)
        if np.abs(qd).max() < SLOW or now - self._since > LONGEST:
            self._arm.release()
            self.driven = False
            self.get_logger().info('the end: the arm is given back' if ends else
                                   f'no commands for {now - self._last:.2f} s: the arm is given '
                                   'back')
            return
        self._arm.write(-self._arm.damping * qd)

    def _permitted(self, silence: float) -> bool:
        """Return whether commands may begin: after a fault not those that went on."""
        return not self.fault or silence > _PAUSE

    def _begin(self) -> None:
        if self.fault:
            self.fault = ''
            self._arm.recover()
        self._arm.begin()
        self.driven, self._since = True, time.monotonic()
        self.get_logger().info('commands have begun: the arm is driven')

    def _fail(self, text: str) -> None:
        self.driven, self.fault = False, text
        self.get_logger().error(
            f'{text}; the arm takes commands again after they have ended: deactivate the '
            'controller, look at the arm, activate it')

    def _report(self) -> None:
        now = time.monotonic()
        for line in self._reader.refusals.new_lines():
            self.get_logger().warning(line, throttle_duration_sec=1.0)
        if now - self._logged > _REPORT:
            self._logged = now
            self.get_logger().info(f'{self._arm.figures()}; longest gap of commands '
                                   f'{1e3 * self._longest:.1f} ms')
