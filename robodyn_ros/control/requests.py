"""Requests to the control cycle: modes, stops and faults. The cycle handles them in `steps`."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.controlled_arm import ControlledArm
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.program_writer import request
from robodyn_ros.control.readiness import require_ready
from robodyn_ros.control.status import Status
from robodyn_ros.control.steps import modes


class Requests:
    """
    Writes requests into the program of an arm, and applies them to its memory at once.

    Parameters
    ----------
    arm : ControlledArm
        The arm.
    status : Status
        Its status.

    """

    def __init__(self, arm: ControlledArm, status: Status):
        self._arm, self._status = arm, status

    def make(self, kind: float, text: str = '', disables: float = 0.0, now: float = 0.0) -> None:
        """
        Make a request.

        Parameters
        ----------
        kind : float
            Kind of the request, see `steps.modes`.
        text : str
            Reason, for the message of a motion that it ends.
        disables : float
            External laws that it disables: 0 none, 1 linear feedback, 2 all.
        now : float
            Time of the cycle in s, of a request that starts from a measured state.

        """
        request(self._arm.program, kind, self.cause(text), disables)
        self._arm.host.apply(now)

    def make_at(self, kind: float, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Make a request that starts from a measured state."""
        state = self._arm.host.state
        state.q[:], state.qd[:] = q, qd
        self.make(kind, now=now)

    def hold(self, reason: str = 'hold was requested') -> None:
        """Decelerate and hold; raises `StateError` if the controller is not ready."""
        require_ready(self._status)
        self.make(modes.TO_REST, self._disabling(reason), disables=1.0)

    def compensate_gravity(self, reason: str = 'float was requested') -> None:
        """Compensate gravity: the arm floats; raises `StateError` if it is not ready."""
        require_ready(self._status)
        self.make(modes.TO_FLOAT, self._disabling(reason), disables=1.0)

    def _disabling(self, reason: str) -> str:
        """Return the reason of a request that disables linear feedback, with that."""
        return reason + ('; linear feedback is disabled until mode is set to linear_feedback again'
                         if self._status.expects_linear_feedback else '')

    def stop(self, message: str) -> None:
        """Decelerate and hold by the built-in law, unless inactive; never raises."""
        self.rest(self._disabling(message), disables=2.0)

    def rest(self, message: str, disables: float = 0.0) -> None:
        """Decelerate and hold with the law that is at work, unless inactive; never raises."""
        if self._status.mode is not Mode.INACTIVE:
            self.make(modes.TO_REST, message, disables)

    def shut_down(self, message: str, release: float | None = None) -> None:
        """
        End control within some seconds: see `shutdown_over`, then deactivate. Never raises.

        The built-in law brings the arm to rest; then feedback fades to the gravity torque. An arm
        that swings without feedback is stopped again.

        Parameters
        ----------
        message : str
            How a motion under way ends.
        release : float, optional
            Time in s of a ramp to zero at the end; by default the gravity torque is the last one.

        """
        if self._status.mode is Mode.INACTIVE:
            return
        p = self._arm.program.motion.shutdown
        p.releases[()], p.release[()] = release is not None, release or 0.0
        p.number += 1.0
        self.rest(message, disables=2.0)

    def fail(self, fault: str) -> None:
        """Latch a fault and stop; the first fault stays."""
        p = self._arm.program.motion
        p.fault_code[()] = self._code(fault)
        p.fault += 1.0
        self._arm.host.apply()

    def reset_fault(self) -> None:
        """Clear the fault."""
        self._arm.program.motion.reset += 1.0
        self._arm.host.apply()

    def start_from(self, torque: np.ndarray) -> None:
        """Start from the last torque, (nv,), of another commander."""
        self._arm.program.start_torque[:] = torque
        self._arm.program.start += 1.0
        self._arm.host.apply()

    def cause(self, text: str) -> float:
        """Return the code of a text that names the cause of something; 0 for none."""
        return self._code(text) if text else 0.0

    def _code(self, text: str) -> float:
        m = self._arm.memory
        evidence = [*vars(m.motion.message).values(), *vars(m.motion.fault).values()]
        return self._arm.messages.code(text, (*evidence, m.external_law.reason))
