"""
Limits of the torque: its parameters and their checks, and the rate and effort limits themselves.

The torque sent, by a controller or a guard, is always finite, within the effort limits, and within
the rate limit of the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, finite, no, when
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum
from robodyn_ros.dynamics.jit.vectors import element, first_where, scaled
from robodyn_ros.exceptions import ParameterError
from robodyn_ros.settings import Numbers, parameter, per_joint, settings

# beyond any arm: a mistake of units, or an attack
MAX_TORQUE = 1e5         # N, N m
MAX_TORQUE_RATE = 1e7    # N/s, N m/s
_LIVE = 'Live only lowered, and raised again up to what was configured.'
MAX_PLAUSIBLE_VALUE = 1e6  # rad, m, rad/s or m/s; larger values are rejected
USUAL_RATE = 100.0    # default torque rate limit, in effort limits per second
_ROUNDING = 1e-9      # relative difference up to which limits count as equal
_ANY = 1e9         # N m, no rate limit
_LONGEST = 0.05    # s, longest interval for the rate limit: a pause permits no jump
# texts by `Verdict.not_finite`
NOT_FINITE = ('', "desired torque: {value} for joint '{joint}'; sent gravity + damping",
              "desired torque: {value} for joint '{joint}'; gravity + damping is not finite "
              'either; sent the last torque again')
_LIMITS = ('effort_limit x effort_margin', 'torque_rate_limit')


@settings()
class TorqueLimits:
    """Limits of the torque."""

    driver_compensates_gravity: bool = parameter(
        False, 'Gravity compensation by the driver itself (Franka, KUKA FRI, UR, YAM): then none '
        'is commanded. A controller of a real arm that needs gravity torque must be told.',
        read_only=True)
    effort_limit: Numbers = parameter(
        (), 'Effort limits in place of those in the URDF; larger ones are those of the motors, '
        f'where the URDF has placeholders. {_LIVE}', 'N m or N',
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
            'in the model, which are what its motor may give: lower it, or correct <limit effort> '
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


def checked_bounds(joint_names: Sequence[str], effort_limit, rate_limit,
                   margin: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the largest torque, (nv,), and its largest change per second.

    Raises
    ------
    ParameterError
        A margin that is not above 0 and at most 1, a limit below 0, or a rate that is not above 0,
        naming the joint.

    """
    if not 0.0 < margin <= 1.0:
        raise ParameterError(f'effort margin is {margin}; it must be above 0, at most 1',
                             value=margin)
    limit, rate = (np.array(np.broadcast_to(np.asarray(values, dtype=float), len(joint_names)))
                   for values in (effort_limit, rate_limit))
    _check('effort limit', joint_names, limit, limit >= 0.0, '0 or more')
    _check('rate limit', joint_names, rate, rate > 0.0, 'above 0')
    return limit * margin, rate


def _check(what: str, joint_names: Sequence[str], values, good, needed: str) -> None:
    for name, value, fine in zip(joint_names, values, good):
        if not fine:
            raise ParameterError(f"{what} of joint '{name}' is {value}; it must be {needed}",
                                 joint=name, value=float(value))


# --- over scalars -------------------------------------------------------------------------------

@block
class Program:
    effort: list = joints('N m', 'Largest torque that may be sent.')
    rate: list = joints('N m/s', 'Largest change of the torque.')


@block
class Verdict:
    """Changes of the torque of a cycle by supervision."""

    saturated: list = joints('', 'Flag: cut to the effort limit.')
    rate_limited: list = joints('', 'Flag: limited by the rate limit.')
    not_finite: float = scalar('', 'Torque that was not finite: 0 none; 1 law; 2 law and '
                               'fallback: the last torque was sent again.')
    joint: float = scalar('', 'Joint whose torque was not finite.')
    value: float = scalar('N m', 'Torque of that joint.')


def supervise(desired, fallback, sent, dt, p, at_once=0.0):
    """
    Return the torque to send, and the changes.

    desired, fallback: of the law; gravity plus damping. sent: the last torque. dt: seconds since
    then; a period that is not above 0 keeps the last torque. The effort limit has the last word,
    after the rate limit; a torque above a lowered effort limit decreases within the rate limit.
    The brakes are part of `desired`, and lose to both. at_once: flag of a final torque, without
    rate limit.
    """
    good, second = all_finite(desired), all_finite(fallback)
    torque = when(good, desired, when(second, fallback, sent))
    bad = first_where([no(finite(each)) for each in desired])
    span = when(dt > 0.0, minimum(dt, _LONGEST), 0.0)
    step = when(at_once, [_ANY for _ in sent], scaled(span, p.rate))
    slowed = [minimum(maximum(t, s - d), s + d) for t, s, d in zip(torque, sent, step)]
    bound = [maximum(most, absolute(s) - d) for most, s, d in zip(p.effort, sent, step)]
    out = [minimum(maximum(t, -most), most) for t, most in zip(slowed, bound)]
    verdict = Verdict(
        _changed(slowed, out, p), _changed(torque, slowed, p),
        when(good, 0.0, when(second, 1.0, 2.0)), bad, element(desired, bad))
    return out, verdict


def _changed(before, after, p):
    """Return flags of the torques changed by more than rounding."""
    return [absolute(b - a) > _ROUNDING * most for a, b, most in zip(before, after, p.effort)]
