"""Taking over the arm where it is, or saying why not."""

from __future__ import annotations

import re
import time

from rclpy.node import Node

from robodyn_ros.control import ArmController, Mode
from robodyn_ros.exceptions import StateError
from robodyn_ros.nodes.controller.cycle import ControlCycle
from robodyn_ros.nodes.controller.guard_link import GuardLink
from robodyn_ros.nodes.controller.state_input import StateInput
from robodyn_ros.safety import Freshness

_REMIND = 2.0    # s between two log lines about the same thing
_UNKNOWN = '_NODE_NAME_UNKNOWN_'  # what rmw calls a node that it has not heard of yet


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
    commands : str
        Topic of the torques, where nobody but the guard may publish as well.
    driver_compensates_gravity : bool
        Whether the reported effort comes on top of the weight.

    """

    def __init__(self, node: Node, controller: ArmController, cycle: ControlCycle,
                 states: StateInput, guard: GuardLink, commands: str,
                 driver_compensates_gravity: bool):
        self._node, self._controller = node, controller
        self._cycle, self._states, self._guard = cycle, states, guard
        self._commands = commands
        self._driver_compensates_gravity = driver_compensates_gravity
        self._log = node.get_logger()
        self._reminded: dict[str, float] = {}

    def is_possible(self) -> bool:
        """Return whether the arm is ready; otherwise say now and then what is missing."""
        try:
            self._check()
        except StateError as error:
            self._remind(str(error))
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
        self._log.info('active: the arm floats' if self._controller.mode is Mode.FLOAT
                       else 'active: the arm is held where it is')

    def _check(self) -> str:
        """Raise why the arm cannot be taken over; return what could not be checked."""
        states, controller, reader = self._states, self._controller, self._states.reader
        if not reader.complete:
            raise StateError(f'no joint state on {states.topic} yet: {reader.problem}')
        verdict = states.verdict()
        if verdict.level is not Freshness.FRESH:
            raise StateError(f'joint states: {states.silence(verdict)}')
        controller.check_state(reader.q, reader.qd)
        if self._guard.refusal:
            raise StateError(self._guard.refusal)
        self._check_alone()
        return controller.check_effort(reader.q, reader.qd, reader.effort,
                                       self._driver_compensates_gravity)

    def _check_alone(self) -> None:
        """Raise if somebody commands who is neither this controller nor its guard."""
        guard = self._guard.name.rpartition('/')[2]
        names = [info.node_name for info in
                 self._node.get_publishers_info_by_topic(self._commands)]
        if sum(name != guard for name in names) < 2:
            return
        if _UNKNOWN in names:  # it may be the guard
            raise StateError(f'a new node publishes on {self._commands}, its name is not yet '
                             'known')
        raise StateError(
            f'somebody else publishes on {self._commands}: two commanders would fight over '
            f'the arm; stop the other one (ros2 topic info --verbose {self._commands})')

    def _remind(self, reason: str) -> None:
        """Log why it waits: at once if that is new, again now and then."""
        now, kind = time.monotonic(), re.sub(r'[\d.]+', '', reason)
        if now - self._reminded.get(kind, -_REMIND) >= _REMIND:
            self._reminded[kind] = now
            self._log.info(f'waiting: {reason}')
