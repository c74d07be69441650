"""
The equation of motion as a linear function of the inertial parameters: tau = Y(q, qd, qdd) phi.

phi has ten numbers per moving body, in the order of the bodies, in body axes and about the
body's origin: m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz. The contribution of a body to a joint
force is the power of the Newton-Euler force and moment (see `rnea.inverse_dynamics`),

    f = m a + U h,    n = J dw + w x J w + h x a,

on the motion of the body for the joint at unit rate.

Source: Khalil and Dombre, Modeling, Identification and Control of Robots, ch. 9 and 12.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.inertia import GRAVITY
from robodyn_ros.dynamics.algorithms.kinematics import joint_poses
from robodyn_ros.dynamics.algorithms.motion import accelerations, child_motion
from robodyn_ros.dynamics.vector import (
    add, apply_transposed, cross, dot, matadd, neg, outer, scale, ZERO)

BODY_PARAMETERS = 10


def regressor(tree, runtime, q, qd, qdd):
    """Return the regressor Y, nv x 10 nb."""
    poses = joint_poses(tree, q)
    motion = accelerations(tree, poses, qd, qdd, neg(runtime[GRAVITY]))
    Y = [[0.0] * (BODY_PARAMETERS * len(tree.parent)) for _ in range(tree.nv)]
    screws = []
    for b in tree.bodies:
        # unit-rate motion by every ancestor joint, in the body's axes, at its origin
        ancestors = screws[tree.parent[b]] if tree.parent[b] >= 0 else {}
        screws.append({i: child_motion(poses[b], *S) for i, S in ancestors.items()})
        z = scale(tree.multiplier[b], tree.axis[b])
        screws[b][b] = (ZERO, z) if tree.prismatic[b] else (z, ZERO)
        for i, S in screws[b].items():
            row = Y[tree.coordinate[i]]
            for k, value in enumerate(powers(S, motion[b]), BODY_PARAMETERS * b):
                row[k] = row[k] + value
    return Y


def powers(S, motion):
    """Return the power of each inertial parameter of a moving body on its motion (w, v)."""
    (sw, sv), (w, dw, a, U) = S, motion
    # h . (U^T v + a x w), and J : (w_S dw^T + (w_S x w) w^T)
    h = add(apply_transposed(U, sv), cross(a, sw))
    G = matadd(outer(sw, dw), outer(cross(sw, w), w))
    return (dot(sv, a), *h, G[0][0], G[1][1], G[2][2],
            G[0][1] + G[1][0], G[0][2] + G[2][0], G[1][2] + G[2][1])
