"""Diagnostics of a guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from robodyn_ros.nodes.statistics import diagnostic_array
from robodyn_ros.safety import Freshness, GuardState

if TYPE_CHECKING:
    from robodyn_ros.nodes.guard.node import GuardNode

_REPORT = 1.0  # s
_LEVELS = {GuardState.WATCHING: DiagnosticStatus.WARN, GuardState.ARMED: DiagnosticStatus.OK}


class GuardReport:
    """
    Publishes diagnostics once a second.

    Parameters
    ----------
    node : GuardNode
        The guard node.
    robot, controller : str
        Names of the robot and of the controller node.

    """

    def __init__(self, node: GuardNode, robot: str, controller: str):
        self._node, self._robot, self._controller = node, robot, controller
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 5)
        self._timer = node.create_timer(_REPORT, self._report)

    def _report(self) -> None:
        node, guard, states = self._node, self._node.guard, self._node.states.verdict()
        level = _LEVELS.get(guard.state, DiagnosticStatus.ERROR)
        if level == DiagnosticStatus.OK and (states.level is not Freshness.FRESH
                                             or guard.refusal):
            level = DiagnosticStatus.WARN
        loads = node.torque.loads
        self._publisher.publish(diagnostic_array(
            node.get_clock().now().to_msg(), f'{node.get_fully_qualified_name()}: guard',
            self._robot, level, f'{guard.state.value}: {guard.reason}', {
                'controller': self._controller,
                'heartbeat age (ms)': f'{1e3 * guard.silence:.0f}',
                'state age (ms)': f'{1e3 * states.age:.0f}',
                'joint states': states.reason or 'fresh',
                'agreement with the controller': guard.refusal or 'yes',
                'takeovers': str(guard.takeovers),
                'payload': ', '.join(f'{load.mass:g} kg on {load.link}'
                                     for load in loads.payloads.values()) or 'none',
                'gravity (m/s^2)': ', '.join(f'{x:g}' for x in loads.gravity)}))
