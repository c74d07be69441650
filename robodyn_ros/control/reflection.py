"""
Torque reflection: the hand that moves a floating arm feels what another arm feels.

One arm leads, floating in a hand; another one follows it somewhere else. What pushes the follower,
as its observer sees it, is added here in part to what the leader floats with:
    tau = g(q) - D qd + gain * tau_ext of the follower
(Lawrence 1993, "Stability and transparency in bilateral teleoperation", the force channel). With
delay in between the loop of the two gains energy; a gain below 1, and the damping of the floating
arm, keep it calm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robodyn_ros.control.external import SMOOTHING
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.safety import ABSURD


@dataclass(frozen=True)
class ReflectionSettings:
    """
    How much of another arm's torque is shown.

    Attributes
    ----------
    gain : float or (nv,)
        Part of it; 0 for none.
    limit : float
        Part of the effort limits that it may use.

    """

    gain: float | Sequence[float] = 0.0
    limit: float = 0.2


class Reflection:
    """
    The torque of another arm, until it times out.

    Parameters
    ----------
    model : RobotModel
        Of the arm that shows it.
    usable : (nv,)
        What its motors may give.
    settings : ReflectionSettings
        See there.

    Raises
    ------
    ParameterError
        A gain of wrong length, negative or not finite.

    """

    def __init__(self, model: RobotModel, usable: np.ndarray, settings: ReflectionSettings):
        self._model = model
        self._end = -np.inf
        self._told, self._torque = np.zeros((2, model.nv))
        self.change(usable, settings)

    def change(self, usable: np.ndarray, settings: ReflectionSettings) -> None:
        """Use other settings; raises as the constructor."""
        self._gain = not_negative('reflection.gain', settings.gain, self._model)
        self._limit = settings.limit * usable

    @property
    def shown(self) -> bool:
        """Whether any of it is."""
        return bool(self._gain.any())

    def take(self, now: float, torque, timeout: float) -> None:
        """
        Show a torque, (nv,), from now on, for `timeout` seconds.

        Raises
        ------
        ArgumentError
            Not one number per joint, or one that is not finite, naming the joint.

        """
        values = np.array(torque, dtype=float)
        if values.shape != self._told.shape:
            raise ArgumentError(f'{values.shape} torques to show; give one for each of the '
                                f'{self._told.size} joints', shape=values.shape)
        bad = ~(np.abs(values) < ABSURD)
        if bad.any():
            j = int(np.argmax(bad))
            raise ArgumentError(f"effort of joint '{self._model.joint_names[j]}' is {values[j]}; "
                                'it must be finite', joint=self._model.joint_names[j])
        self._told, self._end = values, now + timeout

    def clear(self) -> None:
        """Forget it at once."""
        self._end = -np.inf
        self._torque[:] = 0.0

    def torque(self, now: float, dt: float) -> np.ndarray:
        """Return what is shown, (nv,), overwritten by the next call; it never steps."""
        wanted = self._gain * self._told if now < self._end else 0.0
        wanted = np.clip(wanted, -self._limit, self._limit)
        self._torque += (wanted - self._torque) * min(dt / SMOOTHING, 1.0)
        return self._torque
