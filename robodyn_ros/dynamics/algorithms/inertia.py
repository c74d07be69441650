"""
Inertias of bodies and payloads: mass, first moment and inertia about the origin of a body.

Source: Khalil and Dombre, Modeling, Identification and Control of Robots, ch. 9.
"""

from __future__ import annotations

from robodyn_ros.dynamics.vector import (
    add, apply, congruence, matadd, matmul, matsub, scale, skew, symmetric)

GRAVITY = slice(0, 3)
PAYLOAD_SIZE = 10


def body_inertias(tree, runtime):
    """Return (m, h, J) of every body, payloads included."""
    inertias = list(zip(tree.mass, tree.first_moment, tree.inertia))
    for slot, i in enumerate(tree.payload_bodies):
        if i < 0:  # on the fixed base: no effect
            continue
        start = 3 + PAYLOAD_SIZE * slot
        pm, hx, hy, hz, xx, yy, zz, xy, xz, yz = runtime[start:start + PAYLOAD_SIZE]
        m, h, J = inertias[i]
        payload = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        inertias[i] = (m + pm, add(h, (hx, hy, hz)), matadd(J, payload))
    return inertias


def inertia_in_parent(pose, inertia):
    """Return (m, h, J) of a body about its parent's origin (parallel axis theorem)."""
    R, r = pose
    m, h, J = inertia
    h = apply(R, h)
    # J - [h]x [r]x - [r]x [h]x - m [r]x [r]x
    P, H = skew(r), skew(h)
    shift = matadd(matadd(matmul(H, P), matmul(P, H)), tuple(scale(m, x) for x in matmul(P, P)))
    return m, add(h, scale(m, r)), matsub(congruence(R, J), symmetric(shift))


def add_inertias(a, b):
    """Return the sum of two (m, h, J) about one point."""
    return a[0] + b[0], add(a[1], b[1]), matadd(a[2], b[2])
