"""Gravity compensation: the arm floats, and follows the hand."""

from __future__ import annotations

from robodyn_ros.control.friction import friction, MEASURED_SMOOTHING
from robodyn_ros.control.terms import product, Term

GAINS = ('damping', 'float_friction')


def gravity_compensation(arm, x):
    """
    Return the terms of `g(q) - D qd`, and the part of friction that is taken from the hand.

    Friction is compensated along the measured velocity, which has noise: over a wider range than
    along a reference.
    """
    zero = [0.0] * arm.nv
    drag = friction(x.qd, x.viscous, x.coulomb, x.stiction, x.stribeck_velocity,
                    MEASURED_SMOOTHING)
    return {**arm.motion(x.q, zero, zero), Term.FRICTION: product(x.float_friction, drag),
            Term.FEEDBACK: [-d * v for d, v in zip(x.damping, x.qd)]}
