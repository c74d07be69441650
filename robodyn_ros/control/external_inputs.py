"""Inputs of a controller that are valid until a timeout: wrenches, torques, linear feedback."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.external_laws.linear_feedback import LinearCommand, LinearFeedback
from robodyn_ros.control.laws.table import TRACKING
from robodyn_ros.control.motor_capacity import check_wrench
from robodyn_ros.control.readiness import require_inside, require_ready
from robodyn_ros.control.reflection import Reflection
from robodyn_ros.control.status import Status
from robodyn_ros.control.wrenches import ExternalWrenches
from robodyn_ros.exceptions import StateError


class ExternalInputs:
    """
    Wrenches, reflected torques and linear feedback: checked, then written into the program.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.

    Attributes
    ----------
    wrenches, target : ExternalWrenches
        Known external wrenches, and the negative of the wrench that a link is to apply.
    reflection : Reflection
        Reflected torque of another arm.

    """

    def __init__(self, arm: ControlledArm, status: Status):
        self._arm, self._status = arm, status
        memory, program = arm.memory, arm.program
        self.wrenches = ExternalWrenches(arm.dynamics, memory, program.external)
        self.target = ExternalWrenches(arm.dynamics, memory, program.target)
        self.reflection = Reflection(arm.model, program.reflection)
        self._linear = LinearFeedback(arm.dynamics, program.external_law)

    def clear(self) -> None:
        """End all of them at once."""
        for each in (self.wrenches, self.target, self.reflection):
            each.clear()
        self._arm.program.external_law.until[()] = -np.inf

    def apply_wrench(self, now: float, link: str, wrench) -> None:
        """
        Take into account a wrench, (6,), that the environment applies to a link.

        It is used for `external_wrench.timeout` while the arm follows or holds; a floating arm
        yields to it. Raises as `ExternalWrenches.apply`, and ModelError for a wrench that the
        motors could not bear here.
        """
        self._check(link, wrench, 'wrench', 'against it', '; check the sensor and its unit')
        self.wrenches.apply(now, link, wrench, self._timeout)

    def press(self, now: float, link: str, wrench) -> None:
        """
        Apply a wrench, (6,) in the axes of a link, to the environment.

        It is used for `external_wrench.timeout` while a Cartesian law is active. Raises as
        `ExternalWrenches.apply`, StateError in other modes, and ModelError for a wrench that the
        motors could not apply here.
        """
        law = self._arm.law
        if not TRACKING[law].cartesian:
            raise StateError(f'a target wrench is used in the Cartesian modes only, the mode is '
                             f'{law}; set mode to cartesian_impedance or operational_space')
        require_ready(self._status)
        reaction = -np.asarray(wrench, dtype=float)
        self._check(link, reaction, 'target wrench', 'for it')
        self.target.apply(now, link, reaction, self._timeout)

    def reflect(self, now: float, torque) -> None:
        """
        Reflect another arm's external torque, (nv,), while this one floats.

        It is used for `external_wrench.timeout`. Raises as `Reflection.take`, and StateError if
        the gain is 0.
        """
        if not self.reflection.enabled:
            raise StateError('reflection.gain is 0: no torque is reflected; set it, for example '
                             'to 0.5')
        self.reflection.take(now, torque, self._timeout)

    def take_linear_feedback(self, now: float, command: LinearCommand) -> None:
        """
        Apply a command of linear feedback, for `linear_feedback.timeout`.

        Raises
        ------
        StateError, ArgumentError
            The command is rejected; the one before is used until its timeout.

        """
        if not self._status.expects_linear_feedback:
            raise StateError('linear feedback is not active: set the parameter mode to '
                             'linear_feedback, again if it was disabled meanwhile')
        require_inside(self._status, 'linear feedback')
        arm = self._arm
        arm.loaded_dynamics()  # for the checks
        bounds = arm.design.settings.linear_feedback
        self._linear.take(now, command, (arm.memory.q, arm.memory.qd), arm.design.gains.armature,
                          arm.bounds.usable, bounds)
        arm.messages.timeout = bounds.timeout

    @property
    def _timeout(self) -> float:
        return self._arm.design.settings.external_wrench.timeout

    def _check(self, link: str, wrench, *words: str) -> None:
        """Raise `ModelError` for a wrench, (6,), beyond the torque of the motors here."""
        effect = self.wrenches.effect(self._arm.memory.q, link, wrench)
        check_wrench(self._arm, effect, link, *words)
