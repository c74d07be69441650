"""Limits of the torque as parameters, for all that command torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.safety.limits import checked_effort_limits, USUAL_RATE
from robodyn_ros.settings import Numbers, parameter, per_joint, settings

# beyond any arm: a mistake of units, or an attack
MAX_TORQUE = 1e5         # N, N m
MAX_TORQUE_RATE = 1e7    # N/s, N m/s
_LIVE = 'Live only lowered, and raised again up to what was configured.'


@settings()
class TorqueLimits:
    """Limits of the torque."""

    driver_compensates_gravity: bool = parameter(
        False, 'Gravity compensation by the driver itself (Franka, KUKA FRI, UR): then none is '
        'commanded.', read_only=True)
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
