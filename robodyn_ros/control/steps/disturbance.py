"""
Compensation of disturbances: its bandwidth, and its rest.

The observed disturbance of a joint without its rotor A in the model contains -A q'' . With
G = M + E, the inertia in the feedback, and the bandwidth K the error then obeys

    (M + A) e''' + (M K + G kd + v) e'' + G (kp + K kd) e' + G K kp e = 0

with the viscous friction v, and decays if (Hurwitz)

    K (kp - d kd) < d kp,    d = (G kd + v) / (M + A).

d is computed for twice the rotor that the joint is built for, see `gain_design.likely_rotors`, and
for the least friction of such joints.

Against dry friction integration makes a joint at rest stick, slip to the other side of its
reference, and so on. At rest the compensation is therefore constant while the error is within a
zone. It is at first a tenth of the error at which the feedback overcomes the dry friction F of the
joint, within bounds, and widened each time that the error leaves it on the other side: slips end
after a few.
"""

from __future__ import annotations

from typing import NamedTuple

from robodyn_ros.control.friction import SMOOTHING
from robodyn_ros.control.steps.modes import Reference
from robodyn_ros.control.steps.vectors import positive
from robodyn_ros.dynamics.jit.flags import above, both, equal, no, when
from robodyn_ros.dynamics.jit.graph import Scalar
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, sqrt

# rad or m, of the zone: least, largest at first, and largest
_NARROW, _USUAL, _WIDE = 1e-5, 5e-4, 0.02
_WIDER = 8.0
_PER_INTERVAL = 0.5  # rad, of the bandwidth in an interval
_FRICTION = 3.0  # 1/s, decay of the velocity of a geared joint by friction alone


class Conditions(NamedTuple):
    """
    What the compensation depends on, besides the observed disturbance.

    Attributes
    ----------
    reference : Reference
        Of the joints since the last state.
    compensates : scalar
        Flag of the law.
    learns : scalar
        Flag that the velocities agree with the positions.
    scale : list of scalar
        Used part of the feedback inertia.
    interval : scalar
        Of the torques, with the lateness of states, s.

    """

    reference: Reference
    compensates: Scalar
    learns: Scalar
    scale: list
    interval: Scalar


def direction(velocity):
    """Return the smoothed sign of the reference velocity."""
    return [v / sqrt(v * v + SMOOTHING * SMOOTHING) for v in velocity]


def bandwidths(gains, scale, interval):
    """
    Return the bandwidth for each joint, rad/s.

    scale: part of E in use. interval: between torques, with the lateness of states, s.
    """
    result, fastest = [], _PER_INTERVAL / positive(interval)
    for K, kp, kd, M, E, f in zip(gains.disturbance_observer, gains.kp, gains.kd, gains.inertia,
                                  gains.feedback_inertia, scale):
        decay = 0.5 * kd * (M + f * E) / positive(M + E) + _FRICTION
        bound = decay * kp / positive(kp - decay * kd)
        result.append(minimum(minimum(K, bound), fastest))
    return result


def narrow_zones(gains, dry_friction):
    """Return the zone of each joint in motion; dry_friction: that is not in the model."""
    return [maximum(minimum(0.1 * (c + absolute(f)) / positive(kp * (M + E)), _USUAL), _NARROW)
            for c, f, kp, M, E in zip(gains.coulomb, dry_friction, gains.kp, gains.inertia,
                                      gains.feedback_inertia)]


def zones(zone, error, reference, narrow):
    """
    Return the zone of each joint, with the sign of the side on which the error was last.

    error: of the position. reference: of the joints. narrow: zone in motion.
    """
    result = []
    for z, e, v, a, least in zip(zone, error, reference.qd, reference.qdd, narrow):
        size = absolute(z)
        crossed = both(above(absolute(e), size), above(0.0, z * e))
        wider = minimum(_WIDER * size, _WIDE)
        side = when(above(e, 0.0), 1.0, -1.0)
        result.append(when(no(_at_rest(v, a)), side * least, when(crossed, side * wider, z)))
    return result


def active(zone, error, reference):
    """Return flags of joints whose compensation changes."""
    return [when(_at_rest(v, a), above(absolute(e), absolute(z)), 1.0)
            for z, e, v, a in zip(zone, error, reference.qd, reference.qdd)]


def _at_rest(velocity, acceleration):
    return both(equal(velocity, 0.0), equal(acceleration, 0.0))
