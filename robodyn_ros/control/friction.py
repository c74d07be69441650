"""Friction of the joints, compensated along the reference velocity."""

from __future__ import annotations

from robodyn_ros.dynamics.trace import sqrt

# below this speed (rad/s or m/s) Coulomb friction is taken as proportional: the reference has no
# noise, so little smoothing is enough, and at rest there is no buzz
SMOOTHING = 0.001


def friction(velocity, viscous, coulomb):
    """Return b v + f v / sqrt(v^2 + s^2): viscous and smoothed Coulomb friction."""
    return [b * v + f * v / sqrt(v * v + SMOOTHING * SMOOTHING)
            for b, f, v in zip(viscous, coulomb, velocity)]
