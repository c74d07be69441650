"""Joint physics beyond the rigid bodies: motors, friction, stops."""

from __future__ import annotations

from dataclasses import dataclass, fields
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import stops
from robodyn_ros.simulation.step import Constants

_MAY_BE_INFINITE = ('effort_limit', 'motor_bandwidth')
_ABOVE_ZERO = ('stribeck_velocity', 'presliding', 'motor_bandwidth', 'gear_stiffness')
# rad, deflection of a gear at the largest torque
_WIND_UP = 1e-3


@dataclass(frozen=True)
class JointPhysics:
    """
    Physics of the joints, one number per joint, validated.

    Parameters
    ----------
    joint_names : tuple of str
        Names of the model's coordinates.
    inertia : (nv,) array
        Inertia at each joint (kg m^2 or kg), for the damping of stops, bristles and gears.
    effort_limit : (nv,) array
        Largest torque of the motors (N m or N); infinite for no limit.
    damping, friction : (nv,) array
        Viscous (N m s/rad) and Coulomb friction (N m).
    armature : (nv,) array
        Inertia of the rotor times the gear ratio squared (kg m^2).
    stiction : (nv,) array
        Dry friction at rest (N m), at least `friction`.
    stribeck_velocity : (nv,) array
        Velocity at which dry friction is halfway from stiction to Coulomb friction (rad/s).
    presliding : (nv,) array
        Deflection at which stiction slips, in rad or m.
    motor_bandwidth : (nv,) array
        Bandwidth of the motors' torque (rad/s), a first-order lag; infinite for none.
    backlash : (nv,) array
        Backlash of the gears (rad); a joint with backlash needs an armature above 0.
    gear_stiffness : (nv,) array
        Stiffness of the teeth (N m/rad), where there is backlash.
    stiffness, spring_damping : (nv,) array
        Stiffness of an elastic joint (N m/rad) and its damping (N m s/rad); 0: the joint is rigid.
        An elastic joint needs an armature above 0, and has no backlash.
    lower, upper : (nv,) array
        Positions of the stops; infinite for none.
    stop_stiffness, stop_damping : (nv,) array
        Stiffness and damping of the stops (N m/rad, N m s/rad).

    Raises
    ------
    ArgumentError
        Wrong length, negative or not a number; the message names the joint.

    """

    joint_names: tuple[str, ...]
    inertia: NDArray
    effort_limit: NDArray
    damping: NDArray
    friction: NDArray
    armature: NDArray
    stiction: NDArray
    stribeck_velocity: NDArray
    presliding: NDArray
    motor_bandwidth: NDArray
    backlash: NDArray
    gear_stiffness: NDArray
    stiffness: NDArray
    spring_damping: NDArray
    lower: NDArray
    upper: NDArray
    stop_stiffness: NDArray
    stop_damping: NDArray

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:
            values = _per_joint(field.name, getattr(self, field.name), self.joint_names)
            if field.name not in ('lower', 'upper', 'inertia'):
                self._check(field.name, values)
            object.__setattr__(self, field.name, values)
        self._require(self.stiction >= self.friction, 'stiction', 'it must not be below the '
                      'Coulomb friction, or nothing would come to rest')
        self._require((self.backlash == 0.0) | (self.armature > 0.0), 'armature',
                      'a gear with backlash needs a rotor with inertia')
        self._require((self.stiffness == 0.0) | (self.armature > 0.0), 'armature',
                      'an elastic joint needs a rotor with inertia')
        self._require((self.stiffness == 0.0) | (self.backlash == 0.0), 'stiffness',
                      'a joint is either elastic or has backlash')

    def _check(self, name: str, values: NDArray) -> None:
        infinite, above = name in _MAY_BE_INFINITE, name in _ABOVE_ZERO
        good = ((values > 0.0) if above else (values >= 0.0)) & (np.isfinite(values) | infinite)
        self._require(good, name, ('it must be above 0' if above else 'it must not be negative')
                      + ('' if infinite else ', and finite'), values)

    def _require(self, good: NDArray, name: str, rule: str, values: NDArray | None = None) -> None:
        if not good.all():
            values = getattr(self, name) if values is None else values
            j = int(np.argmin(good))
            raise ArgumentError(f'{name} of joint {self.joint_names[j]!r} is {values[j]}: {rule}',
                                joint=self.joint_names[j], name=name, value=values[j])

    @classmethod
    def from_model(cls, model: RobotModel, inertia: NDArray,
                   **given: ArrayLike | None) -> JointPhysics:
        """
        Return the physics of the URDF, with the given values in place of its own.

        Parameters
        ----------
        model : RobotModel
            Robot model, for limits and friction.
        inertia : (nv,) array
            Inertia at each joint without its motor: the diagonal of M.
        **given : array_like, optional
            Fields of this class, one number per joint or one for all; None is ignored.

        """
        values: dict[str, Any] = {
            'effort_limit': model.effort_limit, 'damping': model.damping,
            'friction': model.friction, 'armature': 0.0, 'stribeck_velocity': 0.05,
            'presliding': 1e-5, 'motor_bandwidth': math.inf, 'backlash': 0.0,
            'stiffness': 0.0, 'spring_damping': 0.0,
            'lower': model.lower, 'upper': model.upper}
        values.update({name: value for name, value in given.items() if value is not None})
        names = model.joint_names
        limit, friction, armature = (_per_joint(name, values[name], names)
                                     for name in ('effort_limit', 'friction', 'armature'))
        values['inertia'] = inertia + armature
        values.setdefault('stiction', friction)
        values.setdefault('gear_stiffness', np.where(
            (limit > 0.0) & np.isfinite(limit), limit / _WIND_UP, 1.0 / _WIND_UP))
        values.setdefault('stop_stiffness', stops.default_stiffness(limit, values['inertia']))
        values.setdefault('stop_damping', stops.critical_damping(
            _per_joint('stop_stiffness', values['stop_stiffness'], names), values['inertia']))
        return cls(names, **values)

    def constants(self, step: float) -> NDArray:
        """Return the constants of `step.plant_step`, for steps of this duration (s)."""
        # response of a first-order lag in one step
        derived = {'blend': -np.expm1(-self.motor_bandwidth * step),
                   'bristle_stiffness': self.stiction / self.presliding}
        for part in ('bristle', 'gear'):
            stiffness = derived.get(f'{part}_stiffness', self.gear_stiffness)
            derived[f'{part}_damping'] = stops.critical_damping(stiffness, self.inertia)
        rows = [derived[name] if name in derived else getattr(self, name)
                for name in Constants._fields]
        return np.append(np.concatenate(rows), step)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the joints."""
        return tuple(
            f'joint {name!r} has an effort limit of 0: its motor gives no torque; set '
            'effort_limit of the simulation, or correct the URDF'
            for name, limit in zip(self.joint_names, self.effort_limit) if limit == 0.0)


def _per_joint(name: str, values: ArrayLike, joint_names: tuple[str, ...]) -> NDArray:
    """Return one float per joint, read-only; a single number applies to all."""
    try:
        given = np.asarray(values, dtype=np.float64)
        array = np.array(np.broadcast_to(given, (len(joint_names),)))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f'{name} is {values!r}: give one number, or {len(joint_names)} in the order '
            f'{", ".join(joint_names)}', name=name) from error
    array.flags.writeable = False
    return array
