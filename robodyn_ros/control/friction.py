"""Friction compensation, along a reference velocity or a measured one."""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import absolute, maximum, sqrt

GAINS = ('viscous', 'coulomb', 'stiction', 'stribeck_velocity', 'friction_width')
# rad/s or m/s, below which dry friction is proportional to the velocity: little smoothing is
# enough for a reference, which has no noise
SMOOTHING = 0.001
# at least, for a measured velocity
MEASURED_SMOOTHING = 0.05


def friction(velocity, viscous, coulomb, stiction, stribeck_velocity, width):
    """
    Return `b v + F(v) s`: viscous friction, and dry friction with the smoothed sign s.

    Dry friction falls from stiction to Coulomb friction, `F = Fc + (Fs - Fc) vs^2 / (vs^2 + v^2)`
    (Hess and Soom 1990; Armstrong-Helouvry, Dupont, Canudas de Wit 1994, 2.1).
    """
    return [b * v + (f + (fs - f) * vs * vs / (vs * vs + v * v)) * s
            for v, b, f, fs, vs, s in zip(velocity, viscous, coulomb, stiction, stribeck_velocity,
                                          smoothed_sign(velocity, width))]


def smoothed_sign(velocity, width):
    """Return the signs s = v / sqrt(v^2 + w^2) of velocities."""
    return [v / sqrt(v * v + w * w) for v, w in zip(velocity, width)]


def unmodelled(velocity, stiction, width):
    """Return the largest dry friction that the smoothing omits."""
    return [f * (1.0 - absolute(s)) for f, s in zip(stiction, smoothed_sign(velocity, width))]


def measured_width(width):
    """Return the widths for a measured velocity."""
    return [maximum(w, MEASURED_SMOOTHING) for w in width]
