"""Gains as the steps of a cycle read them: those of `control.gains.Gains`, as a block."""

from __future__ import annotations

from robodyn_ros.control.blocks import block, joints, numbers, scalar


@block
class Program:
    kp: list = joints('1/s^2', 'Position gain of computed torque.')
    kd: list = joints('1/s', 'Velocity gain of computed torque.')
    ki: list = joints('1/s^3', 'Integral gain of the laws that integrate.')
    pd_kp: list = joints('N m/rad', 'Position gain of feedforward_pd.')
    pd_kd: list = joints('N m s/rad', 'Velocity gain of feedforward_pd.')
    inertia: list = joints('kg m^2', 'Usual inertia of each joint alone, rotor included.')
    stiffness: list = joints('N m/rad', 'Stiffness of the joint impedances that was asked for.')
    joint_damping: list = joints('N m s/rad', 'Damping of the joint impedances.')
    impedance_ratio: list = joints('', 'Damping ratio of the joint impedances, on top.')
    apparent_inertia: list = joints('kg m^2', 'Inertia that shaped_impedance lets a joint show.')
    damping: list = joints('N m s/rad', 'Damping of a floating arm.')
    float_friction: list = joints('', 'Part of the friction taken from the hand.')
    viscous: list = joints('N m s/rad', 'Viscous friction.')
    coulomb: list = joints('N m', 'Coulomb friction.')
    stiction: list = joints('N m', 'Static friction.')
    stribeck_velocity: list = joints('rad/s', 'Velocity at which stiction has half gone.')
    armature: list = joints('kg m^2', 'Inertia of the rotors, seen at the joints.')
    gravity_scale: list = joints('', 'Part of the gravity that the laws command.')
    weight_scale: list = joints('', 'Part of the gravity that safe states command.')
    observer_bandwidth: list = joints('rad/s', 'Bandwidth of the momentum observer.')
    disturbance_observer: list = joints('', 'Part of the disturbance that is compensated.')
    sliding: list = joints('1/s', 'Decay of the error of the adaptive law while s is 0.')
    sliding_damping: list = joints('N m s/rad', 'Gain of the adaptive law on s.')


def _six(unit, meaning):
    return numbers('task', unit, meaning)


@block
class Task:
    stiffness: list = _six('N/m, N m/rad', 'Stiffness of cartesian_impedance.')
    damping: list = _six('N s/m, N m s/rad', 'Damping of cartesian_impedance.')
    damping_ratio: list = _six('', 'Damping ratio of cartesian_impedance, on top.')
    kp: list = _six('1/s^2', 'Position gain of operational_space.')
    kd: list = _six('1/s', 'Velocity gain of operational_space.')
    selected: list = _six('', 'Flag: cartesian_impedance decides about this direction.')
    controlled: list = _six('', 'Flag: operational_space decides about this direction.')
    axes: float = scalar('', 'Flag: directions are those of the reference pose, not of the base.')
    posture_kp: list = joints('1/s^2', 'Position gain in the null space of operational_space.')
    posture_kd: list = joints('1/s', 'Velocity gain in the null space of operational_space.')
    posture_stiffness: list = joints('N m/rad', 'Stiffness in the null space of '
                                     'cartesian_impedance.')
    posture_damping: list = joints('N m s/rad', 'Damping in the null space of '
                                   'cartesian_impedance.')
    reach: list = _six('', 'Scale of the rows of the Jacobian: singular values are usually 1.')
    mobility: list = _six('1/kg, 1/(kg m^2)', 'Usual diagonal of J M^-1 J^T.')
    singularity: float = scalar('', 'Singular value below which a direction is damped.')
