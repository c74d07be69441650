"""The end of control: the arm at rest, with its weight or nothing as the last torque."""

from __future__ import annotations

import time

from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.control import ArmController
from robodyn_ros.control.state import COAST
from robodyn_ros.nodes.containment import stack_trace
from robodyn_ros.nodes.controller.cycle import ControlCycle
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.torque_output import TorqueOutput

_LONGEST = 8.5  # s, besides the times that the parameters give: stops, dwells and slow torques


class Shutdown:
    """
    Ends the control of an arm; bounded in time, whatever happens.

    Parameters
    ----------
    controller : ArmController
        Of the arm.
    cycle : ControlCycle
        Goes on until the last torque is sent.
    output : TorqueOutput
        Takes the last torque where the cycle cannot.
    guard : GuardLink
        Who else may command, and takes over if the controller dies on the way.
    log : RcutilsLogger
        Of the node.

    """

    def __init__(self, controller: ArmController, cycle: ControlCycle, output: TorqueOutput,
                 guard: GuardLink, log: RcutilsLogger):
        self._controller, self._cycle, self._output = controller, cycle, output
        self._guard, self._log = guard, log

    def leave(self, values: ControllerSettings) -> None:
        """Bring the arm to rest, then send the last torque that the parameters ask for."""
        cycle, guard, controller = self._cycle, self._guard, self._controller
        if not cycle.active:
            return
        releases = values.shutdown_effort == 'release'
        how = f'the last torque is {"zero" if releases else "the weight of the arm"}'
        try:
            controller.shut_down('the controller leaves',
                                 values.release_time if releases else None)
            cycle.run(self._over, _LONGEST + 4.0 * values.control.stop_time + (
                values.release_time if releases else 0.0))
        except Exception:  # a defect in the cycle must not leave the last motion's torque
            self._log.error(stack_trace())
        cycle.halt()
        if guard.commands:
            how = 'the guard commands the arm'
        elif not controller.shutdown_over:
            how = 'the arm may not be at rest; the last torque is its weight'
            self._send_weight()
        cycle.end()
        self._output.wait_until_heard()
        controller.deactivate()
        self._log.info(f'left: {how}')

    def _over(self) -> bool:
        return self._guard.commands or self._cycle.stands_still or (
            self._controller.shutdown_over and self._cycle.sent)

    def _send_weight(self) -> None:
        """Send the weight; a guard that has not answered yet is waited for."""
        while not self._guard.commands:
            permitted = self._guard.may_command()
            if permitted:
                self._output.command(self._controller.weight())
            self._guard.beat(permitted)
            if permitted:
                return
            time.sleep(COAST)
