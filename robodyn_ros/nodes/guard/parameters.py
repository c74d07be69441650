"""Parameters of the guard: one table, from which all else is made."""

from __future__ import annotations

from robodyn_ros.nodes.description import ROBOT_PARAMETERS
from robodyn_ros.nodes.parameters import Parameter
from robodyn_ros.nodes.realtime import REALTIME_PARAMETERS
from robodyn_ros.nodes.torque_parameters import (
    COMMAND_PARAMETERS, LIMIT_PARAMETERS, STATE_PARAMETERS)

PARAMETERS = (
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    Parameter('controller', 'string', 'computed_torque_controller', 'Node that is watched.',
              read_only=True),
    Parameter('timeout', 'double', 0.2, 'Silence of its heartbeat after which the guard takes '
              'over. A pause of the machine does not count, but one of the controller alone does.',
              's', minimum=0.06, maximum=10.0, read_only=True),
    Parameter('patience', 'double', 10.0, 'After ~/reset, for a controller to take over; then the '
              'guard keeps the arm.', 's', minimum=0.5, maximum=600.0, read_only=True),
    Parameter('damping', 'double', 10.0, 'Part of its speed that the arm loses per second while '
              'the guard commands.', '1/s', minimum=1.0, maximum=50.0),
    Parameter('hold_rate', 'double', 60.0, 'At which the arm is led back to where that leaves it; '
              'stiffness is damping times this, per inertia. 0: it is not held, and sinks if the '
              'model errs.', '1/s', minimum=0.0, maximum=100.0),
    Parameter('hold_effort', 'double', 0.2, 'Part of the effort that may be used for that. '
              'Whoever is stronger moves the arm, and it stays there.', minimum=0.01, maximum=1.0),
    *COMMAND_PARAMETERS,
    *LIMIT_PARAMETERS,
    Parameter('stale.hold', 'double', 0.05, 'Silence of the joint states after which the weight '
              'at the last position is commanded.', 's', minimum=0.002, maximum=1.0,
              read_only=True),
    *STATE_PARAMETERS,
    Parameter('fallback_controllers', 'string_array', (), 'Controllers of ros2_control that are '
              'activated when the guard takes over.', read_only=True),
    Parameter('replaced_controllers', 'string_array', (), 'Those that are deactivated then, '
              'because they command the same joints.', read_only=True),
    Parameter('controller_manager', 'string', 'controller_manager', 'Node that is asked to.',
              read_only=True),
)
