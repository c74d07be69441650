"""Gains of the control laws, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from robodyn_ros.control.steps.gains import Program, Task
from robodyn_ros.exceptions import ParameterError

# size of each gain; those of the posture have one number per joint
SIZES = {name: 6 if dimension == 'task' else 1 for name, dimension in (
    (each.name, each.metadata['dimension']) for each in fields(Task)) if dimension != 'joints'}


@dataclass(frozen=True, eq=False, kw_only=True)
class Gains(Program):
    """
    Gains per joint; read-only float64 arrays of length nv, not negative; see `steps.gains`.

    Attributes
    ----------
    bandwidth_factor : (nv,)
        Part of the natural frequency that the measured loop of the joint bears; 1: all of it.

    """

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


# --- of the Cartesian laws -----------------------------------------------------------------------

@dataclass(frozen=True, eq=False, kw_only=True)
class TaskGains(Task):
    """
    Gains of the Cartesian laws; read-only float64 arrays, not negative; see `steps.gains`.

    Six-vectors are linear first; 0 and 0 leave a direction free.

    Attributes
    ----------
    link : str
        Controlled link.

    """

    link: str

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
