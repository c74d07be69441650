"""Taking over the arm where it is, or saying why not."""

from __future__ import annotations

import re
import time

from rclpy.node import Node

from robodyn_ros.control import ArmController, Mode
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes.controller.cycle import ControlCycle
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.other_commanders import OtherCommanders
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.safety import Freshness

_REMIND = 2.0    # s between two log lines about the same thing


class Activation:
    """
    Checks the arm before it is taken over.

    Parameters
    ----------
    node : Node
        The controller node.
    controller : ArmController
        Of the arm.
    cycle : ControlCycle
        Takes it over.
    states : StateInput
        Its state.
    guard : GuardLink
        Who commands if the controller cannot.
    other_commanders : OtherCommanders
        Who else commands.
    driver_compensates_gravity : bool
        Whether the reported effort comes on top of the weight.

    """

    def __init__(self, node: Node, controller: ArmController, cycle: ControlCycle,
                 states: StateInput, guard: GuardLink, other_commanders: OtherCommanders,
                 driver_compensates_gravity: bool):
        self._node, self._controller = node, controller
        self._cycle, self._states, self._guard = cycle, states, guard
        self._other_commanders = other_commanders
        self._driver_compensates_gravity = driver_compensates_gravity
        self._log = node.get_logger()
        self._reminded: dict[str, float] = {}

    def is_possible(self) -> bool:
        """Return whether the arm is ready; otherwise say now and then what is missing."""
        try:
            self._check()
        except StateError as error:
            self.remind(str(error))
            return False
        return True

    def take_over(self) -> None:
        """
        Hold the arm where it is, or let it float.

        Raises
        ------
        StateError
            It is not ready; the message says what is missing.

        """
        notice = self._check()
        if notice:
            self._log.warning(f'the effort of the arm was not compared with its weight: {notice}')
        self._cycle.take_over()
        ext_law = self._controller.settings.external_law
        self._log.info('active: the arm floats' if self._controller.mode is Mode.FLOAT
                       else 'active: the arm is held where it is'
                       + (f'; then {ext_law} has it' if ext_law else ''))

    def _check(self) -> str:
        """Raise why the arm cannot be taken over; return what could not be checked."""
        states, controller = self._states, self._controller
        if not states.complete:
            raise StateError(f'no joint state on {states.topic} yet: {states.problem}')
        verdict = states.verdict()
        if verdict.level is not Freshness.FRESH:
            raise StateError(verdict.reason)
        controller.check_state(states.q, states.qd)
        if self._guard.refusal:
            raise StateError(self._guard.refusal)
        other_commanders = self._other_commanders.refusal()
        if other_commanders:
            raise StateError(other_commanders)
        return controller.check_effort(states.q, states.qd, states.effort,
                                       self._driver_compensates_gravity)

    def remind(self, reason: str) -> None:
        """Log why it waits: at once if that is new, again now and then."""
        now, kind = time.monotonic(), re.sub(r'[\d.]+', '', reason)
        if now - self._reminded.get(kind, -_REMIND) >= _REMIND:
            self._reminded[kind] = now
            self._log.info(f'waiting: {reason}')
