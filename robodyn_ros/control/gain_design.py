"""Gains from design values: natural frequencies, damping ratios, and the inertia of the joints."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.gains import Gains
from robodyn_ros.control.loop_margin import largest_frequencies
from robodyn_ros.control.loop_response import MeasuredLoop
from robodyn_ros.control.settings import Settings
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.usual_inertia import (
    joint_inertia, lightest_inertia, likely_rotors, MIN_INERTIA, slow_rotors)
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.model.placeholders import believed_friction
from robodyn_ros.settings import numbers

# that gains are made of
GAIN_PARAMETERS = (
    'natural_frequency', 'damping_ratio', 'kp', 'kd', 'ki', 'impedance', 'armature',
    'float_damping', 'float_friction', 'friction_scale', 'friction', 'gravity_scale',
    'limits.driver_compensates_gravity', 'adaptive.sliding', 'observer.bandwidth',
    'disturbance_observer', 'feedback_inertia')
MOST_ROTORS = 3.0  # of the likely rotor, that a measurement may add;
NO_ROTOR = 100.0   # and beyond which the joint is blocked, and may come free


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

    def given(name: str, value, default: np.ndarray | None = None) -> np.ndarray:
        """Return one number per joint, each finite and 0 or more; the default for none."""
        if default is not None and not numbers(name, value).size:
            return default
        return not_negative(name, value, model)

    rotors = given('armature', s.armature)
    if loop is not None:  # below its friction a joint seems to have more inertia
        likely = slow_rotors(model)
        found = np.where(loop.missing > NO_ROTOR * likely, 0.0,
                         np.minimum(loop.missing, MOST_ROTORS * likely))
        # a rotor that was given later is that of a better measurement
        rotors = np.where(rotors == loop.armature, rotors + found, rotors)
    inertia = joint_inertia(dynamics) + rotors
    wn = given('natural_frequency', s.natural_frequency)
    kp = given('kp', s.kp, wn ** 2)
    kd = given('kd', s.kd, 2.0 * given('damping_ratio', s.damping_ratio) * wn)
    integral = given('ki', s.ki)
    lowered = frequency_parts(kp, kd, loop)
    kp, kd, integral = kp * lowered ** 2, kd * lowered, integral * lowered ** 3
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
        lightest_inertia=lightest_inertia(dynamics, rotors),
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
        sliding=sliding, sliding_damping=(kd - sliding) * inertia,
        bandwidth_factor=lowered)


def frequency_parts(kp: np.ndarray, kd: np.ndarray, loop: MeasuredLoop | None) -> np.ndarray:
    """
    Return the part of each natural frequency that has margins, (nv,), in (0, 1].

    Where only a part 1 / e of the inertia is there at high frequency, as above the resonance of an
    elastic joint, the feedback accelerates it e times as much.
    """
    if loop is None:
        return np.ones_like(kp)
    frequency = np.sqrt(kp * loop.excess)
    damped = 0.5 * kd * loop.excess / np.maximum(frequency, np.finfo(float).tiny)
    return np.minimum(largest_frequencies(damped, loop.delay) / np.maximum(
        frequency, np.finfo(float).tiny), 1.0)


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
