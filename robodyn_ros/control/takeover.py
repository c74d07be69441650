"""What is looked at before an arm is taken over."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.control.handshake import contradiction, RestingArm, unusable
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import StateError
from robodyn_ros.safety import ABSURD

_LIMIT_SLACK = 1e-3  # rad or m: calibration and rounding
_STILL = 0.05        # rad/s or m/s; what moves is held by more than its weight


def unusable_state(joint_names: Sequence[str], q: np.ndarray, qd: np.ndarray) -> str:
    """Return which joint's state is not a number, and how; empty if none."""
    for name, x, v in zip(joint_names, q, qd):
        if not (abs(x) < ABSURD and abs(v) < ABSURD):
            return (f"joint '{name}' reports position {x}, velocity {v}; both must be finite "
                    f'numbers below {ABSURD:g}')
    return ''


def check_state(model, q: np.ndarray, qd: np.ndarray) -> None:
    """Raise `StateError` if the arm cannot be taken over in this state."""
    problem = unusable_state(model.joint_names, q, qd)
    if problem:
        raise StateError(problem)
    for name, x, low, high in zip(model.joint_names, q, model.lower, model.upper):
        if not low - _LIMIT_SLACK <= x <= high + _LIMIT_SLACK:
            raise StateError(
                f"joint '{name}' stands at {x:.4f}, outside its limits [{low:g}, {high:g}]; "
                'move it inside by hand, or correct its limits or its encoder offset',
                joint=name, value=float(x))


def check_effort(dynamics: Dynamics, loads: Loads, q: np.ndarray, qd: np.ndarray,
                 effort: np.ndarray, tolerance: np.ndarray,
                 driver_compensates_gravity: bool) -> str:
    """
    Compare the measured effort of the resting arm with its weight.

    Returns
    -------
    notice : str
        Why there was nothing to compare, or only a part; '' if all was.

    Raises
    ------
    StateError
        They contradict each other; the message names the joint, and the likely cause.

    """
    model = dynamics.model
    j = int(np.argmax(np.abs(qd)))
    if abs(qd[j]) > _STILL:
        return f"joint '{model.joint_names[j]}' moves at {qd[j]:.3g}"
    if not np.isfinite(effort).any():
        return 'the joint states carry no effort'
    # a weight of 1 kg at the tip pulls with m g
    load = -dynamics.jacobian(q, model.tip)[:3].T @ model.gravity
    arm = RestingArm(model, np.array(effort), dynamics.gravity(q), loads.unit_weights(q),
                     load, model.tip, tolerance)
    problem = contradiction(arm, driver_compensates_gravity)
    if problem:
        raise StateError(problem)
    return unusable(arm)
