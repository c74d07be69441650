"""Gains of the control laws, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from robodyn_ros.exceptions import ParameterError

LEAST_INERTIA = 1e-6   # kg m^2 or kg: of a joint that moves no mass


@dataclass(frozen=True)
class Gains:
    """
    Gains per joint; read-only float64 arrays of length nv.

    Attributes
    ----------
    kp, kd, ki : (nv,)
        Of computed torque, in 1/s^2, 1/s and 1/s^3: they act on accelerations.
    pd_kp, pd_kd : (nv,)
        Of feedforward_pd, in N m/rad and N m s/rad (N/m and N s/m).
    inertia : (nv,)
        Of each joint alone as it is usual, rotor included, in kg m^2 (kg).
    stiffness, joint_damping : (nv,)
        Of the joint impedances, in N m/rad and N m s/rad (N/m and N s/m).
    impedance_ratio : (nv,)
        Damping ratio of the joint impedances, on top of `joint_damping`.
    apparent_inertia : (nv,)
        That a joint shows under inertia shaping, in kg m^2 (kg).
    damping : (nv,)
        Of gravity compensation and safe states, in N m s/rad (N s/m).
    float_friction : (nv,)
        Part of the friction that is taken from the hand that moves a floating arm.
    viscous, coulomb, stiction : (nv,)
        Friction that is compensated along the reference, in N m s/rad and N m (N s/m and N).
    stribeck_velocity : (nv,)
        At which friction is halfway from stiction to Coulomb friction, in rad/s (m/s).
    armature : (nv,)
        Inertia of the rotors, seen at the joints, in kg m^2 (kg).
    gravity_scale : (nv,)
        Part of the modelled gravity that the laws command.
    safe_gravity_scale : (nv,)
        The same in safe states: all of it, or 0 where the driver adds gravity.
    observer_bandwidth : (nv,)
        Of the momentum observer, in rad/s.
    sliding : (nv,)
        Of the adaptive law, in 1/s: how fast the error dies out while s is 0.
    sliding_damping : (nv,)
        Of the adaptive law, in N m s/rad (N s/m): what pulls s to 0.
    disturbance_observer : (nv,)
        Part of what it sees that the laws which integrate take back: 1 or 0.

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
    damping: np.ndarray
    float_friction: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    stiction: np.ndarray
    stribeck_velocity: np.ndarray
    armature: np.ndarray
    gravity_scale: np.ndarray
    safe_gravity_scale: np.ndarray
    observer_bandwidth: np.ndarray
    disturbance_observer: np.ndarray
    sliding: np.ndarray
    sliding_damping: np.ndarray

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
