"""Diagnostics of a guard."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from robodyn_ros.nodes.guard.topics import StateSubscriber
from robodyn_ros.nodes.guard.torque import GuardTorque
from robodyn_ros.nodes.statistics import Diagnostics
from robodyn_ros.safety import Guard, GuardState

_REPORT = 1.0  # s
_LEVELS = {GuardState.WATCHING: DiagnosticStatus.WARN, GuardState.ARMED: DiagnosticStatus.OK}


class GuardReport:
    """
    Publishes diagnostics once a second.

    Parameters
    ----------
    node : Node
        The guard node.
    guard : Guard
        State machine of the guard.
    states : StateSubscriber
        Joint states.
    torque : GuardTorque
        Torques with the loads of the arm.
    robot, controller : str
        Names of the robot and of the controller node.

    """

    def __init__(self, node: Node, guard: Guard, states: StateSubscriber, torque: GuardTorque,
                 robot: str, controller: str):
        self._controller, self._guard = controller, guard
        self._states, self._torque = states, torque
        self._diagnostics = Diagnostics(node, 'guard', robot)
        self._timer = node.create_timer(_REPORT, self._report)

    def _report(self) -> None:
        guard, states = self._guard, self._states.age()
        level = _LEVELS.get(guard.state, DiagnosticStatus.ERROR)
        if level == DiagnosticStatus.OK and (not states.fresh or guard.refusal):
            level = DiagnosticStatus.WARN
        loads = self._torque.loads
        self._diagnostics.publish(
            level, f'{guard.state.value}: {guard.reason}' + (
                ', passive stop: it has swung the arm' if self._torque.swings else ''), {
                'controller': self._controller,
                'heartbeat age (ms)': f'{1e3 * guard.silence:.0f}',
                'state age (ms)': f'{1e3 * states.age:.0f}',
                'joint states': states.reason or 'fresh',
                'agreement with the controller': guard.refusal or 'yes',
                'takeovers': str(guard.takeovers),
                'payload': ', '.join(f'{load.mass:g} kg on {load.link}'
                                     for load in loads.payloads.values()) or 'none',
                'gravity (m/s^2)': ', '.join(f'{x:g}' for x in loads.gravity)})
