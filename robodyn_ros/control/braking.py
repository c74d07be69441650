"""The brake in front of position limits, with each joint's inertia in its present pose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robodyn_ros.model import RobotModel
from robodyn_ros.safety import brake_at_limits

_DAMPING = 160.0  # 1/s, per unit of the joint's inertia
_TIME = 0.1       # s in which a floating joint may reach its limit


class LimitBrake:
    """
    Adds what stops joints in front of their limits.

    Parameters
    ----------
    model : RobotModel
        The robot.
    response : callable
        Of the robot, see there.

    """

    def __init__(self, model: RobotModel, response: Callable):
        self._model, self._response = model, response
        self._brake, self._unit, self._answer = np.zeros((3, model.nv))

    def add(self, torque: np.ndarray, q, qd, armature, free: bool) -> None:
        """
        Add the braking torque to `torque`, in place.

        Parameters
        ----------
        torque, q, qd, armature : (nv,)
            Of the cycle; inertia of the rotors.
        free : bool
            Whether nothing else brakes: then it begins earlier.

        """
        brake = brake_at_limits(q, qd, self._model.lower, self._model.upper, _DAMPING,
                                _TIME if free else 0.25 * _TIME, out=self._brake)
        for j in brake.nonzero()[0]:
            # what 1 N m (N) above the weight would do to the joint while the others are free
            self._unit.fill(0.0)
            self._unit[j] = 1.0
            self._response(q, armature, self._unit, out=self._answer)
            torque[j] += brake[j] / self._answer[j]
