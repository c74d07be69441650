"""
Limits of torque and its rate, as parameters too, and braking in front of position limits.

Every function writes into `out` if given and does not modify its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from robodyn_ros.exceptions import ParameterError
from robodyn_ros.settings import Numbers, parameter, per_joint, settings

# beyond any arm: a mistake of units, or an attack
MAX_TORQUE = 1e5         # N, N m
MAX_TORQUE_RATE = 1e7    # N/s, N m/s
_LIVE = 'Live only lowered, and raised again up to what was configured.'
MAX_PLAUSIBLE_VALUE = 1e6  # rad, m, rad/s or m/s; larger values are rejected
USUAL_RATE = 100.0    # default torque rate limit, in effort limits per second
_ROUNDING = 1e-9      # relative difference up to which limits count as equal
_LIMITS = ('effort_limit x effort_margin', 'torque_rate_limit')


@settings()
class TorqueLimits:
    """Limits of the torque."""

    driver_compensates_gravity: bool = parameter(
        False, 'Gravity compensation by the driver itself (Franka, KUKA FRI, UR, YAM): then none '
        'is commanded. A controller of a real arm that needs gravity torque must be told.',
        read_only=True)
    effort_limit: Numbers = parameter(
        (), f'Effort limits below those in the URDF, or where it has none. {_LIVE}', 'N m or N',
        0.0, MAX_TORQUE, per_joint=True)
    effort_margin: float = parameter(
        1.0, f'Part of the effort limits that may be used. {_LIVE}', '', 0.01, 1.0)
    torque_rate_limit: Numbers = parameter(
        (), 'Largest change of torque; empty: a hundred effort limits per second. Much less makes '
        f'large errors oscillate. {_LIVE}', 'N m/s', 1e-3, MAX_TORQUE_RATE, per_joint=True)


def effort_and_rate(limits: TorqueLimits, joint_names: Sequence[str],
                    rated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return effort limits in N m (N) and rate limits in N m/s (N/s), (nv,) each.

    Parameters
    ----------
    limits : TorqueLimits
        The parameters.
    joint_names : sequence of str
        Names of the joints.
    rated : (nv,) array
        Effort limits of the URDF, which are never exceeded; 0 or infinite where it has none.

    Raises
    ------
    ParameterError
        A wrong length; an effort limit that is zero, not finite, or above that of the URDF.

    """
    given = limits.effort_limit
    effort = checked_effort_limits(
        joint_names, per_joint('effort_limit', given, joint_names) if given else np.array(rated),
        rated)
    rate = (per_joint('torque_rate_limit', limits.torque_rate_limit, joint_names)
            if limits.torque_rate_limit else USUAL_RATE * effort)
    return effort, rate


def checked_effort_limits(joint_names: Sequence[str], limits: np.ndarray,
                          rated: np.ndarray) -> np.ndarray:
    """
    Check effort limits against those of the URDF and return them, (nv,) in N m or N.

    Parameters
    ----------
    joint_names : sequence of str
        Names for messages.
    limits : (nv,) array
        Requested limits.
    rated : (nv,) array
        Limits of the URDF, which must not be exceeded; 0 or infinite where it has none.

    Raises
    ------
    ParameterError
        A limit is zero, negative, not finite, or above the URDF's.

    """
    bad = [f"joint '{name}' has effort limit {limit:g}"
           for name, limit in zip(joint_names, limits) if not 0.0 < limit < math.inf]
    if bad:
        raise ParameterError(
            f'{", ".join(bad)}: the torque must have a bound above zero; correct <limit effort> '
            'in the URDF, or set the parameter effort_limit', joints=bad)
    most = np.where((0.0 < rated) & (rated < math.inf), rated, math.inf)
    above = limits > most * (1.0 + _ROUNDING)
    if above.any():
        j = int(np.argmax(above))
        raise ParameterError(
            f"effort_limit of joint '{joint_names[j]}' is {limits[j]:g}, above the {rated[j]:g} "
            'in the URDF, which are what its motor may give: lower it, or correct <limit effort> '
            'in the URDF', joint=joint_names[j], value=float(limits[j]))
    return limits


def check_not_raised(joint_names: Sequence[str], requested: Sequence[np.ndarray],
                     configured: Sequence[np.ndarray]) -> None:
    """
    Raise if a torque limit is above its value at configuration.

    Parameters
    ----------
    joint_names : sequence of str
        Names for messages.
    requested, configured : pair of (nv,) array
        Usable effort (effort limit times margin) and rate limit.

    Raises
    ------
    ParameterError
        A limit would be raised; the message names the joint.

    """
    for name, values, most in zip(_LIMITS, requested, configured):
        above = values > most * (1.0 + _ROUNDING)
        if above.any():
            j = int(np.argmax(above))
            raise ParameterError(
                f"{name} of joint '{joint_names[j]}' would be {values[j]:g}, above the "
                f'{most[j]:g} with which the node was configured: a limit of a running node can '
                'only be lowered, and raised again up to there; set more before the start',
                joint=joint_names[j], value=float(values[j]))


def brake_at_limits(q: np.ndarray, qd: np.ndarray, lower: np.ndarray, upper: np.ndarray,
                    damping: np.ndarray | float, time_constant: float = 0.1,
                    softness: float = 0.02, out: np.ndarray | None = None) -> np.ndarray:
    """
    Return the torque that brakes outward motion near the position limits.

    A joint may approach a limit at (distance / time_constant); excess speed is
    braked by `damping`. So the torque is zero away from limits, for inward
    motion, and at rest up to the limit; beyond the limit it is a spring of
    stiffness damping / time_constant. It points inward only and is added to
    the gravity torque.

    With an inertia m the overshoot is at most softness * time_constant if
    damping * time_constant > 4 m; at period dt the brake is stable if
    damping * dt < m.

    Parameters
    ----------
    q, qd : (nv,)
        Measured state.
    lower, upper : (nv,)
        Limits, infinite where there are none.
    damping : float or (nv,)
        Damping of the excess speed, in N m s/rad or N s/m.
    time_constant : float
        Seconds in which a joint may reach its limit.
    softness : float
        Excess speed over which the damping rises smoothly, in rad/s or m/s.
    out : (nv,), optional
        Buffer for the torque.

    """
    out = np.zeros(q.shape) if out is None else out
    predicted = q + time_constant * qd
    overshoot = predicted - np.minimum(np.maximum(predicted, lower), upper)
    if not np.count_nonzero(overshoot):
        out.fill(0.0)
        return out
    excess = np.abs(overshoot) / time_constant
    blend = np.minimum(excess, softness)
    # max(excess, 0), with a parabola up to `softness`
    excess = blend * (excess - 0.5 * blend) / softness
    return np.multiply(damping, np.copysign(excess, -overshoot), out=out)
