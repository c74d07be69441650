"""Limits of velocity, acceleration and torque, and the friction that takes part of the torque."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import TrajectoryError
from robodyn_ros.model.robot_model import friction_torque


class Use(NamedTuple):
    """Largest value of a quantity relative to its limit, (nv,) each; at most 1 is within."""

    velocity: NDArray
    acceleration: NDArray
    torque: NDArray

    @property
    def largest(self) -> float:
        """Return the largest of all."""
        return float(np.max(self))


@dataclass(frozen=True, eq=False)
class JointLimits:
    """
    Limits of the joints, (nv,) each; infinite for none.

    Attributes
    ----------
    velocity, acceleration, torque : (nv,) array
        Limits, in rad/s or m/s, rad/s^2 or m/s^2, N m or N.
    viscous, coulomb, armature : (nv,) array
        Viscous and dry friction of the joints, and inertia of their rotors.

    """

    velocity: NDArray
    acceleration: NDArray
    torque: NDArray
    viscous: NDArray
    coulomb: NDArray
    armature: NDArray

    def needed_torque(self, dynamics: Dynamics, q, qd, qdd) -> NDArray:
        """Return the torque of motions, (N, nv), with friction and rotors."""
        q, qd, qdd = (np.ascontiguousarray(each) for each in (q, qd, qdd))
        return (dynamics.inverse_dynamics(q, qd, qdd) + self.armature * qdd
                + friction_torque(self.viscous, self.coulomb, qd))

    def use(self, dynamics: Dynamics, q, qd, qdd) -> Use:
        """Return the use of the limits by a motion, given as (N, nv) arrays."""
        with np.errstate(invalid='ignore'):
            return Use(*(np.nan_to_num(np.abs(values).max(axis=0) / limit, posinf=np.inf)
                         for values, limit in (
                             (qd, self.velocity), (qdd, self.acceleration),
                             (self.needed_torque(dynamics, q, qd, qdd), self.torque))))

    def reduced(self, use: Use) -> JointLimits:
        """Return limits that are lower where a motion exceeds them, by as much."""
        factors = [np.where(each > 1.0, 0.999 / np.maximum(each, 1.0), 1.0) for each in use]
        return replace(self, velocity=factors[0] * self.velocity,
                       acceleration=factors[1] * self.acceleration,
                       torque=factors[2] * self.torque)

    def check_rest(self, dynamics: Dynamics, q: NDArray) -> None:
        """Raise `TrajectoryError` if the arm cannot be moved slowly through positions, (N, nv)."""
        needed = np.abs(dynamics.gravity(np.ascontiguousarray(q))) + self.coulomb
        k, j = np.unravel_index(np.argmax(needed - self.torque), needed.shape)
        if needed[k, j] >= self.torque[j]:
            name, unit = dynamics.model.joint_names[j], dynamics.model.effort_units[j]
            raise TrajectoryError(
                f"joint '{name}' needs {needed[k, j]:.4g} {unit} for gravity and dry friction at "
                f'{q[k, j]:.3g}, more than the {self.torque[j]:.4g} {unit} that may be used: '
                'raise the part of the torque, or teach another path', joint=name,
                value=float(needed[k, j]), limit=float(self.torque[j]))
