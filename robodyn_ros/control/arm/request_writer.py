"""Requests to the control cycle, and what they require."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.arm.checks import check_state
from robodyn_ros.control.arm.controlled_arm import ControlledArm
from robodyn_ros.control.arm.load_changes import overload
from robodyn_ros.control.arm.program_writer import request
from robodyn_ros.control.arm.status import Status, UNANSWERED
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.steps import modes
from robodyn_ros.exceptions import StateError
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.safety.events import CONTRADICTED
from robodyn_ros.safety.velocity_check import SMALL, WRONG

_SLOW = 0.5  # of the velocity limit, above which a passive stop is not ended


def require_slow(status: Status, qd: np.ndarray, part: float, what: str) -> None:
    """
    Raise `StateError` if a joint is too fast for a request.

    Parameters
    ----------
    status : Status
        Status of the controller.
    qd : (nv,)
        Velocities, in rad/s or m/s.
    part : float
        Part of the velocity limit that is permitted.
    what : str
        The request.

    """
    model = status.arm.model
    most = part * speeds(model)
    j = int(np.argmax(np.abs(qd) / most))
    if abs(qd[j]) > most[j]:
        raise StateError(
            f"{what} is refused: joint '{model.joint_names[j]}' moves at {qd[j]:.3g} "
            f'{model.position_units[j]}/s, above {most[j]:.3g}; wait until the arm is slow, or '
            'stop it with its emergency stop', joint=model.joint_names[j], value=float(qd[j]))


def require_slow_for_reset(status: Status) -> None:
    """Raise `StateError` if a joint is too fast for the reset of a fault."""
    most = _SLOW if status.mode is Mode.PASSIVE else status.arm.design.settings.overspeed
    if status.arm.memory.gravity_check.carried:
        raise StateError(f'the cause is still there: {status.fault}; activate it again')
    if status.mode is not Mode.INACTIVE and np.isfinite(most):
        require_slow(status, status.arm.memory.qd, most, 'the reset of the fault')


def check_activation(status: Status, q: np.ndarray, qd: np.ndarray) -> None:
    """Raise `StateError` if control cannot be activated in this state."""
    arm = status.arm
    check_state(arm.model, q, qd, arm.design.settings.position_limits)
    most = arm.design.settings.overspeed
    if np.isfinite(most):
        require_slow(status, np.asarray(qd, dtype=float), most, 'activation')
    problem = overload(arm, arm.gravity_torque(q), arm.bounds)
    if problem:
        raise StateError(f'{problem}; move the arm to a pose with less gravity torque, or '
                         'raise effort_margin or effort_limit')
    for name, ratio in status.contradicted_velocities.items():
        if not -SMALL < ratio < WRONG:
            reason = arm.messages.text(SimpleNamespace(
                code=CONTRADICTED, joint=arm.model.joint_names.index(name), value=ratio,
                bound=0.0, time=0.0))
            raise StateError(f'{reason}; correct and restart the driver, or move the arm by '
                             'hand until they agree', joint=name, value=ratio)


def require_ready(status: Status) -> None:
    """Raise `StateError` unless the controller is active and without a fault."""
    if status.mode is Mode.INACTIVE:
        raise StateError('the controller is not active; activate it first (with autostart it '
                         'activates itself: its log has what it waits for)')
    if status.arm.memory.motion.shutdown.attempt:
        raise StateError('the control of the arm is being ended; activate it again first')
    if status.fault:
        raise StateError(f'a fault is latched: {status.fault}; remove its cause, then call '
                         'reset_fault')


def require_free(status: Status) -> None:
    """Raise `StateError` if no motion may begin."""
    require_ready(status)
    if status.expects_linear_feedback:
        raise StateError('the mode is linear_feedback: torques come from ~/linear_feedback; '
                         'choose another mode, such as computed_torque, to follow trajectories')
    loop = status.arm.design.loop
    if loop is not None and not loop.answers:
        raise StateError(f'{UNANSWERED} A motion is possible as soon as a joint answers, which is '
                         'tried again and again while the arm is held; if friction above 6 % of '
                         'the effort limits holds all joints, set measure_loop: false')
    if status.loop_problem:
        raise StateError(status.loop_problem)


def require_inside(status: Status, what: str) -> None:
    """Raise `StateError` for a request that is refused while a joint is in recovery."""
    if status.recovery:
        raise StateError(f'{status.recovery}, so {what} is refused: bring it inside by a '
                         'trajectory, or by hand while the arm floats')


# --- requests ------------------------------------------------------------------------------------

class RequestWriter:
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
