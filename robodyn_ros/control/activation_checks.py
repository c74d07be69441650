"""Checks before an arm is taken over."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from robodyn_ros.control.handshake import contradiction, RestingArm, unusable
from robodyn_ros.control.settings import PositionLimits
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import shown, StateError
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE

_LARGE = 0.1         # rad or m, below which distances are printed in thousandths
_STILL = 0.05        # rad/s or m/s, below which the effort is compared with the gravity torque


def joint_values(joint_names: Sequence[str], what: str, values) -> np.ndarray:
    """Return values as an array, (nv,); raise `StateError` if they are not one number a joint."""
    try:
        row = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        row = np.empty((0, 0))
    if row.shape != (len(joint_names),):
        raise StateError(f'{what} = {shown(values)}; give a number for each of '
                         f'{", ".join(joint_names)}')
    return row


def unusable_state(joint_names: Sequence[str], q: np.ndarray, qd: np.ndarray) -> str:
    """Return the first joint with unusable position or velocity, as text; '' if none."""
    for name, x, v in zip(joint_names, q, qd):
        if not (abs(x) < MAX_PLAUSIBLE_VALUE and abs(v) < MAX_PLAUSIBLE_VALUE):
            return (f"joint '{name}' reports position {x}, velocity {v}; both must be finite "
                    f'numbers below {MAX_PLAUSIBLE_VALUE:g}')
    return ''


def check_state(model, q: np.ndarray, qd: np.ndarray,
                limits: PositionLimits = PositionLimits()) -> None:
    """Raise `StateError` if the arm cannot be taken over in this state, not even for recovery."""
    q, qd = (joint_values(model.joint_names, *row) for row in (('position', q), ('velocity', qd)))
    problem = unusable_state(model.joint_names, q, qd)
    if problem:
        raise StateError(problem)
    beyond = q - np.clip(q, model.lower, model.upper)
    for j in map(int, np.flatnonzero(np.abs(beyond) > limits.tolerance)):
        name, x, place = model.joint_names[j], float(q[j]), where_beyond(model, j, beyond[j])
        if abs(beyond[j]) > limits.furthest:
            permitted = (f'more than the {limits.furthest:g} of position_limits.'
                         + ('recovery' if limits.recovery else 'tolerance'))
            turned = x - math.copysign(2.0 * math.pi, beyond[j])
            turn = 'less' if beyond[j] > 0.0 else 'more'
            inside = (f' (one turn {turn} is inside)' if model.position_units[j] == 'rad'
                      and model.lower[j] <= turned <= model.upper[j] else '')
            remedy = f'move it inside by hand, or correct its limits or its encoder offset{inside}'
            raise StateError(f"joint '{name}' stands at {x:.4f}, {place}, {permitted}; {remedy}",
                             joint=name, value=x)
        if abs(qd[j]) > _STILL:
            raise StateError(f"joint '{name}' stands at {x:.4f}, {place}, and moves at "
                             f'{qd[j]:.3g} {model.position_units[j]}/s; it can be taken over '
                             'there when it is at rest', joint=name, value=x)


def recovery_notice(model, q: np.ndarray, side: np.ndarray) -> str:
    """Return which joints are beyond their upper limit (side 1) or lower limit (-1), or ''."""
    edge = np.where(side > 0.0, model.upper, model.lower)
    joints = np.flatnonzero(side)
    named = (f"joint '{model.joint_names[j]}' is {where_beyond(model, j, q[j] - edge[j])}"
             for j in map(int, joints))
    return ', '.join(named) + '; recovery: only inward motion' if joints.size else ''


def sides_beyond(model, lower: np.ndarray, upper: np.ndarray, tolerance: float) -> np.ndarray:
    """Return 1 where `upper` is above the upper limit, -1 where `lower` is below the lower one."""
    return 1.0 * (upper > model.upper + tolerance) - 1.0 * (lower < model.lower - tolerance)


def where_beyond(model, j: int, distance: float) -> str:
    """Return as text how far a joint is beyond a limit; distance in rad or m, positive above."""
    limit, side = ((model.upper[j], 'upper') if distance > 0.0 else (model.lower[j], 'lower'))
    unit, size = model.position_units[j], abs(distance)
    shown = f'{size:.3g} {unit}' if size >= _LARGE else f'{1e3 * size:.3g} m{unit}'
    return f'{shown} beyond its {side} limit {limit:g}'


def check_effort(dynamics: Dynamics, loads: Loads, q: np.ndarray, qd: np.ndarray,
                 effort: np.ndarray, tolerance: np.ndarray,
                 driver_compensates_gravity: bool) -> str:
    """
    Compare the measured effort of the arm at rest with its gravity torque.

    Returns
    -------
    notice : str
        Why the comparison was not possible, or not for all joints; '' if it was complete.

    Raises
    ------
    StateError
        They disagree; the message names the joint and the likely cause.

    """
    model = dynamics.model
    j = int(np.argmax(np.abs(qd)))
    if abs(qd[j]) > _STILL:
        return f"joint '{model.joint_names[j]}' moves at {qd[j]:.3g} {model.position_units[j]}/s"
    if not np.isfinite(effort).any():
        return 'the joint states contain no effort'
    # joint torques of 1 kg at the tip
    load = -dynamics.jacobian(q, model.tip)[:3].T @ model.gravity
    arm = RestingArm(model, np.array(effort), dynamics.gravity(q), loads.unit_gravity_torques(q),
                     load, model.tip, tolerance)
    problem = contradiction(arm, driver_compensates_gravity)
    if problem:
        raise StateError(problem)
    return unusable(arm)
