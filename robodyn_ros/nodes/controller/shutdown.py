"""Leaving the arm in good order: at rest, with its weight or nothing as the last torque."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from robodyn_ros.control import ArmController
from robodyn_ros.nodes.containment import stack_trace
from robodyn_ros.nodes.controller.clock import ControllerClock
from robodyn_ros.nodes.controller.cycle import COAST, ControlCycle
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.nodes.controller.torque_output import TorqueOutput

_SETTLE = 1.0    # s in which the arm may follow its reference to rest
_STILL = 0.02    # rad/s or m/s below which a joint is at rest,
_DWELL = 0.1     # and s for which it must stay so: what swings is still for a moment, too
_ATTEMPTS = 2    # at rest that lasts when feedback is gone
_FADE = 0.1      # s of the last torques, in which feedback gives way to the weight
_LONGEST_FADE = 3.0  # s that this may take if the torque may only change slowly
_FAR = 0.01      # part of the effort limit beyond which a torque is not yet the weight


class Shutdown:
    """
    Ends the control of an arm; bounded in time, whatever happens.

    Parameters
    ----------
    controller : ArmController
        Of the arm.
    cycle : ControlCycle
        Goes on until the arm is at rest.
    states : StateInput
        Where the arm is.
    output : TorqueOutput
        Takes the last torques.
    guard : GuardLink
        Who else may command, and takes over if the controller dies on the way.
    clock : ControllerClock
        Of the cycle.
    log : RcutilsLogger
        Of the node.

    """

    def __init__(self, controller: ArmController, cycle: ControlCycle, states: StateInput,
                 output: TorqueOutput, guard: GuardLink, clock: ControllerClock,
                 log: RcutilsLogger):
        self._controller, self._cycle, self._states = controller, cycle, states
        self._output, self._guard, self._clock, self._log = output, guard, clock, log

    def leave(self, values: SimpleNamespace) -> None:
        """Bring the arm to rest, then send the last torque that the parameters ask for."""
        if not self._cycle.active:
            return
        if self._guard.commands:
            self._end('')
            return
        for _ in range(_ATTEMPTS):
            self._cycle.active = True
            try:
                self._come_to_rest(values.stop_time)
            except Exception:  # a defect in the cycle must not leave the last motion's torque
                self._log.error(stack_trace())
            self._cycle.active = False
            self._fade_to_weight()
            if self._guard.commands or self._stays():
                break
        holds = values.shutdown_effort == 'hold'
        if not holds:
            self._fade_to_nothing(values.release_time)
        self._end(f'the last torque is {"the weight of the arm" if holds else "zero"}')

    def _end(self, how: str) -> None:
        self._cycle.end()
        self._output.wait_until_heard()
        self._controller.deactivate()
        self._log.info(f'left: {"the guard commands the arm" if self._guard.commands else how}')

    def _come_to_rest(self, stop_time: float) -> None:
        controller, cycle, states = self._controller, self._cycle, self._states
        controller.stop('the controller leaves')
        cycle.run(lambda: controller.at_rest, 2.0 * stop_time + 1.0)
        moved = time.monotonic()

        def rests() -> bool:
            nonlocal moved
            now = time.monotonic()
            if states.fastest >= _STILL:
                moved = now
            return cycle.coasting or now - moved >= _DWELL

        cycle.run(rests, _SETTLE)
        if not cycle.coasting:  # the weight of where the arm is, not of where it should be
            cycle.resume()

    # from here on only commands are sent: what is only told may be what has failed

    def _fade_to_weight(self) -> None:
        """Let go of feedback; the last torque is the weight."""
        begin, passed, far = time.monotonic(), 0.0, True
        while passed < _FADE or (far and passed < _LONGEST_FADE):
            torque, far = self._without_feedback()
            self._command(torque)
            time.sleep(COAST)
            passed = time.monotonic() - begin
        if self._states.read_waiting():  # it has come to rest elsewhere meanwhile
            self._cycle.resume()
        self._command_at_last(self._controller.weight())

    def _stays(self) -> bool:
        """Hold the weight for a moment; return whether the arm, as far as it is seen, rests."""
        end = time.monotonic() + _DWELL
        while time.monotonic() < end:
            self._command(self._controller.weight())
            time.sleep(COAST)
        return not self._states.read_waiting() or self._states.fastest < _STILL

    def _fade_to_nothing(self, duration: float) -> None:
        """Let go of the weight as well."""
        begin, passed = time.monotonic(), 0.0
        while passed < duration:
            torque, _ = self._without_feedback()
            self._command((1.0 - passed / duration) * torque)
            time.sleep(COAST)
            passed = time.monotonic() - begin
        self._command_at_last(np.zeros(self._controller.model.nv))

    def _command(self, torque: np.ndarray) -> bool:
        """Send a torque, unless the guard has taken over meanwhile; return whether it was sent."""
        permitted = self._guard.may_command()
        if permitted:
            self._output.command(torque)
        self._guard.beat(permitted)
        return permitted

    def _command_at_last(self, torque: np.ndarray) -> None:
        """Send the torque that stays; the guard's answer, if there is one to wait for, is due."""
        while not self._command(torque) and not self._guard.commands:
            time.sleep(COAST)

    def _without_feedback(self) -> tuple[np.ndarray, bool]:
        """Return the torque of the model alone, and whether it is still far from the weight."""
        weight = self._controller.weight()
        try:
            torque, _ = self._controller.coast(self._clock.moment())
        except Exception:
            self._log.error(stack_trace(), once=True)
            return weight, False
        away = np.abs(torque - weight) > _FAR * self._controller.effort_limit
        return torque, bool(away.any())
