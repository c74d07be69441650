"""Gains of `control.gains.Gains` as a block of the program."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.blocks import block, joints, numbers, scalar


@block
class Program:
    kp: list = joints('1/s^2', 'Position gain of computed torque.')
    kd: list = joints('1/s', 'Velocity gain of computed torque.')
    ki: list = joints('1/s^3', 'Integral gain of the laws that integrate.')
    pd_kp: list = joints('N m/rad', 'Position gain of feedforward_pd.')
    pd_kd: list = joints('N m s/rad', 'Velocity gain of feedforward_pd.')
    inertia: list = joints('kg m^2', 'Typical inertia of each joint alone, rotor included.')
    stiffness: list = joints('N m/rad', 'Requested stiffness of the joint impedances.')
    joint_damping: list = joints('N m s/rad', 'Damping of the joint impedances.')
    impedance_ratio: list = joints('', 'Damping ratio of the joint impedances, in '
                                   'addition.')
    apparent_inertia: list = joints('kg m^2', 'Apparent inertia under shaped_impedance.')
    feedback_inertia: list = joints('kg m^2', 'Inertia added to that of the model in the feedback '
                                    'of computed torque.')
    damping: list = joints('N m s/rad', 'Damping of gravity compensation.')
    lightest_inertia: list = joints('kg m^2', 'Least inertia of a joint in any pose.')
    float_friction: list = joints('', 'Part of the friction compensated during hand guiding.')
    viscous: list = joints('N m s/rad', 'Viscous friction.')
    coulomb: list = joints('N m', 'Coulomb friction.')
    stiction: list = joints('N m', 'Static friction.')
    stribeck_velocity: list = joints('rad/s', 'Velocity at which friction is halfway between '
                                     'stiction and Coulomb friction.')
    friction_width: list = joints('rad/s', 'Velocity below which dry friction falls to zero.')
    armature: list = joints('kg m^2', 'Rotor inertia, reflected to the joints.')
    gravity_scale: list = joints('', 'Part of gravity that the laws compensate.')
    safe_gravity_scale: list = joints('', 'Part of gravity compensated in safe states.')
    observer_bandwidth: list = joints('rad/s', 'Bandwidth of the momentum observer.')
    disturbance_observer: list = joints('', 'Flag: disturbances are compensated.')
    sliding: list = joints('1/s', 'Decay rate of the error of the adaptive law while s is 0.')
    sliding_damping: list = joints('N m s/rad', 'Gain K_D of the adaptive law on s.')


def _six(unit, meaning):
    return numbers('task', unit, meaning)


@block
class Task:
    stiffness: list = _six('N/m, N m/rad', 'Stiffness of cartesian_impedance.')
    damping: list = _six('N s/m, N m s/rad', 'Damping of cartesian_impedance.')
    damping_ratio: list = _six('', 'Damping ratio of cartesian_impedance, in addition.')
    kp: list = _six('1/s^2', 'Position gain of operational_space.')
    kd: list = _six('1/s', 'Velocity gain of operational_space.')
    selected: list = _six('', 'Flag: cartesian_impedance controls this direction.')
    controlled: list = _six('', 'Flag: operational_space controls this direction.')
    axes: float = scalar('', 'Flag: directions are axes of the reference pose, not of the base.')
    posture_kp: list = joints('1/s^2', 'Position gain in the null space of operational_space.')
    posture_kd: list = joints('1/s', 'Velocity gain in the null space of operational_space.')
    posture_stiffness: list = joints('N m/rad', 'Stiffness in the null space of '
                                     'cartesian_impedance.')
    posture_damping: list = joints('N m s/rad', 'Damping in the null space of '
                                   'cartesian_impedance.')
    reach: list = _six('', 'Scale of the rows of the Jacobian: singular values are typically 1.')
    mobility: list = _six('1/kg, 1/(kg m^2)', 'Typical diagonal of J M^-1 J^T.')
    singularity: float = scalar('', 'Singular value below which a direction is damped.')
