"""
Bounds on torque, and braking in front of a joint's end.

Every function writes into `out` if given and leaves its inputs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from robodyn_ros.exceptions import ParameterError

ABSURD = 1e6          # rad, m, rad/s or m/s that no joint has
USUAL_RATE = 100.0    # effort limits per second that the torque may change if nobody says more
_ROUNDING = 1e-9      # relative, by which equal limits may differ
_LIMITS = ('effort_limit x effort_margin', 'torque_rate_limit')


def checked_effort_limits(joint_names: Sequence[str], limits: np.ndarray,
                          rated: np.ndarray) -> np.ndarray:
    """
    Return effort limits, (nv,) in N m or N.

    Parameters
    ----------
    joint_names : sequence of str
        For messages.
    limits : (nv,) array
        Wanted.
    rated : (nv,) array
        Those of the URDF, which are never exceeded; 0 or infinite where it has none.

    Raises
    ------
    ParameterError
        One is zero, negative or not finite: torque must have a bound. Or above the URDF's.

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


def check_not_raised(joint_names: Sequence[str], wanted: Sequence[np.ndarray],
                     configured: Sequence[np.ndarray]) -> None:
    """
    Raise if a limit of the torque is above what it was when the node was configured.

    Parameters
    ----------
    joint_names : sequence of str
        For messages.
    wanted, configured : pair of (nv,) array
        Usable effort, which is effort limit times margin, and rate limit.

    Raises
    ------
    ParameterError
        Naming the joint.

    """
    for name, values, most in zip(_LIMITS, wanted, configured):
        above = values > most * (1.0 + _ROUNDING)
        if above.any():
            j = int(np.argmax(above))
            raise ParameterError(
                f"{name} of joint '{joint_names[j]}' would be {values[j]:g}, above the "
                f'{most[j]:g} with which the node was configured: a limit of a running node can '
                'only be lowered, and raised again up to there; set more before the start',
                joint=joint_names[j], value=float(values[j]))


def clamp_effort(torque: np.ndarray, limit: np.ndarray, out: np.ndarray | None = None,
                 saturated: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """
    Cut the torque to +-limit.

    Parameters
    ----------
    torque, limit : (nv,)
        Infinite limits never cut.
    out, saturated : (nv,), optional
        Buffers; `out` is not `torque`.

    Returns
    -------
    out, saturated
        The torque and a bool mask of the joints that were cut.

    """
    out = np.maximum(torque, -limit, out=out)
    np.minimum(out, limit, out=out)
    return out, np.not_equal(out, torque, out=saturated)


def limit_rate(torque: np.ndarray, previous: np.ndarray, step: np.ndarray,
               out: np.ndarray | None = None,
               limited: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """
    Let the torque change by at most `step` from `previous`.

    Parameters
    ----------
    torque, previous, step : (nv,)
        Steps of 0 or more.
    out, limited : (nv,), optional
        Buffers; `out` is none of the inputs.

    Returns
    -------
    out, limited
        The torque and a bool mask of the joints that were held back.

    """
    out = np.maximum(torque, previous - step, out=out)
    np.minimum(out, previous + step, out=out)
    return out, np.not_equal(out, torque, out=limited)


def brake_at_limits(q: np.ndarray, qd: np.ndarray, lower: np.ndarray, upper: np.ndarray,
                    damping: np.ndarray, time_constant: float = 0.1, softness: float = 0.02,
                    out: np.ndarray | None = None) -> np.ndarray:
    """
    Return the torque that brakes outward motion near the position limits.

    A joint may approach a limit at (distance / time_constant); what is faster
    is braked by `damping` times the excess speed. So the torque is zero away
    from limits, for inward motion and for a joint at rest up to its limit;
    beyond the limit it pushes back like a spring of damping / time_constant.
    It only ever pushes inward and adds to the gravity torque.

    With an inertia m the limit is passed by no more than softness *
    time_constant if damping * time_constant > 4 m; at period dt the brake is
    stable if damping * dt < m.

    Parameters
    ----------
    q, qd : (nv,)
        Measured.
    lower, upper : (nv,)
        Limits, infinite where there are none.
    damping : (nv,)
        Per excess speed, in N m s/rad or N s/m.
    time_constant : float
        Seconds in which a joint may reach its limit.
    softness : excess speed over which the damping sets in, so that the torque
        has no kink.
    out : (nv,), optional
        Where the torque goes.

    """
    out = np.zeros(q.shape) if out is None else out
    headed = q + time_constant * qd
    beyond = headed - np.minimum(np.maximum(headed, lower), upper)
    if not np.count_nonzero(beyond):
        out.fill(0.0)
        return out
    excess = np.abs(beyond) / time_constant
    blend = np.minimum(excess, softness)
    # max(excess, 0), rounded off as a parabola up to `softness`.
    excess = blend * (excess - 0.5 * blend) / softness
    return np.multiply(damping, np.copysign(excess, -beyond), out=out)
