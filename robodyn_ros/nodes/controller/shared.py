"""Loop of a controller node in controller_manager: the exported cycle, owned by this node."""

from __future__ import annotations

import time

from rclpy.node import Node

from robodyn_ros.control import ArmController
from robodyn_ros.control.shared_block import SEGMENT_ROWS, usual_name
from robodyn_ros.exceptions import RobodynError, StateError
from robodyn_ros.nodes.controller.native import Rows
from robodyn_ros.nodes.controller.output import TorqueOutput
from robodyn_ros.nodes.controller.parameters import ControllerSettings, SHARED
from robodyn_ros.nodes.controller.state_input import ControllerClock
from robodyn_ros.nodes.native.rcl import NativeLoopError
from robodyn_ros.nodes.native.shared_loop import SharedLoop
from robodyn_ros.nodes.statistics import CycleStatistics

_STALLED = 0.5  # s without a cycle after which the controller counts as gone
_ATTEMPT = 0.1  # s between two attempts to take the arm over again


class SharedControl:
    """
    Owns the cycle that a controller of ros2_control runs, and reads its results.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm; its memory is a copy of that in controller_manager.
    output : TorqueOutput
        Publishers of telemetry.
    clock : ControllerClock
        Clock of stamps.
    values : ControllerSettings
        Parameters of the node.

    Attributes
    ----------
    name : str
        Kind of the loop, as of the parameter.
    running : bool
        Whether the arm is under control of this node, or was when the controller stopped.
    sent : bool
        Whether torques are sent.
    lost : str
        Reason why the controller does not run any more; empty while it runs.

    Raises
    ------
    NativeLoopError
        The platform does not support it.

    """

    name = SHARED
    refused = 0

    def __init__(self, node: Node, controller: ArmController, output: TorqueOutput,
                 clock: ControllerClock, values: ControllerSettings):
        self._controller, self._clock, self._log = controller, clock, node.get_logger()
        self._loop = SharedLoop(
            controller.host, controller.model.joint_names,
            values.shared_block or usual_name(controller.model.name), values.loop_patience)
        controller.host.most_segments = SEGMENT_ROWS
        self._rows = Rows(self._loop.data, controller, output, clock, self._log)
        self.running = False
        self.lost = ''
        self._count, self._counted, self._attempt = -1, 0.0, 0.0

    @property
    def sent(self) -> bool:
        """Whether torques are sent."""
        return self.running and not self.lost

    @property
    def coasting(self) -> bool:
        """Whether the states are silent, or the controller is lost."""
        return bool(self.lost) or self._rows.coasting

    @property
    def refusal(self) -> str:
        """Return why the arm cannot be taken over now; empty if it can."""
        try:
            self._loop.attach()
        except StateError as error:
            return str(error)
        return self._loop.problem

    def start(self, statistics: CycleStatistics) -> str:
        """Take the arm over from the controller, which holds it; return ''."""
        self._rows.statistics, self.lost = statistics, ''
        self._take_over()
        self.running = True
        return ''

    def _take_over(self) -> None:
        """Hand memory and program over, beginning with the last torque of the controller."""
        loop, controller = self._loop, self._controller
        if refusal := self.refusal:
            raise StateError(refusal)
        _, q, qd, torque = loop.state()
        now = self._clock.now()
        controller.activate(self._clock.law_time(now), q, qd, now)
        controller.requests.start_from(torque)
        try:
            loop.hand_over()
        except NativeLoopError as error:
            raise StateError(str(error)) from error
        self._counted = time.monotonic()

    def stop(self) -> None:
        """Leave the arm to the controller, which goes on with the last program."""
        if self.running and not self.lost:
            self._rows.read_all()
            self._loop.release()
        self.running = False
        self._loop.close()

    close = stop

    def update(self) -> None:
        """Read the results of the controller; take the arm over again after an interruption."""
        loop = self._loop
        if self.lost:
            self._resume()
            return
        loop.data.reset_watchdog()
        self._rows.read_all()
        self._controller.cycle.check_time()
        if reason := self._interruption():
            self._lose(reason)
        else:
            loop.data.submit_changes()

    def _interruption(self) -> str:
        """Return why the controller does not run the program of this node; empty if it does."""
        now, count = time.monotonic(), self._loop.block['count']
        if count != self._count:
            self._count, self._counted = count, now
        if now - self._counted > _STALLED:
            return f'controller_manager makes no cycles for {now - self._counted:.1f} s'
        return '' if self._loop.owned else (
            self._loop.problem or 'controller_manager has activated the controller anew')

    def _lose(self, reason: str) -> None:
        self._loop.release()
        self.lost = reason
        self._controller.requests.fail(reason)
        self._attempt = time.monotonic()

    def _resume(self) -> None:
        """Take the arm over where it is, as soon as the controller runs again."""
        now = time.monotonic()
        if now - self._attempt < _ATTEMPT:
            return
        self._attempt = now
        count = self._loop.block['count']
        stalled = count == self._count and self._loop.is_attached
        self._count = count
        if self.refusal or stalled:
            return
        try:
            self._take_over()
        except RobodynError as error:
            self._log.error(f'the arm is not taken over again: {error}', throttle_duration_sec=2.0)
            return
        self.lost = ''
        self._log.info('controller_manager runs the controller again: the arm is held where it is')

    def summary(self) -> dict[str, str]:
        """Return error counts since the configuration, for diagnostics."""
        return {'cycles not reported': str(self._loop.data.missed)}
