"""Bounds of the torque of one robot, and of its change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.settings import Settings
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.safety import checked_bounds
from robodyn_ros.safety.limits import effort_and_rate


@dataclass(frozen=True, eq=False)
class Bounds:
    """
    Bounds of the torque of one robot.

    Attributes
    ----------
    effort : (nv,)
        Effort limits in N m (N).
    margin : float
        Part of them that may be used.
    usable : (nv,)
        Their product.
    rate : (nv,)
        Largest change in N m/s (N/s).
    handshake : (nv,)
        Difference of measured effort and gravity torque that is attributed to friction and noise,
        in N m (N).

    """

    effort: np.ndarray
    margin: float
    usable: np.ndarray
    rate: np.ndarray
    handshake: np.ndarray

    @classmethod
    def from_settings(cls, model: RobotModel, settings: Settings) -> Bounds:
        """
        Return the bounds of a robot with these settings.

        Raises
        ------
        ParameterError
            A wrong length or value, naming the joint.

        """
        limits = settings.limits
        effort, rate = effort_and_rate(limits, model.joint_names, model.effort_limit)
        handshake = (not_negative('handshake_tolerance', settings.handshake_tolerance, model)
                     if settings.handshake_tolerance else 0.1 * effort)
        usable, rate = checked_bounds(model.joint_names, effort, rate, limits.effort_margin)
        return cls(effort, limits.effort_margin, usable, rate, handshake)
