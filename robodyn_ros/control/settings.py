"""What the control cycle is set to, and what it can be doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
import math

import numpy as np

from robodyn_ros.control.adaptive.adaptation import AdaptationSettings
from robodyn_ros.control.contact.settings import ObserverSettings
from robodyn_ros.control.external_laws.linear_feedback import LinearBounds
from robodyn_ros.control.gain_schedule import GainSchedule
from robodyn_ros.control.pose.pose_motion import ReachSettings
from robodyn_ros.control.reflection import ReflectionSettings
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative, per_joint
from robodyn_ros.safety import check_ages, checked_bounds, checked_effort_limits, USUAL_RATE
from robodyn_ros.trajectory import Tolerances


class Mode(Enum):
    """What the controller is doing."""

    INACTIVE = 'inactive'
    HOLD = 'hold'
    FLOAT = 'gravity_compensation'
    TRACK = 'tracking'
    STOP = 'stopping'
    REACH = 'reaching'
    LINEAR_FEEDBACK = 'linear_feedback'
    CARRY = 'carrying'


VELOCITY_SOURCES = ('auto', 'measured', 'estimated')


@dataclass(frozen=True)
class PlausibilitySettings:
    """
    Which measured velocities, states and speeds are plausible.

    Attributes
    ----------
    velocity_source : str
        One of `VELOCITY_SOURCES`.
    velocity_filter : float
        Time constant of estimated velocities in s; their delay is twice as long.
    motion : float
        Motion in rad or m that positions show in spite of resolution and noise, from which on
        velocities are compared with it; infinite: never.
    velocity_lag : float
        Time in s by which measured velocities may lag behind positions.
    repeated : float
        Motion in rad or m that repeated states may hide; infinite: any.
    overspeed : float
        Part of the velocity limit that is too fast; infinite: none is.
    overspeed_time : float
        Time in s after which that is a fault.

    Raises
    ------
    ParameterError
        A number is out of range, or there is no such source.

    """

    velocity_source: str = 'auto'
    velocity_filter: float = 0.005
    motion: float = 0.005
    velocity_lag: float = 0.025
    repeated: float = 0.005
    overspeed: float = 1.2
    overspeed_time: float = 0.02

    def __post_init__(self):
        if self.velocity_source not in VELOCITY_SOURCES:
            raise ParameterError(f'velocity_source is {self.velocity_source!r}; it must be one of '
                                 f'{", ".join(VELOCITY_SOURCES)}', parameter='velocity_source')
        for name, least in (('velocity_filter', 0.0), ('motion', 0.0), ('velocity_lag', 0.0),
                            ('repeated', 0.0), ('overspeed', 1.0), ('overspeed_time', 0.0)):
            value = getattr(self, name)
            if not value > least:
                raise ParameterError(f'{name} is {value:g}; it must be above {least:g}',
                                     parameter=name, value=value)


@dataclass(frozen=True)
class StateSettings:
    """
    Which states are used, and what their absence means.

    Attributes
    ----------
    hold, stop : float
        Age of the newest state in s from which on the arm is brought to rest, and from which on
        that is a fault.
    max_skew : float
        Largest difference of stamp and clock in s; infinite: it is not judged.
    jump : float
        Time at the velocity limit in s by which a position may be off; infinite: any position
        is used.
    patience : float
        Time in s after which states are used that do not continue the way of the arm.
    simulated : bool
        Whether time of the law is that of the stamps.
    plausibility : PlausibilitySettings
        Which of their numbers are plausible.

    """

    hold: float = 0.05
    stop: float = 0.25
    max_skew: float = 1.0
    jump: float = math.inf
    patience: float = 0.3
    simulated: bool = False
    plausibility: PlausibilitySettings = PlausibilitySettings()

    def __post_init__(self):
        check_ages(self.hold, self.stop, self.max_skew)


@dataclass(frozen=True)
class PositionLimits:
    """
    How an arm is treated at and beyond its position limits; rad, or m.

    Attributes
    ----------
    tolerance : float
        Distance beyond a limit that counts as inside: calibration, and what gives way in a push.
    recovery : float
        Largest distance beyond a limit from which an arm at rest is taken over, to be moved
        inwards only; 0: none, farther than the tolerance it is refused.
    speed : float
        Largest speed of that motion in rad/s (m/s).

    Raises
    ------
    ParameterError
        One is negative, not finite, or the speed is 0.

    """

    tolerance: float = 0.01
    recovery: float = 0.2
    speed: float = 0.1

    def __post_init__(self):
        for name in ('tolerance', 'recovery', 'speed'):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf or name == 'speed' and not value:
                least = 'above 0' if name == 'speed' else '0 or more'
                name = f'position_limits.{name}'
                raise ParameterError(f'{name} is {value:g}; it must be finite, and {least}',
                                     parameter=name, value=value)

    @property
    def furthest(self) -> float:
        """Return the largest distance beyond a limit from which an arm is taken over."""
        return max(self.tolerance, self.recovery)


_NOT_NEGATIVE = ('activation_time', 'transition_time', 'load_time', 'energy_tank',
                 'wrench_timeout')
_ABOVE_ZERO = ('stop_time', 'longest_pause')


@dataclass(frozen=True)
class CycleSettings:
    """
    How the cycle behaves; times in seconds.

    Attributes
    ----------
    tracking : str
        The law that follows references, a key of `laws.TRACKING`.
    external_law : str
        The law from outside that is to have the arm, see `control.external_laws`; '' for none.
    start_floating : bool
        Whether activation enters gravity compensation instead of a hold.
    activation_time : float
        In which feedback grows from nothing to its full part.
    transition_time : float
        In which the torque goes over when law, gains or limits change.
    load_time : float
        In which a payload, or another gravity, is taken over.
    energy_tank : float
        Energy in J that a change of stiffness may feed into the arm, see `steps.law_state`.
    wrench_timeout : float
        For which a known external wrench counts.
    adaptation : AdaptationSettings
        How the adaptive law learns a payload.
    gain_schedule : GainSchedule
        How the gains depend on where the arm is.
    stop_time : float
        In which a joint comes to rest from its velocity limit.
    effort_limit : (nv,) or None
        In place of the model's, where that has none, or below it.
    effort_margin : float
        Part of the effort limit that may be used.
    torque_rate : float or (nv,) or None
        Largest change in N m/s (N/s); by default 100 effort limits per second.
    tolerances : Tolerances or None
        For trajectories; None judges nothing.
    allow_partial_joints : bool
        Whether a trajectory may leave joints out; they stay.
    handshake : bool
        Whether the measured effort is compared with the weight before the arm is taken over.
    handshake_tolerance : float or (nv,) or None
        By how much it may differ, in N m (N); by default a tenth of the effort limit.
    linear : LinearBounds
        Of linear feedback.
    reflection : ReflectionSettings
        Of another arm's torque.
    reach : ReachSettings
        How a link is brought to a pose.
    longest_pause : float
        Between two states that the reference makes up for. After a longer one it goes on from
        where it was, and `ArmController.resume` should be called.
    observer : ObserverSettings
        What is made of the external torque.
    states : StateSettings
        Which states are used; of those that are received.
    position_limits : PositionLimits
        How far beyond its limits the arm may be.

    Raises
    ------
    ParameterError
        A time or the energy is not finite, negative, or 0 where that is no time.

    """

    tracking: str = 'computed_torque'
    external_law: str = ''
    start_floating: bool = False
    activation_time: float = 0.5
    transition_time: float = 0.2
    load_time: float = 1.0
    energy_tank: float = 1.0
    wrench_timeout: float = 0.1
    adaptation: AdaptationSettings = AdaptationSettings()
    gain_schedule: GainSchedule = GainSchedule()
    stop_time: float = 0.3
    effort_limit: Sequence[float] | None = None
    effort_margin: float = 1.0
    torque_rate: float | Sequence[float] | None = None
    tolerances: Tolerances | None = None
    allow_partial_joints: bool = False
    handshake: bool = True
    handshake_tolerance: float | Sequence[float] | None = None
    linear: LinearBounds = LinearBounds()
    reflection: ReflectionSettings = ReflectionSettings()
    reach: ReachSettings = ReachSettings()
    longest_pause: float = 0.25
    observer: ObserverSettings = field(default_factory=ObserverSettings)
    states: StateSettings = StateSettings()
    position_limits: PositionLimits = PositionLimits()

    def __post_init__(self):
        for name in (*_NOT_NEGATIVE, *_ABOVE_ZERO):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf or name in _ABOVE_ZERO and not value:
                least = 'above 0' if name in _ABOVE_ZERO else '0 or more'
                raise ParameterError(f'{name} is {value:g}; it must be finite, and {least}',
                                     parameter=name, value=value)


@dataclass(frozen=True, eq=False)
class Bounds:
    """
    What bounds the torque of one robot.

    Attributes
    ----------
    effort : (nv,)
        Effort limits.
    margin : float
        Part of them that may be used.
    usable : (nv,)
        Their product.
    rate : (nv,)
        Largest change in N m/s (N/s).
    handshake : (nv,)
        Difference of measured effort and weight that is taken for friction and noise.

    """

    effort: np.ndarray
    margin: float
    usable: np.ndarray
    rate: np.ndarray
    handshake: np.ndarray

    @classmethod
    def from_settings(cls, model: RobotModel, settings: CycleSettings) -> Bounds:
        """
        Return the bounds that the settings ask for.

        Raises
        ------
        ParameterError
            A wrong length or value, naming the joint.

        """
        effort = checked_effort_limit(model, settings.effort_limit)
        rate = (USUAL_RATE * effort if settings.torque_rate is None
                else per_joint('torque_rate_limit', settings.torque_rate, model.joint_names))
        handshake = (0.1 * effort if settings.handshake_tolerance is None else not_negative(
            'handshake_tolerance', settings.handshake_tolerance, model))
        usable, rate = checked_bounds(model.joint_names, effort, rate, settings.effort_margin)
        return cls(effort, settings.effort_margin, usable, rate, handshake)


def checked_effort_limit(model: RobotModel, override: Sequence[float] | None) -> np.ndarray:
    """
    Return the effort limits to obey.

    Raises
    ------
    ParameterError
        A limit is zero, negative or not finite: torque must have a bound. Or above that of the
        URDF.

    """
    limit = (np.array(model.effort_limit) if override is None or not len(override)
             else per_joint('effort_limit', override, model.joint_names))
    return checked_effort_limits(model.joint_names, limit, model.effort_limit)
