"""
Bounds on torque, and braking in front of a joint's end.

Every function writes into `out` if given and leaves its inputs alone.
"""

from __future__ import annotations

import numpy as np


def clamp_effort(torque: np.ndarray, limit: np.ndarray, out: np.ndarray | None = None,
                 saturated: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """
    Cut the torque to +-limit.

    Parameters
    ----------
    torque, limit : (nv,); infinite limits never cut.
    out, saturated : (nv,) buffers, optional; `out` is not `torque`.

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
    torque, previous, step : (nv,); steps of 0 or more.
    out, limited : (nv,) buffers, optional; `out` is none of the inputs.

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

    With an inertia m the approach does not overshoot if damping *
    time_constant > 4 m, and at period dt it is stable if damping * dt < m.

    Parameters
    ----------
    q, qd : (nv,) measured.
    lower, upper : (nv,) limits, infinite where there are none.
    damping : (nv,) N m s/rad or N s/m.
    time_constant : seconds.
    softness : excess speed over which the damping sets in, so that the torque
        has no kink.
    out : (nv,), optional.

    """
    below = _excess((lower - q) / time_constant - qd, softness)
    above = _excess((q - upper) / time_constant + qd, softness)
    out = np.subtract(below, above, out=out)
    return np.multiply(out, damping, out=out)


def _excess(speed, softness):
    """Return max(speed, 0), rounded off as a parabola up to `softness`."""
    speed = np.maximum(speed, 0.0)
    blend = np.minimum(speed, softness)
    return blend * (speed - 0.5 * blend) / softness
