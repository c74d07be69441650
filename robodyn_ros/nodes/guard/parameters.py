"""Parameters of the guard."""

from __future__ import annotations

import math

from robodyn_ros.nodes.command_message import CommandSettings, DriveSettings
from robodyn_ros.nodes.description import RobotSettings
from robodyn_ros.nodes.realtime import RealtimeSettings
from robodyn_ros.safety.limits import TorqueLimits
from robodyn_ros.settings import group, parameter, parameters, settings, Texts


@settings('stale')
class GuardStaleSettings:
    """Joint states that are used, and their absence."""

    hold: float = parameter(
        0.05, 'Silence of the joint states after which the gravity torque at the last position is '
        'commanded.', 's', 0.002, 1.0, read_only=True)
    jump: float = parameter(
        0.06, 'Jump of a position that is accepted, as time at the velocity limit of the joint. '
        '.inf: any.', 's', 0.001, math.inf, read_only=True, in_ros=False)
    max_skew: float = parameter(
        1.0, 'Largest difference between stamp and clock; .inf where the clocks are known to '
        'differ.', 's', 0.001, math.inf, read_only=True)


@settings()
class GuardSettings:
    """Parameters of the guard."""

    robot: RobotSettings = group(RobotSettings, '')
    realtime: RealtimeSettings = group(RealtimeSettings)
    controller: str = parameter(
        'computed_torque_controller', 'Node that is supervised.', read_only=True)
    timeout: float = parameter(
        0.2, 'Silence of its heartbeat after which the guard takes over. A pause of the machine '
        'does not count, but one of the controller alone does.', 's', 0.06, 10.0, read_only=True)
    patience: float = parameter(
        10.0, 'Time after ~/reset for a controller to take over; then the guard keeps the arm.',
        's', 0.5, 600.0, read_only=True)
    damping: float = parameter(
        10.0, 'Part of its speed that the arm loses per second while the guard commands.', '1/s',
        1.0, 50.0)
    hold_rate: float = parameter(
        60.0, 'Rate at which the arm returns to where it came to rest; stiffness is damping times '
        'this, per inertia. 0: it is not held, and sinks if the model errs.', '1/s', 0.0, 100.0)
    hold_effort: float = parameter(
        0.2, 'Part of the effort that may be used for that. A stronger push moves the arm, and it '
        'stays there.', '', 0.01, 1.0)
    command: CommandSettings = group(CommandSettings, '')
    drives: DriveSettings = group(DriveSettings, '')
    limits: TorqueLimits = group(TorqueLimits, '')
    stale: GuardStaleSettings = group(GuardStaleSettings)
    fallback_controllers: Texts = parameter(
        (), 'Controllers of ros2_control that are activated when the guard takes over.',
        kind='string_array', read_only=True)
    replaced_controllers: Texts = parameter(
        (), 'Controllers that are deactivated then, because they command the same joints.',
        kind='string_array', read_only=True)
    controller_manager: str = parameter(
        'controller_manager', 'Node that switches them.', read_only=True)


PARAMETERS = tuple(parameters(GuardSettings))
