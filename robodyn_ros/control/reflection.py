"""
Force reflection: a part of the external torque of another arm, in gravity compensation.

The leader is guided by hand; the follower tracks it elsewhere. A part of the external torque of
the follower, from its momentum observer, is added to the gravity compensation of the leader:
    tau = g(q) - D qd + gain * tau_ext of the follower
(Lawrence 1993, "Stability and transparency in bilateral teleoperation", the force channel). With
delay between both arms the loop gains energy; a gain below 1, and the damping of the leader, keep
it stable.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.settings import ReflectionSettings
from robodyn_ros.exceptions import ArgumentError
from robodyn_ros.model import RobotModel
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE


class Reflection:
    """
    Reflected torque of another arm, valid until its timeout.

    Parameters
    ----------
    model : RobotModel
        Model of the leader.
    program : namespace
        Fields of `steps.reflection.Program`.

    """

    def __init__(self, model: RobotModel, program: SimpleNamespace):
        self._model, self._program = model, program
        program.end[()] = -np.inf

    def change(self, usable: np.ndarray, settings: ReflectionSettings) -> None:
        """
        Apply other settings; usable: usable effort, (nv,).

        Raises
        ------
        ParameterError
            A list of gains has a wrong length.

        """
        self._program.gain[:] = not_negative('reflection.gain', settings.gain, self._model)
        self._program.limit[:] = settings.limit * usable

    @property
    def enabled(self) -> bool:
        """Whether any torque is reflected."""
        return bool(self._program.gain.any())

    def take(self, now: float, torque, timeout: float) -> None:
        """
        Reflect a torque, (nv,), from now on, for `timeout` seconds.

        Raises
        ------
        ArgumentError
            The length is wrong, or a number is not finite, naming the joint.

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
        """End the reflection at once."""
        self._program.end[()] = -np.inf
