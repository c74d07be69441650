"""
Joint friction: viscous, Coulomb with the Stribeck effect, and stiction.

Dry friction is a bristle: a stiff spring that carries up to the friction level and then slips,

    z' = v,  f = k z + d v   while |f| <= F(v);      f = F(v) sign(f)   beyond,

so that a joint at rest holds any load below F(0), to within `presliding`.
Sources: Dahl 1968; Armstrong-Helouvry, Dupont, Canudas de Wit 1994, section 2.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, select


def level(velocity, coulomb, stiction, stribeck_velocity):
    """
    Return F(v), the level of dry friction at a velocity.

    It falls from stiction at rest to Coulomb friction in motion, as by Hess and Soom:
    `F = Fc + (Fs - Fc) vs^2 / (vs^2 + v^2)`.
    """
    square = stribeck_velocity * stribeck_velocity
    return coulomb + (stiction - coulomb) * square / (square + velocity * velocity)


def sticks(force, highest):
    """Return 1 where a bristle carries the force, 0 where it slips."""
    return select(highest - absolute(force), 1.0, 0.0)


def direction(force):
    """Return the sign of a force, -1 for zero."""
    return select(force, 1.0, -1.0)


def bristle_force(bristle, displacement, stiffness, highest):
    """Return the spring force of a bristle after a displacement, limited to the friction level."""
    return maximum(-highest, minimum(highest, bristle + stiffness * displacement))
