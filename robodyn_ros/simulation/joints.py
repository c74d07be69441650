"""What a plant knows about its joints beyond the rigid bodies: limits, friction, stops."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.simulation import stops


@dataclass(frozen=True)
class JointPhysics:
    """
    Physics of the joints, one number each; checks itself.

    Parameters
    ----------
    joint_names : tuple of str
        The model's coordinates.
    effort_limit : (nv,) array
        Largest torque the motors give (N m or N); infinite for no limit.
    damping, friction : (nv,) array
        Viscous (N m s/rad) and Coulomb friction (N m).
    armature : (nv,) array
        Inertia of the rotor times the gear ratio squared (kg m^2).
    lower, upper : (nv,) array
        Where the stops are; infinite for none.
    stop_stiffness, stop_damping : (nv,) array
        Of the stops (N m/rad, N m s/rad).

    Raises
    ------
    ArgumentError
        Wrong length, negative or not a number; the message names the joint.

    """

    joint_names: tuple[str, ...]
    effort_limit: NDArray
    damping: NDArray
    friction: NDArray
    armature: NDArray
    lower: NDArray
    upper: NDArray
    stop_stiffness: NDArray
    stop_damping: NDArray

    def __post_init__(self) -> None:
        for field in fields(self)[1:]:
            values = _per_joint(field.name, getattr(self, field.name), self.joint_names)
            if field.name not in ('lower', 'upper'):
                may_be_infinite = field.name == 'effort_limit'
                _check(field.name, values, self.joint_names, may_be_infinite)
            object.__setattr__(self, field.name, values)

    @classmethod
    def from_model(cls, model: RobotModel, inertia: NDArray,
                   **given: ArrayLike | None) -> JointPhysics:
        """
        Return what the URDF says, with other values for what is given.

        Parameters
        ----------
        model : RobotModel
            Limits and friction.
        inertia : (nv,) array
            What each joint feels, for the default stops: the diagonal of M.
        **given : array_like, optional
            Fields of this class, one number each or one for all; None counts as not given.

        """
        values = {'effort_limit': model.effort_limit, 'damping': model.damping,
                  'friction': model.friction, 'armature': 0.0, 'lower': model.lower,
                  'upper': model.upper}
        values.update({name: value for name, value in given.items() if value is not None})
        names = model.joint_names
        inertia = inertia + _per_joint('armature', values['armature'], names)
        values.setdefault('stop_stiffness', stops.default_stiffness(
            _per_joint('effort_limit', values['effort_limit'], names), inertia))
        values.setdefault('stop_damping', stops.critical_damping(
            _per_joint('stop_stiffness', values['stop_stiffness'], names), inertia))
        return cls(names, **values)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what is odd about the joints but no reason to refuse them."""
        return tuple(
            f'joint {name!r} has an effort limit of 0: its motor gives no torque; set '
            'effort_limit of the simulation, or correct the URDF'
            for name, limit in zip(self.joint_names, self.effort_limit) if limit == 0.0)


def _per_joint(name: str, values: ArrayLike, joint_names: tuple[str, ...]) -> NDArray:
    """Return one float per joint, read-only; a single number is for all."""
    try:
        given = np.asarray(values, dtype=np.float64)
        array = np.array(np.broadcast_to(given, (len(joint_names),)))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f'{name} is {values!r}: give one number, or {len(joint_names)} in the order '
            f'{", ".join(joint_names)}', name=name) from error
    array.flags.writeable = False
    return array


def _check(name: str, values: NDArray, joint_names: tuple[str, ...],
           may_be_infinite: bool) -> None:
    good = (values >= 0.0) & (np.isfinite(values) | may_be_infinite)
    if not good.all():
        joint = int(np.argmin(good))
        raise ArgumentError(
            f'{name} of joint {joint_names[joint]!r} is {values[joint]}: it must not be negative'
            + ('' if may_be_infinite else ', and finite'), joint=joint_names[joint], name=name)
