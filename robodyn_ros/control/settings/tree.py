"""The tree of all settings of the control cycle."""

from __future__ import annotations

import math

from robodyn_ros.control.mode import MODES
from robodyn_ros.control.settings.groups import (
    AdaptiveSettings, CartesianSettings, CollisionSettings, Constraints, ExternalWrenchSettings,
    FrictionSettings, ImpedanceSettings, LinearFeedbackSettings, MAX_DAMPING, MAX_FREQUENCY,
    MAX_INERTIA, ObserverSettings, PlausibilitySettings, PositionLimits, ReflectionSettings,
    StaleSettings, StreamSettings, VELOCITY_SOURCES)
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.safety.limits import TorqueLimits
from robodyn_ros.settings import group, Numbers, parameter, settings


@settings()
class Settings:
    """
    Settings of the control cycle: the parameters of docs/parameters.md, and some that nodes lack.

    Those are marked `in_ros=False`: bounds and times that nobody sets who has an arm.

    Raises
    ------
    ParameterError
        A value has a wrong type or is out of range; the message names parameter and remedy.

    """

    mode: str = parameter(
        'computed_torque', 'Control mode at activation. Trajectories are followed by the last of '
        'these laws that was not gravity_compensation, and refused in linear_feedback. A change '
        'while active makes no step of torque.', choices=MODES)
    natural_frequency: Numbers = parameter(
        (20.0,), 'Natural frequency of the tracking error, kp = wn^2.', 'rad/s', 0.0,
        MAX_FREQUENCY, per_joint=True)
    damping_ratio: Numbers = parameter(
        (1.0,), 'Damping ratio of the tracking error, kd = 2 zeta wn.', '', 0.0, 10.0,
        per_joint=True)
    kp: Numbers = parameter(
        (), 'Position gains of the tracking error in place of natural_frequency.', '1/s^2', 0.0,
        MAX_FREQUENCY ** 2, per_joint=True)
    kd: Numbers = parameter(
        (), 'Velocity gains of the tracking error in place of damping_ratio.', '1/s', 0.0,
        20.0 * MAX_FREQUENCY, per_joint=True)
    ki: Numbers = parameter(
        (0.0,), 'Integral gains of computed_torque and feedforward_pd, with anti-windup; below '
        'kp kd.', '1/s^3', 0.0, MAX_FREQUENCY ** 3, per_joint=True)
    impedance: ImpedanceSettings = group(ImpedanceSettings)
    cartesian: CartesianSettings = group(CartesianSettings)
    adaptive: AdaptiveSettings = group(AdaptiveSettings)
    linear_feedback: LinearFeedbackSettings = group(LinearFeedbackSettings)
    armature: Numbers = parameter(
        (0.0,), 'Inertia of the rotors at the joints: rotor inertia times the square of the gear '
        'ratio. Without it the feedback of light wrists is weak.', 'kg m^2 or kg', 0.0,
        MAX_INERTIA, per_joint=True)
    feedback_inertia: Numbers = parameter(
        (), 'Inertia of rotors that the model may lack, added to its inertia in the feedback of '
        'computed_torque, as far as rate and delay of the torques allow. Empty: effort limit / '
        '500 rad/s^2, or what it accelerates to the velocity limit in 5 ms, less the usual '
        'inertia. 0: none.', 'kg m^2 or kg', 0.0, MAX_INERTIA, per_joint=True, in_ros=False)
    loop_delay: float = parameter(
        0.015, 'Delay from a torque to the velocity it causes that no stamp shows, of driver, bus '
        'and filters, which the feedback bears with the inertia of the model alone. Below about '
        '0.005 that of likely rotors has an effect.', 's', 0.0, 0.1)
    float_damping: Numbers = parameter(
        (), 'Damping of the floating arm; empty: a joint alone loses its speed in about a second.',
        'N m s/rad', 0.0, MAX_DAMPING, per_joint=True)
    float_friction: Numbers = parameter(
        (0.0,), 'Part of the friction that is compensated while the arm floats.', '', 0.0, 0.95,
        per_joint=True)
    friction_scale: float = parameter(
        1.0, 'Part of the friction that is compensated along the reference.', '', 0.0, 1.0)
    friction: FrictionSettings = group(FrictionSettings)
    gravity_scale: Numbers = parameter(
        (1.0,), 'Part of the gravity torque that is commanded while the arm follows, holds or '
        'floats; safe states command all of it.', '', 0.0, 2.0, per_joint=True)
    limits: TorqueLimits = group(TorqueLimits, '')
    handshake: bool = parameter(
        True, 'Comparison of the measured effort of the resting arm with its gravity torque '
        'before activation.')
    handshake_tolerance: Numbers = parameter(
        (), 'Difference that is accepted; empty: a tenth of the effort limits.', 'N m or N', 0.0,
        per_joint=True)
    activation_time: float = parameter(
        0.5, 'Time in which feedback grows from 0 after activation.', 's', 0.0, 10.0,
        read_only=True)
    transition_time: float = parameter(
        0.2, 'Time of the transition of the torque when law, gains or limits change.', 's', 0.0,
        5.0)
    load_time: float = parameter(
        1.0, 'Time of the transition to a payload from ~/payload, or gravity from ~/gravity.',
        's', 0.0, 60.0, in_ros=False)
    stop_time: float = parameter(
        0.3, 'Time in which a joint comes to rest from its velocity limit.', 's', 0.05, 5.0,
        read_only=True)
    pause_time: float = parameter(
        0.4, 'Time in which a motion at full speed comes to rest on its path after ~/pause, and '
        'the speed changes from one ~/speed_scaling to another; longer where the torque is '
        'needed.', 's', 0.05, 10.0, in_ros=False)
    external_wrench: ExternalWrenchSettings = group(ExternalWrenchSettings)
    observer: ObserverSettings = group(ObserverSettings)
    disturbance_observer: bool = parameter(
        True, 'Compensation of unknown torque, learned from the error of the position, by '
        'computed_torque and feedforward_pd; not of joints with ki.')
    disturbance_limit: float = parameter(
        0.1, 'Largest compensation of disturbances, as a part of the effort limits.', '', 0.0, 1.0)
    reflection: ReflectionSettings = group(ReflectionSettings)
    collision: CollisionSettings = group(CollisionSettings)
    position_limits: PositionLimits = group(PositionLimits)
    stale: StaleSettings = group(StaleSettings)
    velocity_source: str = parameter(
        'auto', 'Source of the velocities. auto: the joint states, or an estimate from positions '
        'where they have none or contradict positions. measured: the joint states alone. '
        'estimated: positions alone.', choices=VELOCITY_SOURCES, read_only=True)
    velocity_filter: float = parameter(
        0.005, 'Time constant of estimated velocities, at least one period of the states. Their '
        'delay is twice as long, and feedback is lowered accordingly; a shorter one passes more '
        'of the quantisation of the encoders.', 's', 1e-4, 0.1, read_only=True)
    plausibility: PlausibilitySettings = group(PlausibilitySettings)
    overspeed: float = parameter(
        1.2, 'Part of its velocity limit from which on a joint is too fast: it is braked, and a '
        'fault is latched. Above the overshoot of usual gains. .inf: no check.', '', 1.01,
        math.inf, read_only=True)
    overspeed_time: float = parameter(
        0.02, 'Time for which a joint may be too fast; two states where it exceeds its limit by '
        'twice as much.', 's', 1e-3, 1.0, read_only=True, in_ros=False)
    constraints: Constraints = group(Constraints)
    stream: StreamSettings = group(StreamSettings)
    slow_down: bool = parameter(
        False, 'Trajectories that need more torque than there is are slowed down, as a whole, and '
        'not refused.')
    allow_partial_joints_goal: bool = parameter(
        False, 'Acceptance of trajectories that lack joints, which then stay where they are.')

    def check(self) -> None:
        """Raise `ParameterError` where settings contradict each other."""
        if self.observer.torque_source == 'measured' and self.limits.driver_compensates_gravity:
            raise ParameterError(
                'observer.torque_source: measured does not go with driver_compensates_gravity: '
                'true: drivers differ in whether the effort they report includes gravity; set it '
                'to command', parameter='observer.torque_source')
