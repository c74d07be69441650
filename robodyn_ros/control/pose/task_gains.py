"""Gains of the Cartesian laws."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from robodyn_ros.exceptions import ParameterError

# size of each gain; those of the posture have one number per joint
SIZES = {'axes': 1, 'singularity': 1,
         **dict.fromkeys(('stiffness', 'damping', 'damping_ratio', 'kp', 'kd', 'selected',
                          'controlled', 'reach', 'mobility'), 6)}


@dataclass(frozen=True)
class TaskGains:
    """
    Gains of the Cartesian laws; read-only float64 arrays, 6-vectors linear first.

    Attributes
    ----------
    link : str
        Controlled link.
    stiffness, damping : (6,)
        Stiffness and damping of cartesian_impedance, in N/m and N m/rad, N s/m and N m s/rad;
        stiffness 0 without damping leaves a direction free.
    damping_ratio : (6,)
        Damping ratio of cartesian_impedance, in addition to `damping`.
    kp, kd : (6,)
        Gains of operational_space, in 1/s^2 and 1/s; 0 and 0 leave a direction free.
    selected, controlled : (6,)
        1 for directions that cartesian_impedance, and operational_space, control; 0 for free ones.
    axes : (1,)
        Axes of the directions, 0: of the base, 1: of the reference pose.
    posture_kp, posture_kd : (nv,)
        Gains in the null space of operational_space, in 1/s^2 and 1/s.
    posture_stiffness, posture_damping : (nv,)
        Stiffness and damping in the null space of cartesian_impedance, in N m/rad and N m s/rad
        (N/m and N s/m).
    reach : (6,)
        Scale of the rows of the Jacobian, such that its singular values are typically 1.
    mobility : (6,)
        Typical diagonal of J M^-1 J^T, in 1/kg and 1/(kg m^2).
    singularity : (1,)
        Singular value of the scaled Jacobian below which a direction is damped.

    """

    link: str
    stiffness: np.ndarray
    damping: np.ndarray
    damping_ratio: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    selected: np.ndarray
    controlled: np.ndarray
    axes: np.ndarray
    posture_kp: np.ndarray
    posture_kd: np.ndarray
    posture_stiffness: np.ndarray
    posture_damping: np.ndarray
    reach: np.ndarray
    mobility: np.ndarray
    singularity: np.ndarray

    def __post_init__(self):
        joints = np.size(self.posture_kp)
        for name in (field.name for field in fields(self) if field.name != 'link'):
            values = np.array(getattr(self, name), dtype=np.float64, ndmin=1)
            values.flags.writeable = False
            object.__setattr__(self, name, values)
            if values.shape != (size := (SIZES.get(name, joints),)):
                raise ParameterError(f'cartesian.{name} has shape {values.shape}, it needs {size}',
                                     parameter=name)
            if not np.all(np.isfinite(values)) or np.any(values < 0.0):
                raise ParameterError(f'cartesian {name} must be finite and not negative, got '
                                     f'{values.tolist()}', parameter=name)
