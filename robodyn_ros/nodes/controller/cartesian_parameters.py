"""Parameters of the Cartesian laws and of motions to a pose."""

from __future__ import annotations

from types import SimpleNamespace

from robodyn_ros.control.pose.pose_motion import ReachSettings
from robodyn_ros.control.pose.task_gains import AXES, make_task_gains, TaskGains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.nodes.parameter import Parameter
from robodyn_ros.nodes.torque_parameters import FASTEST, MOST_DAMPED, STIFFEST

CARTESIAN_PARAMETERS = (
    Parameter('cartesian.link', 'string', '', 'Link that cartesian_impedance and '
              'operational_space control and ~/target_pose moves; empty: the tip.',
              read_only=True),
    Parameter('cartesian.natural_frequency', 'double_array', (15.0,), 'Natural frequency of the '
              'pose error of the link, one or six: along x, y, z, then about them. 0 leaves a '
              'direction free.', 'rad/s', minimum=0.0, maximum=FASTEST),
    Parameter('cartesian.damping_ratio', 'double_array', (1.0,), 'Damping ratio of both laws, in '
              'any pose; one or six.', minimum=0.0, maximum=10.0),
    Parameter('cartesian.stiffness', 'double_array', (), 'Stiffness of cartesian_impedance, one '
              'or six; empty: by cartesian.natural_frequency. 0 leaves a direction free.',
              'N/m and N m/rad', minimum=0.0, maximum=STIFFEST),
    Parameter('cartesian.damping', 'double_array', (), 'Damping of cartesian_impedance in place '
              'of the damping ratio, one or six.', 'N s/m and N m s/rad', minimum=0.0,
              maximum=MOST_DAMPED),
    Parameter('cartesian.axes', 'string', 'base', 'Axes of the six directions: those of the '
              'base, or of the target.', choices=AXES),
    Parameter('cartesian.posture_frequency', 'double_array', (5.0,), 'Natural frequency of the '
              'posture error, in the null space of the link.', 'rad/s', minimum=0.0,
              maximum=FASTEST, per_joint=True),
    Parameter('cartesian.posture_damping_ratio', 'double_array', (1.0,), 'Damping ratio of the '
              'posture error.', minimum=0.0, maximum=10.0, per_joint=True),
    Parameter('cartesian.singularity', 'double', 0.05, 'Fraction of its usual mobility below '
              'which a direction is damped.', minimum=1e-3, maximum=0.5),
    Parameter('cartesian.velocity_limit', 'double_array', (0.25, 1.0), 'Velocity limits of '
              'motions to a pose.', 'm/s, rad/s', minimum=1e-3, maximum=20.0),
    Parameter('cartesian.acceleration_limit', 'double_array', (1.0, 4.0), 'Acceleration limits of '
              'motions to a pose.', 'm/s^2, rad/s^2', minimum=1e-2, maximum=500.0),
    Parameter('cartesian.leash', 'double_array', (0.1, 0.5), 'Distance of the link from its '
              'reference at which the reference of a motion to a pose waits.', 'm, rad',
              minimum=1e-3, maximum=10.0),
)
# arguments of `make_task_gains` by the name of their parameter
_DESIGN = {
    'cartesian.link': 'link', 'cartesian.natural_frequency': 'natural_frequency',
    'cartesian.damping_ratio': 'damping_ratio', 'cartesian.stiffness': 'stiffness',
    'cartesian.damping': 'damping', 'cartesian.axes': 'axes', 'armature': 'armature',
    'cartesian.posture_frequency': 'posture_frequency',
    'cartesian.posture_damping_ratio': 'posture_ratio', 'cartesian.singularity': 'singularity'}
TASK_NAMES = frozenset(_DESIGN)


def task_gains_from(values: SimpleNamespace, dynamics: Dynamics) -> TaskGains:
    """
    Return the Cartesian gains of the parameters.

    Raises
    ------
    RobodynError
        Wrong length of an array, or a link that is unknown or fixed.

    """
    return make_task_gains(dynamics, **{
        design: getattr(values, name.replace('.', '_')) for name, design in _DESIGN.items()})


def reach_from(values: SimpleNamespace) -> ReachSettings:
    """Return the settings of motions to a pose; raise `ParameterError` for a wrong length."""
    return ReachSettings(values.cartesian_velocity_limit, values.cartesian_acceleration_limit,
                         values.cartesian_leash)
