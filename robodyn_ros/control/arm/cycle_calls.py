"""Calls of the control cycle: for a measured state, between two states, and in silence."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.arm.checks import joint_values
from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.external_inputs import ExternalInputs
from robodyn_ros.control.arm.request_writer import RequestWriter
from robodyn_ros.safety.acceptance import (
    BETWEEN, DUE, FROM_STATE, RECEIVED, REQUESTS, SILENT, WAITING)


class CycleCalls:
    """
    Writes a state into the block of an arm, and runs its cycle.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    requests : RequestWriter
        Requests to its cycle.
    inputs : ExternalInputs
        Inputs with a timeout.

    """

    def __init__(self, arm: ControlledArm, requests: RequestWriter, inputs: ExternalInputs):
        self._arm, self._requests, self._inputs = arm, requests, inputs
        self._m, self._state = arm.memory, arm.host.state
        self._latest = -np.inf  # time of the last cycle

    def update(self, now: float, q: np.ndarray, qd: np.ndarray,
               effort: np.ndarray | None = None) -> np.ndarray:
        """
        Return the torque for a fresh state.

        Parameters
        ----------
        now : float
            Seconds, of a clock that never goes back.
        q, qd : (nv,)
            Measured. A state that is not finite is a fault, and counts as silence.
        effort : (nv,), optional
            Measured, for the observer; NaN where it is not.

        Returns
        -------
        torque : (nv,)
            To be sent; overwritten by the next call.

        """
        state = self._state
        try:
            state.q[:], state.qd[:] = q, qd
            state.effort[:] = np.nan if effort is None else effort
        except (TypeError, ValueError):
            for row in (('position', q), ('velocity', qd), ('effort', effort)):
                joint_values(self._arm.model.joint_names, *row)
            raise
        return self._arm.host.run(FROM_STATE, now)

    def receive(self, arrival: float, stamp: float, clock: float, permitted: bool = True
                ) -> np.ndarray | None:
        """
        Return the torque for a state that was received, or None: see `states`.

        The state is written into `host.state` before: q, qd, effort (NaN where there is none).

        Parameters
        ----------
        arrival : float
            Time of a steady clock, in s.
        stamp : float
            Of the state, in s; 0 if it has none.
        clock : float
            Time of the clock of the stamps at arrival.
        permitted : bool
            Whether a torque may be sent.

        """
        state = self._state
        state.stamp[()], state.clock[()], state.cause[()] = stamp, clock, 0.0
        return self._accept(RECEIVED, arrival, permitted)

    def wait(self, arrival: float, permitted: bool = True, due: bool = False,
             problem: str = '') -> np.ndarray | None:
        """
        Return the torque that is due without a new state, or None.

        Parameters
        ----------
        arrival, permitted
            As for `receive`.
        due : bool
            Whether a torque is due between two states.
        problem : str
            Reason why received states could not be read, for the message of a silence.

        """
        self._state.cause[()] = self._requests.cause(problem)
        return self._accept(DUE if due else WAITING, arrival, permitted)

    def _accept(self, kind: float, arrival: float, permitted: bool) -> np.ndarray | None:
        state = self._state
        state.arrival[()], state.permitted[()] = arrival, permitted
        torque = self._arm.host.run(kind, arrival)
        self.check_time()
        return None if self._m.acceptance.kind == REQUESTS else torque

    def check_time(self) -> None:
        """Drop timed inputs if a simulation has set its clock back; after each cycle."""
        before, self._latest = self._latest, float(self._m.last_time)
        if self._latest < before - self._arm.design.settings.external_wrench.timeout:
            self._inputs.clear()

    def lose(self) -> None:
        """Record that another node commands the arm: the next state starts control anew."""
        self._arm.program.acceptance.takeover_count += 1.0

    def between(self, now: float) -> np.ndarray:
        """
        Return the torque between two states: that of the law for the predicted one.

        The prediction has the external torque that the observer sees: what is not in the model
        would otherwise soften feedback, because between two states there would be no error.
        """
        return self._arm.host.run(BETWEEN, now)

    def coast(self, now: float, reason: str = '') -> np.ndarray:
        """
        Return the torque while no state can be used.

        The reference comes to rest, and the law brings there an arm that the model predicts from
        the last state used and the torques since. At rest the gravity torque remains. A motion
        ends with the `reason` as its message.
        """
        self._state.cause[()] = self._requests.cause(reason)
        return self._arm.host.run(SILENT, now)
