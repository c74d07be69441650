"""Parameters of the Cartesian laws, and of motions to a pose."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control.pose.pose_motion import ReachSettings
from robodyn_ros.control.pose.task_gains import AXES, make_task_gains, TaskGains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.nodes.parameter import Parameter
from robodyn_ros.nodes.torque_parameters import FASTEST, MOST_DAMPED, STIFFEST

CARTESIAN_PARAMETERS = (
    Parameter('cartesian.link', 'string', '', 'That cartesian_impedance and operational_space '
              'hold, and ~/target_pose moves; empty: the tip.', read_only=True),
    Parameter('cartesian.natural_frequency', 'double_array', (15.0,), 'Of the error of the link, '
              'one or six: along x, y, z, then about them. 0 leaves a direction free.', 'rad/s',
              minimum=0.0, maximum=FASTEST),
    Parameter('cartesian.damping_ratio', 'double_array', (1.0,), 'Of both laws, in any pose; one '
              'or six.', minimum=0.0, maximum=10.0),
    Parameter('cartesian.stiffness', 'double_array', (), 'Of cartesian_impedance, one or six; '
              'empty: by cartesian.natural_frequency. 0 leaves a direction free.',
              'N/m and N m/rad', minimum=0.0, maximum=STIFFEST),
    Parameter('cartesian.damping', 'double_array', (), 'Of cartesian_impedance in place of the '
              'damping ratio, one or six.', 'N s/m and N m s/rad', minimum=0.0,
              maximum=MOST_DAMPED),
    Parameter('cartesian.axes', 'string', 'base', 'Along which directions count: those of the '
              'base, or of the target.', choices=AXES),
    Parameter('cartesian.posture_frequency', 'double_array', (5.0,), 'With which the '
              'posture follows its reference, as far as the link does not feel it.', 'rad/s',
              minimum=0.0, maximum=FASTEST, per_joint=True),
    Parameter('cartesian.posture_damping_ratio', 'double_array', (1.0,), 'Of the posture.',
              minimum=0.0, maximum=10.0, per_joint=True),
    Parameter('cartesian.singularity', 'double', 0.05, 'Part of its usual mobility below which a '
              'direction is damped.', minimum=1e-3, maximum=0.5),
    Parameter('cartesian.velocity_limit', 'double_array', (0.25, 1.0), 'Of motions to a pose.',
              'm/s, rad/s', minimum=1e-3, maximum=20.0),
    Parameter('cartesian.acceleration_limit', 'double_array', (1.0, 4.0), 'Of motions to a pose.',
              'm/s^2, rad/s^2', minimum=1e-2, maximum=500.0),
    Parameter('cartesian.leash', 'double_array', (0.1, 0.5), 'Distance of the link from its '
              'reference at which a motion to a pose waits.', 'm, rad', minimum=1e-3,
              maximum=10.0),
)
# what changes the gains: design values by the name of their parameter
_DESIGN = {
    'cartesian.link': 'link', 'cartesian.natural_frequency': 'natural_frequency',
    'cartesian.damping_ratio': 'damping_ratio', 'cartesian.stiffness': 'stiffness',
    'cartesian.damping': 'damping', 'cartesian.axes': 'axes', 'armature': 'armature',
    'cartesian.posture_frequency': 'posture_frequency',
    'cartesian.posture_damping_ratio': 'posture_ratio', 'cartesian.singularity': 'singularity'}
TASK_NAMES = frozenset(_DESIGN)


def task_gains_from(values: SimpleNamespace, dynamics: Dynamics) -> TaskGains:
    """
    Return the Cartesian gains that the parameters ask for.

    Raises
    ------
    RobodynError
        A wrong length, or a link that is not there or does not move.

    """
    return make_task_gains(dynamics, **{
        design: getattr(values, name.replace('.', '_')) for name, design in _DESIGN.items()})


def reach_from(values: SimpleNamespace) -> ReachSettings:
    """Return how links are brought to poses; raises `ParameterError` for a wrong length."""
    return ReachSettings(values.cartesian_velocity_limit, values.cartesian_acceleration_limit,
                         values.cartesian_leash)
