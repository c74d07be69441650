"""End of control: the arm at rest; the last torque is the gravity torque, or zero."""

from __future__ import annotations

import time

from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.control import ArmController
from robodyn_ros.control.state import COAST
from robodyn_ros.nodes.containment import stack_trace
from robodyn_ros.nodes.controller.control_loop import ControlLoop
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.torque_output import TorqueOutput

_LONGEST = 8.5  # s for stops, dwells and torque ramps, besides the times given by parameters


class Shutdown:
    """
    Ends the control of an arm within a bounded time.

    Parameters
    ----------
    controller : ArmController
        Controller of the arm.
    cycle : ControlLoop
        Control cycle, active until the last torque is sent.
    output : TorqueOutput
        Publisher of the last torque where the cycle fails.
    guard : GuardLink
        Connection to the guard, which takes over if the controller fails meanwhile.
    log : RcutilsLogger
        Logger of the node.

    """

    def __init__(self, controller: ArmController, cycle: ControlLoop, output: TorqueOutput,
                 guard: GuardLink, log: RcutilsLogger):
        self._controller, self._cycle, self._output = controller, cycle, output
        self._guard, self._log = guard, log
        self._at_once = False

    def at_once(self) -> None:
        """Let the control end without a further torque: it would be one of another pose."""
        self._at_once = True

    def run(self, values: ControllerSettings) -> None:
        """Bring the arm to rest, then send the last torque according to `shutdown_effort`."""
        cycle, guard, controller = self._cycle, self._guard, self._controller
        if not cycle.active:
            return
        if self._at_once:
            self._at_once = False
            self._end('no further torque was sent')
            return
        releases = values.shutdown_effort == 'release'
        result = f'the last torque is {"zero" if releases else "the gravity torque"}'
        try:
            controller.requests.shut_down('the controller is deactivated',
                                          values.release_time if releases else None)
            cycle.run(self._over, _LONGEST + 4.0 * values.control.stop_time + (
                values.release_time if releases else 0.0))
        except Exception:  # a torque of the last motion must not remain the last one
            self._log.error(stack_trace())
        cycle.stop_native()
        if guard.turns.guard_commands:
            result = 'the guard commands the arm'
        elif cycle.lost:
            result = cycle.lost
        elif not controller.status.shutdown_over:
            result = 'the arm may not be at rest; the last torque is the gravity torque'
            self._send_gravity_torque()
        self._end(result)

    def _end(self, result: str) -> None:
        self._cycle.deactivate()
        self._output.wait_until_acknowledged()
        self._controller.activation.deactivate()
        self._log.info(f'deactivated: {result}')

    def _over(self) -> bool:
        cycle = self._cycle
        return (bool(cycle.lost) or self._guard.turns.guard_commands or cycle.simulation_stopped
                or self._controller.status.shutdown_over and cycle.sent)

    def _send_gravity_torque(self) -> None:
        """Send the gravity torque, once the guard permits it or commands."""
        while not self._guard.turns.guard_commands:
            permitted = self._guard.begin(received=False)
            if permitted:
                self._output.command(self._controller.gravity_torque())
                self._guard.turns.sent(time.monotonic())
            self._guard.send_heartbeat()
            if permitted:
                return
            time.sleep(COAST)
