"""Checks that a controller may be activated, and that it accepts a request."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.control.activation_checks import check_state
from robodyn_ros.control.mode import Mode
from robodyn_ros.control.motor_capacity import overload
from robodyn_ros.control.status import Status, UNANSWERED
from robodyn_ros.control.steps import gravity_check
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
    if status.arm.memory.gravity_check.carried == gravity_check.TWICE:
        raise StateError(f'the cause is still there: {status.fault}')
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


def require_inside(status: Status, what: str) -> None:
    """Raise `StateError` for a request that is refused while a joint is in recovery."""
    if status.recovery:
        raise StateError(f'{status.recovery}, so {what} is refused: bring it inside by a '
                         'trajectory, or by hand while the arm floats')
