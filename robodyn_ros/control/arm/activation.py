"""Activation, deactivation and resumption of the control of an arm."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.arm import checks
from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.external_inputs import ExternalInputs
from robodyn_ros.control.arm.path_speed import PathSpeed
from robodyn_ros.control.arm.request_writer import check_activation, RequestWriter
from robodyn_ros.control.arm.status import Status
from robodyn_ros.control.mode import EXTERNAL_LAWS, Mode
from robodyn_ros.control.steps import external_law, modes


class Activation:
    """
    Checks that an arm can be controlled, and starts and ends its control.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.
    requests : RequestWriter
        Requests to its cycle.
    inputs : ExternalInputs
        Inputs with a timeout.
    path_speed : PathSpeed
        Scaling and pause of motions.

    """

    def __init__(self, arm: ControlledArm, status: Status, requests: RequestWriter,
                 inputs: ExternalInputs, path_speed: PathSpeed):
        self._arm, self._status, self._requests = arm, status, requests
        self._inputs, self._path_speed = inputs, path_speed

    def activate(self, now: float, q: np.ndarray, qd: np.ndarray, arrival: float = 0.0) -> None:
        """
        Activate at the measured position: the first torque is the gravity torque.

        `arrival` is the time of the steady clock of `receive`.

        Raises
        ------
        StateError
            The state is not one number a joint, is not finite, or a joint is outside its limits.

        """
        self.check_state(q, qd)
        self._inputs.clear()
        self._path_speed.release()
        arm, mode = self._arm, self._arm.design.settings.mode
        arm.program.motion.floats[()] = mode == Mode.FLOAT.value
        arm.program.external_law.choice[()] = EXTERNAL_LAWS.get(mode, external_law.NONE)
        arm.host.state.arrival[()] = arrival
        self._requests.make_at(modes.TO_TAKE_OVER, now, q, qd)

    def check_state(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Raise `StateError` if control cannot be activated in this state."""
        check_activation(self._status, q, qd)

    def check_effort(self, q: np.ndarray, qd: np.ndarray, effort: np.ndarray,
                     driver_compensates_gravity: bool = False) -> str:
        """
        Compare the effort of the resting arm, (nv,), with its gravity torque, see `handshake`.

        Returns
        -------
        notice : str
            Reason why all or some joints were not compared; '' if all were.

        Raises
        ------
        StateError
            They contradict each other; the message names the joint, and the likely cause.

        """
        arm = self._arm
        if not arm.design.settings.handshake:
            return ''
        return checks.check_effort(
            arm.loaded_dynamics(), arm.loads, q, qd, effort, arm.bounds.handshake,
            driver_compensates_gravity)

    def deactivate(self) -> None:
        """End all motion; the last torque to be sent is `gravity_torque`."""
        self._requests.make(modes.TO_DEACTIVATE)

    def resume(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Hold at the measured position after silence; feedback grows from zero.

        Also after a pause without calls of `coast`; an arm that floats continues to float.
        """
        if self._status.mode is not Mode.INACTIVE:
            self._requests.make_at(modes.TO_RESUME, now, q, qd)
