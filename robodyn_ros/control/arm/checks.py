"""
Checks of an arm before it is taken over: state, position limits, effort at rest.

A driver that compensates gravity itself, a wrong sign or unit, or a wrong mounting are detected in
the effort at rest, before the arm moves. Pure: numbers in, a finding out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import math

import numpy as np

from robodyn_ros.control.settings import PositionLimits
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads
from robodyn_ros.exceptions import shown, StateError
from robodyn_ros.model import RobotModel
from robodyn_ros.safety import MAX_PLAUSIBLE_VALUE

STANDARD_GRAVITY = 9.81
_SIZE = 0.1       # relative deviation of an estimated gravity from the standard one
_TILT = 0.1     # rad, smallest tilt of a mounting that is reported
_DEVIATION = 0.1      # smallest deviation of a constant ratio from 1 that is reported
_NOTHING = 1e-9      # N m or N, of a field that is not filled
_MANY = 3.0          # times its gravity torque, in another unit
_MAX_PAYLOAD = 0.5   # of the mass of the arm, largest missing payload that is reported
_LARGE = 0.1         # rad or m, below which distances are printed in thousandths
_STILL = 0.05        # rad/s or m/s, below which the effort is compared with the gravity torque


@dataclass(frozen=True, eq=False)
class RestingArm:
    """
    Measured and modelled efforts of an arm at rest.

    Attributes
    ----------
    model : RobotModel
        Joint names, and gravity.
    measured : (nv,) array
        Measured effort, N m or N; NaN where none is reported.
    g : (nv,) array
        Gravity torque g(q), N m or N.
    unit_g : (3, nv) array
        g(q) under gravity of 1 m/s^2 along x, y, and z of the base.
    load : (nv,) array
        Contribution of 1 kg at the tip to g(q).
    tip : str
        Name of the tip link.
    tolerance : (nv,) array
        Tolerated difference, due to friction and noise.

    """

    model: RobotModel
    measured: np.ndarray
    g: np.ndarray
    unit_g: np.ndarray
    load: np.ndarray
    tip: str
    tolerance: np.ndarray

    @property
    def reported(self) -> np.ndarray:
        """Return the indices of the joints that report an effort."""
        return np.flatnonzero(np.isfinite(self.measured))

    def fits(self, expected) -> bool:
        """Whether the measured effort agrees with an expected one."""
        return not self.misfits(expected).size

    def misfits(self, expected) -> np.ndarray:
        """Return the indices of the joints whose effort disagrees with an expected one."""
        reported = self.reported
        away = np.abs(self.measured - np.asarray(expected))[reported] > self.tolerance[reported]
        return reported[away]


def contradiction(arm: RestingArm, driver_compensates_gravity: bool = False) -> str:
    """
    Return the contradiction to the model, with likely cause and remedy; '' if there is none.

    A driver that compensates gravity may report the motor torque (the gravity torque) or only the
    commanded torque (zero): both are accepted then.
    """
    if arm.fits(arm.g) or (driver_compensates_gravity and arm.fits(0.0 * arm.g)):
        return ''
    wrong = arm.misfits(arm.g)
    j = wrong[np.argmax((np.abs(arm.measured - arm.g) / (arm.tolerance + 1e-12))[wrong])]
    name, torque = arm.model.joint_names[j], arm.measured[j]
    return (f"joint '{name}' reports {torque:.2f} at rest, but its gravity torque in the "
            f'model is {arm.g[j]:.2f} (tolerance {arm.tolerance[j]:.2f}, N m or N); '
            f'{_cause(arm)}. If that is intended, set handshake: false')


def unusable(arm: RestingArm) -> str:
    """Return why the arm cannot be checked, '' if it can."""
    missing = [name for name, effort in zip(arm.model.joint_names, arm.measured)
               if not np.isfinite(effort)]
    if missing:
        return f'no effort is reported for {", ".join(missing)}'
    return ''


def _cause(arm: RestingArm) -> str:
    for explain in (_zero, _sign):
        if cause := explain(arm):
            return cause
    # with few joints, or a wide tolerance, there may be several causes
    causes = [cause for explain in (_ratio, _payload, _mounting) if (cause := explain(arm))]
    return '; or '.join(causes) or _one_unit(arm) or (
        'neither a sign, a unit, a payload at the tip nor the mounting explains it: compare '
        'masses and joint axes of the URDF with the arm, and order and names of its joints')


def _zero(arm: RestingArm) -> str:
    if not arm.fits(0.0 * arm.g):
        return ''
    if np.abs(arm.measured[arm.reported]).max() < _NOTHING:
        return ('all efforts are 0: the driver does not fill them, the brakes hold the arm, or it '
                'compensates gravity itself. Only in the last case set '
                'driver_compensates_gravity: true, as the arm falls otherwise; efforts that are '
                'not measured must be left out')
    return ('likely the driver compensates gravity itself: then set driver_compensates_gravity: '
            'true, or gravity would be compensated twice; or the brakes hold the arm: release '
            'them first')


def _sign(arm: RestingArm) -> str:
    wrong = arm.misfits(arm.g)
    flipped = arm.g.copy()
    flipped[wrong] *= -1.0
    if not arm.fits(flipped):
        return ''
    heavy = np.abs(arm.g[arm.reported]) > arm.tolerance[arm.reported]
    if len(wrong) > 1 and len(wrong) == np.count_nonzero(heavy):
        return ('likely the sign of all efforts is flipped (the driver reports the load instead '
                'of the motor torque), or gravity points the wrong way')
    return (f'likely the sign of {_names(arm, wrong)} is flipped: the joint axis in the URDF '
            'points the other way than in the driver')


def _ratio(arm: RestingArm) -> str:
    reported = arm.reported
    gravity, measured = arm.g[reported], arm.measured[reported]
    # several joints must agree on it
    if np.count_nonzero(np.abs(gravity) > arm.tolerance[reported]) < 2 or not gravity.any():
        return ''
    ratio = float(gravity @ measured / (gravity @ gravity))
    scaled = max(abs(ratio), 1.0)
    fits = np.all(np.abs(measured - ratio * gravity) <= scaled * arm.tolerance[reported])
    if not fits or abs(ratio - 1.0) < _DEVIATION or ratio == 0.0:
        return ''
    if abs(ratio - 2.0) < 2.0 * _DEVIATION:
        return ('likely gravity is compensated twice, by the driver and by another node, or the '
                'masses in the URDF are half of the real ones')
    return (f'it is {ratio:.3g} times the gravity torque in all joints: likely another unit, such '
            'as motor current, torque before the gear, or a percentage; the driver must report '
            'N m at the joint')


def _one_unit(arm: RestingArm) -> str:
    wrong = arm.misfits(arm.g)
    usual = np.maximum(np.abs(arm.g), arm.tolerance)[wrong]
    if 2 * len(wrong) > len(arm.reported) or (np.abs(arm.measured[wrong]) < _MANY * usual).any():
        return ''
    return (f'likely another unit of {_names(arm, wrong)} alone, such as raw counts or a motor '
            'current; the driver must report N m (N) at the joint')


def _payload(arm: RestingArm) -> str:
    reported = arm.reported
    scale = 1.0 / (arm.tolerance[reported] + 1e-12)
    load, rest = arm.load[reported] * scale, (arm.measured - arm.g)[reported] * scale
    if not load.any():
        return ''
    mass = float(load @ rest / (load @ load))
    own = float(arm.model.mass.sum())
    if not 0.0 < mass < _MAX_PAYLOAD * own or not arm.fits(arm.g + mass * arm.load):
        return ''
    return (f"likely a payload is missing in the model: about {mass:.2g} kg at link '{arm.tip}' "
            'explain it; add it to the URDF, or publish it on ~/payload')


def _mounting(arm: RestingArm) -> str:
    reported = arm.reported
    scale = 1.0 / (arm.tolerance[reported] + 1e-12)
    columns, rest = (arm.unit_g[:, reported] * scale).T, arm.measured[reported] * scale
    # gravity has three components: with less than four joints a solution would always exist
    if len(reported) < 4 or np.linalg.matrix_rank(columns, tol=1e-3 * np.abs(columns).max()) < 3:
        return ''
    gravity = np.linalg.lstsq(columns, rest, rcond=None)[0]
    size = np.linalg.norm(gravity)
    if abs(size / STANDARD_GRAVITY - 1.0) > _SIZE or not arm.fits(gravity @ arm.unit_g):
        return ''
    angle = _angle(gravity, arm.model.gravity)
    if angle < _TILT:
        return ''
    found = ', '.join(f'{x:.2f}' for x in gravity)
    return (f'likely the arm is mounted another way: gravity ({found}) in the base frame, '
            f'{np.degrees(angle):.0f} degrees from the parameter gravity, explains it')


def _angle(a, b) -> float:
    sizes = np.linalg.norm(a) * np.linalg.norm(b)
    return float(np.arccos(np.clip(a @ b / sizes, -1.0, 1.0))) if sizes else np.pi


def _names(arm: RestingArm, joints: Iterable[int]) -> str:
    return ', '.join(f"'{arm.model.joint_names[j]}'" for j in joints)


# --- state and position limits -------------------------------------------------------------------

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
