"""Gains of the control laws, checked once."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.model import RobotModel


@dataclass(frozen=True)
class Gains:
    """
    Gains per joint; read-only float64 arrays of length nv.

    Attributes
    ----------
    kp, kd : (nv,)
        Of computed torque, in 1/s^2 and 1/s: they act on accelerations.
    pd_kp, pd_kd : (nv,)
        Of feedforward_pd, in N m/rad and N m s/rad (N/m and N s/m).
    damping : (nv,)
        Of gravity compensation and safe states, in N m s/rad (N s/m).
    viscous, coulomb : (nv,)
        Friction that is compensated along the reference, in N m s/rad and N m (N s/m and N).
    armature : (nv,)
        Inertia of the rotors, seen at the joints, in kg m^2 (kg).
    gravity_scale : (nv,)
        Part of the modelled gravity that the laws command.
    weight_scale : (nv,)
        The same in safe states: all of it, or 0 where the driver adds gravity.

    """

    kp: np.ndarray
    kd: np.ndarray
    pd_kp: np.ndarray
    pd_kd: np.ndarray
    damping: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    armature: np.ndarray
    gravity_scale: np.ndarray
    weight_scale: np.ndarray

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

    def of(self, law: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the position and velocity gains of a tracking law."""
        return (self.kp, self.kd) if law == 'computed_torque' else (self.pd_kp, self.pd_kd)


def make_gains(dynamics: Dynamics, natural_frequency=20.0, damping_ratio=1.0, kp=(), kd=(),
               damping=(), friction_scale: float = 1.0, gravity_scale=1.0, armature=0.0,
               driver_compensates_gravity: bool = False) -> Gains:
    """
    Return gains from design values; each one number, or one per joint.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    natural_frequency, damping_ratio : float or (nv,)
        Of the error, in rad/s: kp = wn^2, kd = 2 zeta wn. The gains of feedforward_pd are these
        times the joint's own inertia.
    kp, kd : (nv,), optional
        In place of the two above.
    damping : (nv,), optional
        While floating; by default a joint loses its speed in about a second.
    friction_scale : float
        Part of the URDF's friction that is compensated.
    gravity_scale : float or (nv,)
        Part of the modelled gravity that is commanded while the arm follows or floats. Less than
        all is a choice for experiments: what makes the arm safe carries all of its weight.
    armature : float or (nv,)
        Inertia of the rotors times the squares of their gear ratios. A light wrist needs it:
        without, its feedback is far too weak for the rotor that it has to move.
    driver_compensates_gravity : bool
        Whether the driver adds gravity itself; then none is commanded, ever.

    Raises
    ------
    ParameterError
        A wrong length, or a value that is negative or not finite.

    """
    model = dynamics.model
    wn = not_negative('natural_frequency', natural_frequency, model)
    zeta = not_negative('damping_ratio', damping_ratio, model)
    kp = _given('kp', kp, model, wn ** 2)
    kd = _given('kd', kd, model, 2.0 * zeta * wn)
    rotors = not_negative('armature', armature, model)
    inertia = joint_inertia(dynamics) + rotors
    scale = not_negative('gravity_scale', gravity_scale, model)
    own = 0.0 if driver_compensates_gravity else 1.0
    part = not_negative('friction_scale', friction_scale, model)
    return Gains(
        kp=kp, kd=kd, pd_kp=kp * inertia, pd_kd=kd * inertia,
        damping=_given('damping', damping, model, inertia),
        viscous=model.damping * part, coulomb=model.friction * part, armature=rotors,
        gravity_scale=own * scale, weight_scale=own * np.maximum(scale, 1.0))


def joint_inertia(dynamics: Dynamics) -> np.ndarray:
    """Return the inertia that each joint feels in the middle of its range; (nv,)."""
    model = dynamics.model
    bounded = np.isfinite(model.lower) & np.isfinite(model.upper)
    lower, upper = np.where(bounded, model.lower, 0.0), np.where(bounded, model.upper, 0.0)
    return np.diag(dynamics.mass_matrix(0.5 * (lower + upper))).copy()


def per_joint(name: str, value, model: RobotModel) -> np.ndarray:
    """
    Return a value as one number per joint.

    Raises
    ------
    ParameterError
        Neither one number nor one per joint.

    """
    values = _numbers(name, value)
    if values.size == 1:
        return np.full(model.nv, values.item())
    if values.shape != (model.nv,):
        raise ParameterError(
            f'{name} has {values.size} values; give one, or one for each of the {model.nv} '
            f'joints: {", ".join(model.joint_names)}', parameter=name)
    return values.copy()


def not_negative(name: str, value, model: RobotModel) -> np.ndarray:
    """
    Return a value as one number per joint, each finite and 0 or more.

    Raises
    ------
    ParameterError
        Otherwise; the message names the joint.

    """
    values = per_joint(name, value, model)
    for joint, each in zip(model.joint_names, values):
        if not 0.0 <= each < np.inf:
            raise ParameterError(f"{name} of joint '{joint}' is {each:g}; it must be finite, and "
                                 '0 or more', parameter=name, joint=joint, value=float(each))
    return values


def _given(name: str, value, model: RobotModel, default: np.ndarray) -> np.ndarray:
    return not_negative(name, value, model) if _numbers(name, value).size else default


def _numbers(name: str, value) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f'{name} is {shown(value)}; give one number, or one per joint',
                             parameter=name) from error
