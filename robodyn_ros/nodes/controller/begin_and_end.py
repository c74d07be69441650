"""Begin and end of the control of an arm: checks before it, rest and last torque after it."""

from __future__ import annotations

import re
import time

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from robodyn_ros.control import ArmController, Mode
from robodyn_ros.control.mode import EXTERNAL_LAWS
from robodyn_ros.dynamics.usual_inertia import sampled_poses
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes.containment import stack_trace
from robodyn_ros.nodes.controller.control_loop import ControlLoop
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.other_commanders import OtherCommanders
from robodyn_ros.nodes.controller.output import TorqueOutput
from robodyn_ros.nodes.controller.parameters import ControllerSettings
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.publishers import publisher_names, UNKNOWN
from robodyn_ros.nodes.simulator import NAME as SIMULATOR
from robodyn_ros.safety import GuardState
from robodyn_ros.safety.acceptance import COAST

_POSES, _NEGLIGIBLE = 32, 0.01  # poses that are tried; part of the effort limits
_REPEAT = 2.0    # s between two log lines of the same reason
_DISARMED = 1.0  # s until a guard has reported that it is not armed any more
_LONGEST = 8.5  # s for stops, dwells and torque ramps, besides the times given by parameters


class Activation:
    """
    Checks the arm, then activates the control cycle.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Controller of the arm.
    cycle : ControlLoop
        Cycle to activate.
    states : StateInput
        Joint states.
    guard : GuardLink
        Connection to the guard.
    other_commanders : OtherCommanders
        Other publishers of torques and joint states.
    driver_compensates_gravity : bool or None
        Whether the driver adds the gravity torque to commanded and reported effort; None: the
        user has not said so, and only a simulated arm is activated.
    cut_off : str
        Why a real arm is not taken over with this tip; '' if it may be.
    falls : str
        Why the arm falls when commands stop; '' if it does not, or needs no gravity torque.
    may_fall : bool
        Whether the user has said that it may.

    Attributes
    ----------
    waits : str
        Why the arm was not activated, the last time that it was tried; '' before and once it was.

    """

    def __init__(self, node: Node, controller: ArmController, cycle: ControlLoop,
                 states: StateInput, guard: GuardLink, other_commanders: OtherCommanders,
                 driver_compensates_gravity: bool | None, cut_off: str, falls: str,
                 may_fall: bool):
        self._node, self._controller = node, controller
        self._cycle, self._states, self._guard = cycle, states, guard
        self._other_commanders = other_commanders
        self._driver_compensates_gravity = driver_compensates_gravity
        self._carried = _carried(controller) if driver_compensates_gravity is None else ''
        self._cut_off = cut_off
        self._falls = falls if falls and _carried(controller) else ''
        self._may_fall = may_fall
        self._log = node.get_logger()
        self._logged: dict[str, float] = {}
        self.waits = ''

    def is_possible(self) -> bool:
        """Return whether the arm is ready; otherwise log periodically what is missing."""
        try:
            self._check()
        except StateError as error:
            self.log_reason(str(error))
            return False
        return True

    def activate(self) -> None:
        """
        Hold the arm at its present position, or let it float.

        Raises
        ------
        StateError
            The arm is not ready; the message names what is missing.

        """
        try:
            notice = self._check()
        except StateError as error:
            self.waits = str(error)
            raise
        if notice:
            self._log.warning('the reported effort was not compared with the gravity torque: '
                              f'{notice}')
        self._cycle.activate()
        self.waits = ''
        mode = self._controller.settings.mode
        self._log.info('active: the arm floats' if self._controller.mode is Mode.FLOAT
                       else 'active: the arm is held where it is'
                       + (f'; next is {mode}' if mode in EXTERNAL_LAWS else ''))
        if self._falls:
            self._log.warning(f'when commands stop, {self._falls}')

    def _check(self) -> str:
        """Raise if the arm is not ready; return what could not be checked, or ''."""
        states, controller = self._states, self._controller
        if not states.complete:
            raise StateError(f'no joint state on {states.topic} yet: {states.problem}')
        verdict = states.verdict()
        if not verdict.fresh:
            raise StateError(verdict.reason)
        controller.activation.check_state(states.q, states.qd)
        if refusal := self._cycle.other.refusal:
            raise StateError(refusal)
        if self._guard.turns.refusal:
            raise StateError(self._guard.turns.refusal)
        other_commanders = self._other_commanders.refusal()
        if other_commanders:
            raise StateError(other_commanders)
        count = self._node.count_publishers(states.topic)
        if not states.heard(count):
            raise StateError(f'not all of {count} publishers on {states.topic} have been '
                             'heard yet')
        joint, several = states.shared_joint()
        if joint:
            names = publisher_names(self._node, states.topic, several)
            raise StateError(f"joint '{joint}' is reported by several publishers on "
                             f'{states.topic}: {names}; stop all but one')
        publishers = {each.node_name for each in self._node.get_publishers_info_by_topic(
            states.topic)}
        if UNKNOWN in publishers:
            raise StateError(f'the publisher of {states.topic} is not known yet')
        if self._carried and publishers != {SIMULATOR}:
            raise StateError(f'who carries the arm? {self._carried}, and a driver may add it: '
                             'start with driver_compensates_gravity: true if it does (Franka, '
                             'KUKA FRI, UR, YAM), or false if the torques of this node are all '
                             'that moves the joints')
        if self._cut_off and publishers != {SIMULATOR}:
            raise StateError(self._cut_off)
        if self._falls and not self._may_fall:
            raise StateError(f'when commands stop, {self._falls}. If it may fall, support it, and '
                             'start with silence.may_fall: true')
        return controller.activation.check_effort(states.q, states.qd, states.effort,
                                                  bool(self._driver_compensates_gravity))

    def log_reason(self, reason: str) -> None:
        """Log why activation waits: at once if the reason is new, then periodically."""
        self.waits = reason
        now, kind = time.monotonic(), re.sub(r'[\d.]+', '', reason)
        if now - self._logged.get(kind, -_REPEAT) >= _REPEAT:
            self._logged[kind] = now
            self._log.info(f'waiting: {reason}')


def _carried(controller: ArmController) -> str:
    """Return how much gravity torque the arm needs at most, as text; '' if it is negligible."""
    model, limit = controller.model, controller.status.effort_limit
    torque = np.max([np.abs(controller.dynamics.gravity(q))
                     for q in sampled_poses(model, _POSES)], axis=0)
    part = torque / np.where(np.isfinite(limit), limit, np.maximum(torque, 1.0))
    j = int(np.argmax(part))
    return '' if part[j] < _NEGLIGIBLE else (
        f"'{model.joint_names[j]}' needs up to {torque[j]:.3g} {model.effort_units[j]} against "
        'gravity')


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
        if self._at_once or cycle.new_driver:
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
        cycle.other.stop()
        if guard.turns.guard_commands:
            result = 'the guard commands the arm'
        elif cycle.other.lost:
            result = cycle.other.lost
        elif not controller.status.shutdown_over:
            result = 'the arm may not be at rest; the last torque is the gravity torque'
            self._send_gravity_torque()
        elif not releases and self._output.writer.holds:
            self._output.command(controller.status.sent, held=True)
        self._end(result)

    def _end(self, result: str) -> None:
        self._cycle.deactivate()
        # until the guard reports it, it seems to be armed by another controller
        self._cycle.run(self._guard_knows, _DISARMED)
        self._output.wait_until_acknowledged()
        self._controller.activation.deactivate()
        self._log.info(f'deactivated: {result}')

    def _guard_knows(self) -> bool:
        turns = self._guard.turns
        return turns.guard_silent or turns.guard_state is not GuardState.ARMED

    def _over(self) -> bool:
        cycle = self._cycle
        return (bool(cycle.other.lost) or self._guard.turns.guard_commands
                or cycle.simulation_stopped
                or self._controller.status.shutdown_over and cycle.sent)

    def _send_gravity_torque(self) -> None:
        """Send the gravity torque, once the guard permits it or commands."""
        while not self._guard.turns.guard_commands:
            permitted = self._guard.begin(received=False)
            if permitted:
                self._output.command(self._controller.gravity_torque(), held=True)
                self._guard.turns.sent(time.monotonic())
            self._guard.send_heartbeat()
            if permitted:
                return
            time.sleep(COAST)
