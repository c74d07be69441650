"""Joint friction: viscous and Coulomb, as one coefficient of the velocity."""

from __future__ import annotations

from robodyn_ros.dynamics.trace import sqrt

# rad/s or m/s: below it Coulomb friction is viscous, so that a loaded joint creeps instead of
# sticking, by less than a hundredth of a degree per second
CREEP = 1e-4


def drag(velocity, viscous, coulomb):
    """
    Return D, with which friction is `-D qd`: `D = b + fc / sqrt(qd^2 + creep^2)`.

    As a coefficient friction can be taken at the end of a step: it then stops a joint, and never
    drives it back, whatever the step and however light the link.
    """
    return viscous + coulomb / sqrt(velocity * velocity + CREEP * CREEP)
