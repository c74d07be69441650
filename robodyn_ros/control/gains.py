"""
Gains of the control laws, blocks of the program.

In the cycle they are lists of scalars, everywhere else read-only float64 arrays: finite and not
negative, with one number per joint, or six of a link, linear first.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, scalar
from robodyn_ros.exceptions import ParameterError


@block
class Gains:
    """Gains of the joints."""

    kp: Any = joints('1/s^2', 'Position gain of computed torque.')
    kd: Any = joints('1/s', 'Velocity gain of computed torque.')
    ki: Any = joints('1/s^3', 'Integral gain of the laws that integrate.')
    pd_kp: Any = joints('N m/rad', 'Position gain of feedforward_pd.')
    pd_kd: Any = joints('N m s/rad', 'Velocity gain of feedforward_pd.')
    inertia: Any = joints('kg m^2', 'Typical inertia of each joint alone, rotor included.')
    stiffness: Any = joints('N m/rad', 'Requested stiffness of the joint impedances.')
    joint_damping: Any = joints('N m s/rad', 'Damping of the joint impedances.')
    impedance_ratio: Any = joints('', 'Damping ratio of the joint impedances, in addition.')
    apparent_inertia: Any = joints('kg m^2', 'Apparent inertia under shaped_impedance.')
    feedback_inertia: Any = joints('kg m^2', 'Inertia added to that of the model in the feedback '
                                   'of computed torque.')
    damping: Any = joints('N m s/rad', 'Damping of gravity compensation and safe states.')
    lightest_inertia: Any = joints(
        'kg m^2', 'Least inertia of a joint in any pose, or its rotor alone.')
    stop_root: Any = joints('', 'Root of the part of it that is no measured rotor.')
    float_friction: Any = joints('', 'Part of the friction compensated during hand guiding.')
    viscous: Any = joints('N m s/rad', 'Viscous friction.')
    coulomb: Any = joints('N m', 'Coulomb friction.')
    stiction: Any = joints('N m', 'Static friction.')
    stribeck_velocity: Any = joints('rad/s', 'Velocity at which friction is halfway between '
                                    'stiction and Coulomb friction.')
    friction_width: Any = joints('rad/s', 'Velocity below which dry friction falls to zero.')
    armature: Any = joints('kg m^2', 'Rotor inertia, reflected to the joints.')
    gravity_scale: Any = joints('', 'Part of gravity that the laws compensate.')
    safe_gravity_scale: Any = joints('', 'Part of gravity compensated in safe states: all of it, '
                                     'or 0 if the driver does.')
    observer_bandwidth: Any = joints('rad/s', 'Bandwidth of the momentum observer.')
    disturbance_observer: Any = joints('', 'Flag: disturbances are compensated.')
    sliding: Any = joints('1/s', 'Decay rate of the error of the adaptive law while s is 0.')
    sliding_damping: Any = joints('N m s/rad', 'Gain K_D of the adaptive law on s.')

    def __post_init__(self):
        _check(self, '', np.size(self.kp), f'kp {np.shape(self.kp)}; each has one number per '
               'joint')


_SIZES = {'task': 6}


def _six(unit, meaning):
    return numbers('task', unit, meaning)


@block
class TaskGains:
    """Gains of the Cartesian laws; a direction with 0 and 0 is free."""

    stiffness: Any = _six('N/m, N m/rad', 'Stiffness of cartesian_impedance.')
    damping: Any = _six('N s/m, N m s/rad', 'Damping of cartesian_impedance.')
    damping_ratio: Any = _six('', 'Damping ratio of cartesian_impedance, in addition.')
    kp: Any = _six('1/s^2', 'Position gain of operational_space.')
    kd: Any = _six('1/s', 'Velocity gain of operational_space.')
    selected: Any = _six('', 'Flag: cartesian_impedance controls this direction.')
    controlled: Any = _six('', 'Flag: operational_space controls this direction.')
    axes: Any = scalar('', 'Flag: directions are axes of the reference pose, not of the base.')
    posture_kp: Any = joints('1/s^2', 'Position gain in the null space of operational_space.')
    posture_kd: Any = joints('1/s', 'Velocity gain in the null space of operational_space.')
    posture_stiffness: Any = joints('N m/rad', 'Stiffness in the null space of '
                                    'cartesian_impedance.')
    posture_damping: Any = joints('N m s/rad', 'Damping in the null space of '
                                  'cartesian_impedance.')
    reach: Any = _six('', 'Scale of the rows of the Jacobian: singular values are typically 1.')
    mobility: Any = _six('1/kg, 1/(kg m^2)', 'Typical diagonal of J M^-1 J^T.')
    singularity: Any = scalar('', 'Singular value below which a direction is damped.')

    def __post_init__(self):
        _check(self, 'cartesian.', np.size(self.posture_kp), 'it needs {}')


# --- arrays --------------------------------------------------------------------------------------

def _check(gains: Any, prefix: str, joints_: int, needs: str) -> None:
    """Make arrays of gains read-only; raise an error if their values or sizes are wrong."""
    if not isinstance(gains.kp, np.ndarray):
        return
    for each in fields(gains):
        size = joints_ if each.metadata['dimension'] == 'joints' else _SIZES.get(
            each.metadata['dimension'], 1)
        values = np.array(getattr(gains, each.name), dtype=np.float64, ndmin=1)
        if not np.all(np.isfinite(values)) or np.any(values < 0.0):
            raise ParameterError(f'{prefix}{each.name} must be finite and not negative, got '
                                 f'{values.tolist()}', parameter=each.name)
        if values.shape != (size,):
            raise ParameterError(f'{prefix}{each.name} has shape {values.shape}, '
                                 f'{needs.format((size,))}', parameter=each.name)
        values.flags.writeable = False
        object.__setattr__(gains, each.name, values)
