"""Settings of the control laws: gains, friction, and their choice by configuration."""

from __future__ import annotations

from robodyn_ros.control.friction import SMOOTHING
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.safety.limits import MAX_TORQUE
from robodyn_ros.settings import Numbers, parameter, settings

# beyond any arm: a mistake of units, or an attack
MAX_FREQUENCY = 500.0    # rad/s
MAX_STIFFNESS = 1e6      # N/m, N m/rad
MAX_DAMPING = 1e5        # N s/m, N m s/rad
MAX_INERTIA = 1e4        # kg, kg m^2

AXES = ('base', 'target')


@settings('impedance')
class ImpedanceSettings:
    """Joint impedances."""

    stiffness: Numbers = parameter(
        (), 'Stiffness of the joints; empty: by impedance.natural_frequency.', 'N m/rad or N/m',
        0.0, MAX_STIFFNESS, per_joint=True)
    natural_frequency: Numbers = parameter(
        (10.0,), 'Natural frequency of a joint with its own inertia on its spring.', 'rad/s',
        0.0, MAX_FREQUENCY, per_joint=True)
    damping_ratio: Numbers = parameter(
        (1.0,), 'Damping ratio of the joints, in any pose.', '', 0.0, 10.0, per_joint=True)
    damping: Numbers = parameter(
        (), 'Damping of the joints in place of the damping ratio.', 'N m s/rad or N s/m', 0.0,
        MAX_DAMPING, per_joint=True)
    inertia: Numbers = parameter(
        (), 'Inertia that joints show in shaped_impedance; empty: their usual own.',
        'kg m^2 or kg', 1e-6, MAX_INERTIA, per_joint=True)
    energy_tank: float = parameter(
        1.0, 'Energy that an increase of stiffness may feed into the arm; the increase waits for '
        'what is missing.', 'J', 0.0, 100.0, read_only=True, in_ros=False)


@settings('cartesian')
class CartesianSettings:
    """Laws and motions of a link."""

    link: str = parameter(
        '', 'Link that cartesian_impedance and operational_space control, and ~/target_pose '
        'moves; empty: the tip.', read_only=True)
    natural_frequency: Numbers = parameter(
        (15.0,), 'Natural frequency of the error of the link, one or six: along x, y, z, then '
        'about them. In operational_space exact, in cartesian_impedance for the usual mass of the '
        'link. 0: the direction is free.', 'rad/s', 0.0, MAX_FREQUENCY)
    damping_ratio: Numbers = parameter(
        (1.0,), 'Damping ratio of both laws, in any pose; one or six.', '', 0.0, 10.0)
    stiffness: Numbers = parameter(
        (), 'Stiffness of cartesian_impedance, one or six; empty: by cartesian.natural_frequency. '
        '0: the direction is free.', 'N/m and N m/rad', 0.0, MAX_STIFFNESS)
    damping: Numbers = parameter(
        (), 'Damping of cartesian_impedance in place of the damping ratio, one or six.',
        'N s/m and N m s/rad', 0.0, MAX_DAMPING)
    axes: str = parameter(
        'base', 'Frame of the directions: that of the base, or of the target.', choices=AXES)
    posture_frequency: Numbers = parameter(
        (5.0,), 'Natural frequency of the posture in the null space of the link.', 'rad/s', 0.0,
        MAX_FREQUENCY, per_joint=True)
    posture_damping_ratio: Numbers = parameter(
        (1.0,), 'Damping ratio of the posture.', '', 0.0, 10.0, per_joint=True, in_ros=False)
    singularity: float = parameter(
        0.05, 'Part of its usual mobility below which a direction is damped.', '', 1e-3, 0.5,
        in_ros=False)
    velocity_limit: Numbers = parameter(
        (0.25, 1.0), 'Velocity limits of motions to a pose, linear and angular.', 'm/s, rad/s',
        1e-3, 20.0)
    acceleration_limit: Numbers = parameter(
        (1.0, 4.0), 'Acceleration limits of motions to a pose, linear and angular.',
        'm/s^2, rad/s^2', 1e-2, 500.0)
    leash: Numbers = parameter(
        (0.1, 0.5), 'Distance of the link from its reference at which a motion to a pose waits, '
        'linear and angular.', 'm, rad', 1e-3, 10.0, in_ros=False)

    def check(self) -> None:
        """Raise `ParameterError` unless limits are pairs."""
        for name in ('velocity_limit', 'acceleration_limit', 'leash'):
            if len(getattr(self, name)) != 2:
                raise ParameterError(f'cartesian.{name} is {list(getattr(self, name))}; give two '
                                     'numbers, linear then angular', parameter=f'cartesian.{name}')


@settings('adaptive')
class AdaptiveSettings:
    """Adaptive law."""

    link: str = parameter(
        '', 'Link that holds the payload which the mode adaptive estimates; empty: the tip.',
        read_only=True)
    rate: float = parameter(
        5.0, 'Rate of the adaptation: change of the estimate per power without a cause. 0: no '
        'adaptation.', 'kg s/(N m rad)', 0.0, 1000.0)
    sliding: Numbers = parameter(
        (), 'Rate at which the error of the mode adaptive dies out while s is 0; below kd, empty: '
        'a quarter of it.', '1/s', 0.0, 500.0, per_joint=True, in_ros=False)
    largest_mass: float = parameter(
        8.0, 'Largest mass that can be estimated, of a payload at the origin of the link; one at '
        'the distance r counts as 1 + (r / adaptive.size)^2 times its mass.', 'kg', 0.001, 1000.0,
        in_ros=False)
    size: float = parameter(
        0.15, 'Extent of the payload from the origin of its link; the smaller, the more is '
        'attributed to its mass.', 'm', 0.001, 10.0, in_ros=False)
    dead_zone: float = parameter(
        0.01, 'Error of velocity, that of position times adaptive.sliding included, below which '
        'there is no adaptation, because it is noise and friction.', 'rad/s or m/s', 0.0, 10.0,
        in_ros=False)


@settings('friction')
class FrictionSettings:
    """Friction of the joints."""

    viscous: Numbers = parameter(
        (), 'Viscous friction in place of that in the URDF.', 'N m s/rad or N s/m', 0.0,
        MAX_DAMPING, per_joint=True)
    coulomb: Numbers = parameter(
        (), 'Coulomb friction in place of that in the URDF.', 'N m or N', 0.0, MAX_TORQUE,
        per_joint=True)
    stiction: Numbers = parameter(
        (), 'Friction at rest; empty: Coulomb friction.', 'N m or N', 0.0, MAX_TORQUE,
        per_joint=True)
    stribeck_velocity: Numbers = parameter(
        (0.01,), 'Velocity at which friction is halfway from rest to Coulomb friction.',
        'rad/s or m/s', 1e-6, per_joint=True)
    width: Numbers = parameter(
        (SMOOTHING,), 'Velocity below which dry friction falls to zero: w in v / sqrt(v^2 + w^2).',
        'rad/s or m/s', 1e-4, 10.0, per_joint=True)
