"""Gains of the control laws, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, shown
from robodyn_ros.model import RobotModel

_LEAST_INERTIA = 1e-6  # kg m^2 or kg: of a joint that moves no mass
_POSES = 64            # that tell what inertia is usual


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
    weight_scale : (nv,)
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
    weight_scale: np.ndarray
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


def make_gains(dynamics: Dynamics, natural_frequency=20.0, damping_ratio=1.0, kp=(), kd=(), *,
               ki=0.0, damping=(), gravity_scale=1.0, armature=0.0,
               driver_compensates_gravity: bool = False, friction_scale: float = 1.0, viscous=(),
               coulomb=(), stiction=(), stribeck_velocity=0.01, float_friction=0.0, stiffness=(),
               impedance_frequency=10.0, impedance_ratio=1.0, joint_damping=(),
               apparent_inertia=(), observer_bandwidth=30.0,
               disturbance_observer: bool = False, sliding=()) -> Gains:
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
    ki : float or (nv,)
        Integral gain, in 1/s^3; the error is stable below kp kd.
    damping : (nv,), optional
        While floating; by default a joint loses its speed in about a second.
    gravity_scale : float or (nv,)
        Part of the modelled gravity that is commanded while the arm follows or floats. Less than
        all is a choice for experiments: what makes the arm safe carries all of its weight.
    armature : float or (nv,)
        Inertia of the rotors times the squares of their gear ratios. A light wrist needs it:
        without, its feedback is far too weak for the rotor that it has to move.
    driver_compensates_gravity : bool
        Whether the driver adds gravity itself; then none is commanded, ever.
    friction_scale : float
        Part of the friction that is compensated along the reference.
    viscous, coulomb : (nv,), optional
        Friction, in place of that in the URDF.
    stiction : (nv,), optional
        Friction at rest; by default Coulomb friction, so that there is no Stribeck effect.
    stribeck_velocity : float or (nv,)
        At which friction is halfway between the two.
    float_friction : float or (nv,)
        Part of the friction that is taken from the hand that moves a floating arm; below 1.
    stiffness : (nv,), optional
        Of the joint impedances; by default the square of
        `impedance_frequency` times the inertia of the joint.
    impedance_frequency, impedance_ratio : float or (nv,)
        Natural frequency in rad/s, and damping ratio, of the joint impedances.
    joint_damping : (nv,), optional
        Of the joint impedances, in place of the damping ratio.
    apparent_inertia : (nv,), optional
        That joints show under inertia shaping; by default their usual own.
    observer_bandwidth : float or (nv,)
        Of the momentum observer, in rad/s.
    disturbance_observer : bool
        Whether what it sees is compensated; in place of `ki`.
    sliding : float or (nv,)
        Of the adaptive law, in 1/s, below kd: the error has poles at it and at kd less it; by
        default kd / 4, which leaves most of the damping to s, whatever the arm carries.

    Raises
    ------
    ParameterError
        A wrong length, or a value that is negative, not finite, or makes the arm unstable.

    """
    model = dynamics.model
    given = _Values(model)
    rotors = given('armature', armature)
    inertia = joint_inertia(dynamics) + rotors
    wn = given('natural_frequency', natural_frequency)
    kp = given('kp', kp, wn ** 2)
    kd = given('kd', kd, 2.0 * given('damping_ratio', damping_ratio) * wn)
    own = 0.0 if driver_compensates_gravity else 1.0
    scale = given('gravity_scale', gravity_scale)
    part = given('friction_scale', friction_scale)
    coulomb = given('coulomb', coulomb, model.friction)
    integral = given('ki', ki)
    sliding = given('sliding', sliding, 0.25 * kd)
    _check(model, 'sliding', sliding, sliding <= kd, 'it must be below kd: lower it, or raise the '
           'natural frequency')
    if disturbance_observer:
        _check(model, 'ki', integral, integral == 0.0, 'disturbance_observer is on, and both '
               'would work against the same error: set one of the two to 0 or false')
    return Gains(
        kp=kp, kd=kd, ki=_stable(model, integral, kp, kd),
        pd_kp=kp * inertia, pd_kd=kd * inertia, inertia=inertia,
        stiffness=given('stiffness', stiffness,
                        given('impedance_frequency', impedance_frequency) ** 2 * inertia),
        joint_damping=given('joint_damping', joint_damping, 0.0 * inertia),
        impedance_ratio=given('impedance_ratio', 0.0 if np.size(joint_damping)
                              else impedance_ratio),
        apparent_inertia=_positive(model, 'apparent_inertia', given(
            'apparent_inertia', apparent_inertia, np.maximum(inertia, _LEAST_INERTIA))),
        damping=given('damping', damping, inertia),
        float_friction=_part(model, 'float_friction', given('float_friction', float_friction)),
        viscous=part * given('viscous', viscous, model.damping), coulomb=part * coulomb,
        stiction=part * np.maximum(given('stiction', stiction, coulomb), coulomb),
        stribeck_velocity=_positive(model, 'stribeck_velocity',
                                    given('stribeck_velocity', stribeck_velocity)),
        armature=rotors, gravity_scale=own * scale, weight_scale=own * np.maximum(scale, 1.0),
        observer_bandwidth=_positive(model, 'observer_bandwidth', given(
            'observer_bandwidth', observer_bandwidth)),
        disturbance_observer=np.full(model.nv, float(disturbance_observer)),
        sliding=sliding, sliding_damping=(kd - sliding) * inertia)


def joint_inertia(dynamics: Dynamics) -> np.ndarray:
    """
    Return the inertia that each joint alone usually feels; (nv,).

    The geometric mean of M_ii over poses from everywhere: what is heavy stretched out and light
    drawn in is felt as often either way.
    """
    model = dynamics.model
    lower = np.where(np.isfinite(model.lower), model.lower, -np.pi)
    upper = np.where(np.isfinite(model.upper), model.upper, np.pi)
    poses = np.random.default_rng(0).uniform(lower, upper, (_POSES, model.nv))
    felt = np.array([np.diag(dynamics.mass_matrix(q)) for q in poses])
    return np.exp(np.log(np.maximum(felt, np.finfo(float).tiny)).mean(axis=0))


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


class _Values:
    """Reads design values of one robot."""

    def __init__(self, model: RobotModel):
        self._model = model

    def __call__(self, name: str, value, default: np.ndarray | None = None) -> np.ndarray:
        """Return one number per joint, each finite and 0 or more; the default for none."""
        if default is not None and not _numbers(name, value).size:
            return default
        return not_negative(name, value, self._model)


def _stable(model: RobotModel, ki: np.ndarray, kp: np.ndarray, kd: np.ndarray) -> np.ndarray:
    """Return `ki` if an error with e''' + kd e'' + kp e' + ki e = 0 dies out (Hurwitz)."""
    _check(model, 'ki', ki, (ki == 0.0) | (ki < kp * kd), 'the error dies out only below kp kd: '
           'lower it, or raise the other gains')
    return ki


def _positive(model: RobotModel, name: str, values: np.ndarray) -> np.ndarray:
    _check(model, name, values, values > 0.0, 'it must be above 0')
    return values


def _part(model: RobotModel, name: str, values: np.ndarray) -> np.ndarray:
    _check(model, name, values, values < 1.0, 'it must be below 1: a joint without any friction '
           'left may start to move by itself')
    return values


def _check(model: RobotModel, name: str, values: np.ndarray, good: np.ndarray,
           remedy: str) -> None:
    """Raise `ParameterError` for the first joint whose value is not good."""
    if not good.all():
        j = int(np.argmin(good))
        raise ParameterError(f"{name} of joint '{model.joint_names[j]}' is {values[j]:g}; "
                             f'{remedy}', parameter=name, joint=model.joint_names[j],
                             value=float(values[j]))


def _numbers(name: str, value) -> np.ndarray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f'{name} is {shown(value)}; give one number, or one per joint',
                             parameter=name) from error
