"""Gains of the control laws, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from robodyn_ros.exceptions import ParameterError


@dataclass(frozen=True)
class Gains:
    """
    Gains per joint; read-only float64 arrays of length nv.

    Attributes
    ----------
    kp, kd, ki : (nv,)
        Gains of computed torque on accelerations, in 1/s^2, 1/s and 1/s^3.
    pd_kp, pd_kd : (nv,)
        Gains of feedforward_pd, in N m/rad and N m s/rad (N/m and N s/m).
    inertia : (nv,)
        Typical inertia of each joint alone, rotor included, in kg m^2 (kg).
    stiffness, joint_damping : (nv,)
        Stiffness and damping of the joint impedances, in N m/rad and N m s/rad (N/m and N s/m).
    impedance_ratio : (nv,)
        Damping ratio of the joint impedances, on top of `joint_damping`.
    apparent_inertia : (nv,)
        Inertia of a joint under inertia shaping, in kg m^2 (kg).
    feedback_inertia : (nv,)
        Inertia added to that of the model in the feedback of computed torque, in kg m^2 (kg).
    damping : (nv,)
        Damping of gravity compensation and safe states, in N m s/rad (N s/m).
    lightest_inertia : (nv,)
        Least inertia of each joint in any pose, or its rotor alone, in kg m^2 (kg).
    float_friction : (nv,)
        Part of the friction that is compensated while the arm floats.
    viscous, coulomb, stiction : (nv,)
        Friction that is compensated along the reference, in N m s/rad and N m (N s/m and N).
    stribeck_velocity : (nv,)
        Velocity at which friction is halfway from stiction to Coulomb friction, in rad/s (m/s).
    friction_width : (nv,)
        Velocity below which dry friction falls to zero, in rad/s (m/s).
    armature : (nv,)
        Inertia of the rotors, seen at the joints, in kg m^2 (kg).
    gravity_scale : (nv,)
        Part of the gravity torque that the laws command.
    safe_gravity_scale : (nv,)
        Part commanded in safe states: all of it, or 0 if the driver compensates gravity.
    observer_bandwidth : (nv,)
        Bandwidth of the momentum observer, in rad/s.
    sliding : (nv,)
        Decay rate of the error in the adaptive law while s is 0, in 1/s.
    sliding_damping : (nv,)
        Damping of s in the adaptive law, in N m s/rad (N s/m).
    disturbance_observer : (nv,)
        Flags of joints whose disturbances are compensated by laws with an integral term.
    bandwidth_factor : (nv,)
        Part of the natural frequency that the measured loop of the joint bears; 1: all of it.

    """

    kp: np.ndarray
    kd: np.ndarray
    ki: np.ndarray
    pd_kp: np.ndarray
    pd_kd: np.ndarray
    inertia: np.ndarray
    stiffness: np.ndarray
    joint_damping: np.ndarray
    impedance_ratio: np.ndarray
    apparent_inertia: np.ndarray
    feedback_inertia: np.ndarray
    damping: np.ndarray
    lightest_inertia: np.ndarray
    float_friction: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    stiction: np.ndarray
    stribeck_velocity: np.ndarray
    friction_width: np.ndarray
    armature: np.ndarray
    gravity_scale: np.ndarray
    safe_gravity_scale: np.ndarray
    observer_bandwidth: np.ndarray
    disturbance_observer: np.ndarray
    sliding: np.ndarray
    sliding_damping: np.ndarray
    bandwidth_factor: np.ndarray

    def __post_init__(self):
        for field in fields(self):
            values = np.array(getattr(self, field.name), dtype=np.float64, ndmin=1)
            if not np.all(np.isfinite(values)) or np.any(values < 0.0):
                raise ParameterError(f'{field.name} must be finite and not negative, got '
                                     f'{values.tolist()}', parameter=field.name)
            values.flags.writeable = False
            object.__setattr__(self, field.name, values)
            if values.ndim != 1 or values.size != self.kp.size:
                raise ParameterError(f'{field.name} has shape {values.shape}, kp '
                                     f'{self.kp.shape}; each has one number per joint',
                                     parameter=field.name)

    def arrays(self, names: Iterable[str]) -> tuple[np.ndarray, ...]:
        """Return gains by name."""
        return tuple(getattr(self, name) for name in names)

    def spring_damping(self, stiffness: np.ndarray, inertia: np.ndarray) -> np.ndarray:
        """Return D of joint impedances with a stiffness and an inertia, (nv,) each."""
        return self.joint_damping + 2.0 * self.impedance_ratio * np.sqrt(stiffness * inertia)
