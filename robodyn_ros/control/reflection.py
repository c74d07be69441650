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
from types import SimpleNamespace

import numpy as np

from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE


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
        Of the arm that reflects it.
    program : namespace
        Fields of `steps.reflection.Program`.

    """

    def __init__(self, model: RobotModel, program: SimpleNamespace):
        self._model, self._program = model, program
        program.end[()] = -np.inf

    def change(self, usable: np.ndarray, settings: ReflectionSettings) -> None:
        """
        Use other settings; usable: effort that may be used, (nv,).

        Raises
        ------
        ParameterError
            A gain of wrong length, negative or not finite.

        """
        self._program.gain[:] = not_negative('reflection.gain', settings.gain, self._model)
        self._program.limit[:] = settings.limit * usable

    @property
    def shown(self) -> bool:
        """Whether any of it is reflected."""
        return bool(self._program.gain.any())

    def take(self, now: float, torque, timeout: float) -> None:
        """
        Reflect a torque, (nv,), from now on, for `timeout` seconds.

        Raises
        ------
        ArgumentError
            Not one number per joint, or one that is not finite, naming the joint.

        """
        values = np.array(torque, dtype=float)
        if values.shape != (self._model.nv,):
            raise ArgumentError(f'{values.shape} torques to reflect; give one for each of the '
                                f'{self._model.nv} joints', shape=values.shape)
        bad = ~(np.abs(values) < MAX_PLAUSIBLE_VALUE)
        if bad.any():
            j = int(np.argmax(bad))
            raise ArgumentError(f"effort of joint '{self._model.joint_names[j]}' is {values[j]}; "
                                'it must be finite', joint=self._model.joint_names[j])
        self._program.torque[:] = values
        self._program.end[()] = now + timeout
        self._program.number += 1.0

    def clear(self) -> None:
        """Drop it."""
        self._program.end[()] = -np.inf
