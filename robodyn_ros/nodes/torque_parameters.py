"""Parameters of whoever commands torques, the controller or its guard."""

from __future__ import annotations

import math

from robodyn_ros.nodes.parameters import Parameter

# what no arm needs more of: a mistake of units, or somebody who means harm
FASTEST = 500.0      # rad/s, natural frequency
STIFFEST = 1e6       # N/m, N m/rad
MOST_DAMPED = 1e5    # N s/m, N m s/rad
HEAVIEST = 1e4       # kg, kg m^2
STRONGEST = 1e5      # N, N m
QUICKEST = 1e7       # N/s, N m/s

COMMAND_PARAMETERS = (
    Parameter('effort_command_topic', 'string', 'effort_controller/commands', 'Where torques '
              'are published, as forward_command_controller takes them.', read_only=True),
    Parameter('command_joints', 'string_array', (), 'Order of the joints in the command; empty: '
              'the order of the model.', read_only=True),
    Parameter('publish_joint_commands', 'bool', False, 'Also publish named efforts on '
              'joint_commands.', read_only=True),
)
# by which a joint state counts
STATE_PARAMETERS = (
    Parameter('stale.jump', 'double', 0.06, 'By how much a position may jump, as time at the '
              'velocity limit of the joint: 0.06 are 0.09 rad at 1.5 rad/s. A state that jumps '
              'further than from there at twice that speed does not count. .inf: all count.',
              's', minimum=0.001, maximum=math.inf, read_only=True),
    Parameter('stale.max_skew', 'double', 1.0, 'Largest difference between stamp and clock; '
              '.inf where the clocks are known to differ.', 's', minimum=0.001,
              maximum=math.inf, read_only=True),
)
LIMIT_PARAMETERS = (
    Parameter('driver_compensates_gravity', 'bool', False, 'Whether the driver adds gravity '
              'itself (Franka, KUKA FRI, UR): then none is commanded.', read_only=True),
    Parameter('effort_limit', 'double_array', (), 'Effort limits below those in the URDF, or '
              'where it has none. Live only lowered, and raised again up to what was configured.',
              'N m or N', minimum=0.0, maximum=STRONGEST, per_joint=True),
    Parameter('effort_margin', 'double', 1.0, 'Part of the effort limits that may be used. Live '
              'only lowered, and raised again up to what was configured.',
              minimum=0.01, maximum=1.0),
    Parameter('torque_rate_limit', 'double_array', (), 'Largest change of torque; empty: a '
              'hundred effort limits per second. Much less makes large errors oscillate. Live '
              'only lowered, and raised again up to what was configured.',
              'N m/s', minimum=1e-3, maximum=QUICKEST, per_joint=True),
)
