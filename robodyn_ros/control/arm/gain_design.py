"""Gains from design values: natural frequencies, damping ratios, inertia of joints and link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from robodyn_ros.control.arm.loop_response import MeasuredLoop
from robodyn_ros.control.gains import Gains, TaskGains
from robodyn_ros.control.laws.joint_impedance import damping
from robodyn_ros.control.settings import AXES, Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import (
    joint_inertia, lightest_inertia, likely_rotors, MIN_INERTIA, sampled_poses, slow_rotors)
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.model.placeholders import believed_friction
from robodyn_ros.safety.loop_margin import bandwidth_factors
from robodyn_ros.safety.passive_stop import LEAST
from robodyn_ros.settings import numbers

# that gains are made of
GAIN_PARAMETERS = (
    'natural_frequency', 'damping_ratio', 'kp', 'kd', 'ki', 'impedance', 'armature',
    'float_damping', 'float_friction', 'friction_scale', 'friction', 'gravity_scale',
    'limits.driver_compensates_gravity', 'adaptive.sliding', 'observer.bandwidth',
    'disturbance_observer', 'feedback_inertia')
MOST_ROTORS = 3.0  # of the likely rotor, that a measurement may add;
NO_ROTOR = 100.0   # and beyond which the joint is blocked, and may come free
# parameters of the gains
TASK_PARAMETERS = (
    'armature', *(f'cartesian.{name}' for name in (
        'link', 'natural_frequency', 'damping_ratio', 'stiffness', 'damping', 'axes',
        'posture_frequency', 'singularity')))
_POSES = 128          # configurations for typical values
_NEGLIGIBLE = 1e-9    # of the typical value, below which a link cannot be moved


def make_gains(dynamics: Dynamics, settings: Settings | None = None,
               loop: MeasuredLoop | None = None) -> Gains:
    """
    Return the gains of settings, by default of the usual ones.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    settings : Settings, optional
        The design values: natural frequencies, damping ratios and so on.
    loop : MeasuredLoop, optional
        Loops of the joints, where they were measured: rotors that the model lacks are added, and
        natural frequencies without margin lowered.

    Raises
    ------
    ParameterError
        A wrong length, or a value that is negative, not finite, or makes the arm unstable.

    """
    s = settings or Settings()
    model, impedance, friction = dynamics.model, s.impedance, s.friction

    given = partial(_given, model)
    known = rotors = given('armature', s.armature)
    if loop is not None:  # below its friction a joint seems to have more inertia
        likely = slow_rotors(model)
        found = np.where(loop.missing > NO_ROTOR * likely, 0.0,
                         np.minimum(loop.missing, MOST_ROTORS * likely))
        # a rotor that was given later is that of a better measurement
        rotors = np.where(rotors == loop.armature, rotors + found, rotors)
    inertia = joint_inertia(dynamics) + rotors
    lightest = lightest_inertia(dynamics, rotors)
    kp, kd, integral, _ = feedback_gains(model, s, loop)
    own = 0.0 if s.limits.driver_compensates_gravity else 1.0
    scale = given('gravity_scale', s.gravity_scale)
    part = s.friction_scale
    # numbers of a URDF that nobody measured must not drive a joint
    believed = believed_friction(model.friction, model.damping, model.effort_limit,
                                 model.velocity_limit)
    coulomb = given('friction.coulomb', friction.coulomb, believed * model.friction)
    sliding = given('adaptive.sliding', s.adaptive.sliding, 0.25 * kd)
    _check(model, 'adaptive.sliding', sliding, sliding <= kd, 'it must be below kd: lower it, or '
           'raise the natural frequency')
    return Gains(
        kp=kp, kd=kd, ki=_stable(model, integral, kp, kd),
        pd_kp=kp * inertia, pd_kd=kd * inertia, inertia=inertia,
        stiffness=given('impedance.stiffness', impedance.stiffness, given(
            'impedance.natural_frequency', impedance.natural_frequency) ** 2 * inertia),
        joint_damping=given('impedance.damping', impedance.damping, 0.0 * inertia),
        impedance_ratio=given('impedance.damping_ratio', 0.0 if impedance.damping
                              else impedance.damping_ratio),
        apparent_inertia=given('impedance.inertia', impedance.inertia,
                               np.maximum(inertia, MIN_INERTIA)),
        feedback_inertia=given('feedback_inertia', s.feedback_inertia, np.where(
            False if loop is None else loop.known,
            0.0, np.maximum(likely_rotors(model) - inertia, 0.0))),
        damping=given('float_damping', s.float_damping, inertia),
        lightest_inertia=lightest,
        stop_root=np.clip(np.sqrt(lightest_inertia(dynamics, known) / lightest), LEAST, 1.0),
        float_friction=given('float_friction', s.float_friction),
        viscous=part * given('friction.viscous', friction.viscous, believed * model.damping),
        coulomb=part * coulomb,
        stiction=part * np.maximum(given('friction.stiction', friction.stiction, coulomb),
                                   coulomb),
        stribeck_velocity=given('friction.stribeck_velocity', friction.stribeck_velocity),
        friction_width=given('friction.width', friction.width),
        armature=rotors, gravity_scale=own * scale,
        safe_gravity_scale=own * np.maximum(scale, 1.0),
        observer_bandwidth=given('observer.bandwidth', s.observer.bandwidth),
        # an integral works against the same error
        disturbance_observer=np.where(integral == 0.0, float(s.disturbance_observer), 0.0),
        sliding=sliding, sliding_damping=(kd - sliding) * inertia)


def feedback_gains(model: RobotModel, s: Settings, loop: MeasuredLoop | None = None
                   ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return kp, kd, ki, and the part of the natural frequency that the measured loop bears."""
    given = partial(_given, model)
    wn = given('natural_frequency', s.natural_frequency)
    kp = given('kp', s.kp, wn ** 2)
    kd = given('kd', s.kd, 2.0 * given('damping_ratio', s.damping_ratio) * wn)
    integral = given('ki', s.ki)
    factor = (np.ones_like(kp) if loop is None
              else bandwidth_factors(kp, kd, loop.delay, loop.excess))
    return kp * factor ** 2, kd * factor, integral * factor ** 3, factor


def _given(model: RobotModel, name: str, value, default: np.ndarray | None = None) -> np.ndarray:
    """Return one number per joint, each finite and 0 or more; the default for none."""
    if default is not None and not numbers(name, value).size:
        return default
    return not_negative(name, value, model)


def _stable(model: RobotModel, ki: np.ndarray, kp: np.ndarray, kd: np.ndarray) -> np.ndarray:
    """Return `ki` if an error with e''' + kd e'' + kp e' + ki e = 0 dies out (Hurwitz)."""
    _check(model, 'ki', ki, (ki == 0.0) | (ki < kp * kd), 'the error dies out only below kp kd: '
           'lower it, or raise the other gains')
    return ki


def _check(model: RobotModel, name: str, values: np.ndarray, good: np.ndarray,
           remedy: str) -> None:
    """Raise `ParameterError` for the first joint whose value is not good."""
    if not good.all():
        j = int(np.argmin(good))
        raise ParameterError(f"{name} of joint '{model.joint_names[j]}' is {values[j]:g}; "
                             f'{remedy}', parameter=name, joint=model.joint_names[j],
                             value=float(values[j]))


def check_shaping(gains: Gains, model: RobotModel) -> None:
    """
    Check the apparent inertia for stability in contact, at the typical inertia of the joints.

    Raises
    ------
    ParameterError
        It is unstable; the message names joint and remedy.

    """
    m, K = gains.apparent_inertia, gains.observer_bandwidth
    D = np.array(damping(gains, m))
    less = gains.inertia - m
    if not (K * less > D).any():
        return
    j = int(np.argmax(K * less > D))
    name = model.joint_names[j]
    raise ParameterError(
        f"impedance.inertia of joint '{name}' is {m[j]:.3g}, its own is {gains.inertia[j]:.3g}: "
        'in contact with a stiff environment that is unstable, unless its damping is at least '
        f'observer.bandwidth times the difference, {K[j] * less[j]:.3g}; it is {D[j]:.3g}. Raise '
        'inertia or damping, or lower observer.bandwidth', joint=name, value=float(m[j]))


# --- of the Cartesian laws -----------------------------------------------------------------------

def make_task_gains(dynamics: Dynamics, settings: Settings | None = None) -> TaskGains:
    """
    Return the gains of the Cartesian laws of settings, by default of the usual ones.

    Parameters
    ----------
    dynamics : Dynamics
        The robot.
    settings : Settings, optional
        The design values: `cartesian` and `armature`.

    Raises
    ------
    ParameterError
        A length or value is wrong, or the link does not move.

    """
    settings = settings or Settings()
    s, model = settings.cartesian, dynamics.model
    link = _moving(dynamics, s.link or model.tip)
    rotors = not_negative('armature', settings.armature, model)
    typical = TypicalLink.of(dynamics, link, rotors)
    wn = six('natural_frequency', s.natural_frequency)
    ratio = six('damping_ratio', s.damping_ratio)
    springs = six('stiffness', s.stiffness) if s.stiffness else wn ** 2 * typical.mass
    dampers = six('damping', s.damping) if s.damping else np.zeros(6)
    posture = not_negative('cartesian.posture_frequency', s.posture_frequency, model)
    posture_kd = 2.0 * posture
    inertia = joint_inertia(dynamics) + rotors
    return TaskGains(
        stiffness=springs, damping=dampers,
        damping_ratio=0.0 * ratio if s.damping else ratio, kp=wn ** 2,
        kd=2.0 * ratio * wn, selected=springs + dampers > 0.0, controlled=wn > 0.0,
        axes=np.array(float(AXES.index(s.axes))), posture_kp=posture ** 2, posture_kd=posture_kd,
        posture_stiffness=posture ** 2 * inertia, posture_damping=posture_kd * inertia,
        reach=typical.reach, mobility=typical.mobility, singularity=np.array(s.singularity))


def six(name: str, value) -> np.ndarray:
    """
    Return a value as 6 numbers, linear first.

    Raises
    ------
    ParameterError
        The length is not 1 or 6.

    """
    values = np.array(value, dtype=np.float64)
    if values.size not in (1, 6):
        raise ParameterError(f'cartesian.{name} has {values.size} values; give one, or six: along '
                             'x, y, z, then about x, y, z', parameter=name)
    return np.full(6, values.item()) if values.size == 1 else values


def _moving(dynamics: Dynamics, link: str) -> str:
    """Return a link that some joint moves; raises `ParameterError` otherwise."""
    if dynamics.model.link(link).body < 0:
        raise ParameterError(f'cartesian link {link!r} belongs to the immovable base; name a link '
                             'that moves', parameter='link', link=link)
    return link


@dataclass(frozen=True, eq=False)
class TypicalLink:
    """
    Typical properties of a link, over sampled configurations; (6,) each, equal along all axes.

    Attributes
    ----------
    reach : (6,)
        Scale of the rows of the Jacobian to norm 1.
    mobility : (6,)
        Diagonal of J M^-1 J^T.
    mass : (6,)
        Geometric mean of 1 / (J M^-1 J^T)_ii, the effective mass with all other directions free,
        and of the diagonal of Lambda, with all of them constrained. They differ much for the
        light wrist of a heavy arm.

    """

    reach: np.ndarray
    mobility: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, dynamics: Dynamics, link: str, rotors: np.ndarray) -> TypicalLink:
        """Return the typical properties of a link."""
        poses = sampled_poses(dynamics.model, _POSES)
        # not batched: these kernels are compiled in any case
        J = np.array([dynamics.jacobian(q, link) for q in poses])
        M = np.array([dynamics.mass_matrix(q) for q in poses]) + np.diag(rotors)
        # the pseudo-inverse ignores joints that move no mass
        A = J @ np.linalg.pinv(M, rcond=_NEGLIGIBLE ** 2, hermitian=True) @ np.swapaxes(J, 1, 2)
        Lambda = np.linalg.pinv(A, rcond=_NEGLIGIBLE, hermitian=True)
        mobility = _by_kind(_diagonal(A).mean(axis=0))
        held = _by_kind(np.median(_diagonal(Lambda), axis=0))
        return cls(1.0 / np.sqrt(_by_kind((J ** 2).sum(axis=2).mean(axis=0))), mobility,
                   np.sqrt(held / mobility))


def _diagonal(matrices: np.ndarray) -> np.ndarray:
    return np.einsum('nii->ni', matrices)


def _by_kind(values: np.ndarray) -> np.ndarray:
    """Return the means over linear and over angular directions; 1 where all are negligible."""
    return np.repeat([kind[kind > _NEGLIGIBLE].mean() if np.any(kind > _NEGLIGIBLE) else 1.0
                      for kind in (values[:3], values[3:])], 3)
