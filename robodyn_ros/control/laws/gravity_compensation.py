"""Gravity compensation: the arm floats, for hand guiding."""

from __future__ import annotations

from robodyn_ros.control.friction import friction, measured_width
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics.jit.vectors import product

GAINS = ('damping', 'float_friction')


def gravity_compensation(arm, x):
    """
    Return the terms of `g(q) - D qd`, and the compensated part of friction.

    Friction is compensated along the measured velocity, and smoothed over a wider range than along
    a reference because of noise.
    """
    zero = [0.0] * arm.nv
    drag = friction(x.qd, x.viscous, x.coulomb, x.stiction, x.stribeck_velocity,
                    measured_width(x.friction_width))
    return {**arm.motion(x.q, zero, zero), Term.FRICTION: product(x.float_friction, drag),
            Term.FEEDBACK: [-d * v for d, v in zip(x.damping, x.qd)]}
