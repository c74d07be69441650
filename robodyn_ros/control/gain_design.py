"""Gains from design values: natural frequencies, damping ratios, and the inertia of the joints."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative, numbers

LEAST_INERTIA = 1e-6   # kg m^2 or kg: of a joint that moves no mass
_POSES = 64            # that tell what inertia is usual
_SPRINT = 1000.0       # rad/s^2 or m/s^2 that no motor with a gear gives a joint
_USUAL_SPRINT = 500.0  # what may be expected of a quick one


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
            'apparent_inertia', apparent_inertia, np.maximum(inertia, LEAST_INERTIA))),
        damping=given('damping', damping, inertia),
        float_friction=_part(model, 'float_friction', given('float_friction', float_friction)),
        viscous=part * given('viscous', viscous, model.damping), coulomb=part * coulomb,
        stiction=part * np.maximum(given('stiction', stiction, coulomb), coulomb),
        stribeck_velocity=_positive(model, 'stribeck_velocity',
                                    given('stribeck_velocity', stribeck_velocity)),
        armature=rotors, gravity_scale=own * scale,
        safe_gravity_scale=own * np.maximum(scale, 1.0),
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
    poses = poses_from_everywhere(dynamics.model, _POSES)
    felt = np.array([np.diag(dynamics.mass_matrix(q)) for q in poses])
    return np.exp(np.log(np.maximum(felt, np.finfo(float).tiny)).mean(axis=0))


def missing_rotors(model: RobotModel, inertia: np.ndarray, armature: np.ndarray) -> str:
    """
    Return which joints have so little inertia that their rotors must be missing; '' if none.

    Parameters
    ----------
    model : RobotModel
        Its effort limits tell what a joint is made to move.
    inertia : (nv,)
        Of each joint as it is usual, without rotors, in kg m^2 (kg).
    armature : (nv,)
        Of the rotors; joints that have some are not judged.

    """
    effort, units = np.array(model.effort_limit), model.effort_units
    known = np.isfinite(effort) & (armature == 0.0)
    sprint = np.where(known, effort, 0.0) / np.maximum(inertia, LEAST_INERTIA)
    named = [f"'{model.joint_names[j]}' ({effort[j]:g} {units[j]} on {inertia[j]:.2g}, armature "
             f'about {effort[j] / _USUAL_SPRINT:.2g})'
             for j in np.flatnonzero(sprint > _SPRINT)]
    return named and (
        f'the inertia of {", ".join(named)} is implausibly small: the effort limit '
        f'would accelerate it by more than {_SPRINT:g} rad/s^2 or m/s^2. A geared rotor is likely '
        'missing, and such joints are soft or shake: set the parameter armature, rotor inertia '
        'times the square of the gear ratio, in kg m^2 or kg') or ''


def poses_from_everywhere(model: RobotModel, count: int) -> np.ndarray:
    """Return joint positions drawn within the limits, (count, nv): the same at every call."""
    lower = np.where(np.isfinite(model.lower), model.lower, -np.pi)
    upper = np.where(np.isfinite(model.upper), model.upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (count, model.nv))


class _Values:
    """Reads design values of one robot."""

    def __init__(self, model: RobotModel):
        self._model = model

    def __call__(self, name: str, value, default: np.ndarray | None = None) -> np.ndarray:
        """Return one number per joint, each finite and 0 or more; the default for none."""
        if default is not None and not numbers(name, value).size:
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
