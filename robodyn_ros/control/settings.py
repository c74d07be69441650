"""What the control cycle is set to, and what it can be doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
import math

import numpy as np

from robodyn_ros.control.gains import not_negative, per_joint
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.model import RobotModel
from robodyn_ros.trajectory import Tolerances


class Mode(Enum):
    """What the controller is doing."""

    INACTIVE = 'inactive'
    HOLD = 'hold'
    FLOAT = 'gravity_compensation'
    TRACK = 'tracking'
    STOP = 'stopping'


@dataclass(frozen=True)
class CycleSettings:
    """
    How the cycle behaves; times in seconds.

    Attributes
    ----------
    tracking : str
        The law that follows references, a key of `laws.TRACKING`.
    start_floating : bool
        Whether activation enters gravity compensation instead of a hold.
    activation_time : float
        In which feedback grows from nothing to its full part.
    transition_time : float
        In which the torque goes over when law, gains or limits change.
    load_time : float
        In which a payload, or another gravity, is taken over.
    energy_tank : float
        Energy in J that a change of stiffness may feed into the arm, see `VaryingStiffness`.
    wrench_timeout : float
        For which a known external wrench counts.
    stop_time : float
        In which a joint comes to rest from its velocity limit.
    effort_limit : (nv,) or None
        In place of the model's.
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
    longest_pause : float
        Between two states that the reference makes up for. After a longer one it goes on from
        where it was, and `ArmController.resume` should be called.

    """

    tracking: str = 'computed_torque'
    start_floating: bool = False
    activation_time: float = 0.5
    transition_time: float = 0.2
    load_time: float = 1.0
    energy_tank: float = 1.0
    wrench_timeout: float = 0.1
    stop_time: float = 0.3
    effort_limit: Sequence[float] | None = None
    effort_margin: float = 1.0
    torque_rate: float | Sequence[float] | None = None
    tolerances: Tolerances | None = None
    allow_partial_joints: bool = False
    handshake: bool = True
    handshake_tolerance: float | Sequence[float] | None = None
    longest_pause: float = 0.25


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
        rate = (100.0 * effort if settings.torque_rate is None
                else per_joint('torque_rate_limit', settings.torque_rate, model))
        handshake = (0.1 * effort if settings.handshake_tolerance is None else not_negative(
            'handshake_tolerance', settings.handshake_tolerance, model))
        return cls(effort, settings.effort_margin, effort * settings.effort_margin, rate,
                   handshake)


def checked_effort_limit(model: RobotModel, override: Sequence[float] | None) -> np.ndarray:
    """
    Return the effort limits to obey.

    Raises
    ------
    ParameterError
        A limit is zero, negative or not finite: torque must have a bound.

    """
    limit = (np.array(model.effort_limit) if override is None or not len(override)
             else per_joint('effort_limit', override, model))
    for name, value in zip(model.joint_names, limit):
        if not 0.0 < value < math.inf:
            raise ParameterError(
                f"joint '{name}' has effort limit {value:g}: the torque must have a bound above "
                'zero; correct <limit effort> in the URDF, or set the parameter effort_limit',
                joint=name, value=float(value))
    return limit
