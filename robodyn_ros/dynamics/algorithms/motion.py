"""
Velocities and accelerations of all bodies: the outward recursions.

Source: Craig, Introduction to Robotics, 3rd ed., ch. 6.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.kinematics import joint_poses, joint_rates, world_poses
from robodyn_ros.dynamics.vector import (
    add, apply, apply_transposed, cross, matadd, outer, scale, skew, ZERO)


def child_motion(pose, w, v):
    """Return a parent's motion (w, v) at the child's origin, in the child's axes."""
    R, r = pose
    return apply_transposed(R, w), apply_transposed(R, add(v, cross(w, r)))


def velocities(tree, poses, qd):
    """Return (w, v) of every body."""
    qd, motion = joint_rates(tree, qd), []
    for i in tree.bodies:
        w, v = (ZERO, ZERO) if tree.parent[i] < 0 else child_motion(
            poses[i], *motion[tree.parent[i]])
        rate = scale(qd[i], tree.axis[i])
        motion.append((w, add(v, rate)) if tree.prismatic[i] else (add(w, rate), v))
    return motion


def acceleration_tensor(w, dw):
    """Return [dw]x + [w]x [w]x: acceleration of a body's point relative to its origin."""
    ww = outer(w, w)
    square = (
        (-ww[1][1] - ww[2][2], ww[0][1], ww[0][2]),
        (ww[0][1], -ww[0][0] - ww[2][2], ww[1][2]),
        (ww[0][2], ww[1][2], -ww[0][0] - ww[1][1]))
    return matadd(skew(dw), square)


def accelerations(tree, poses, qd, qdd, base_acceleration):
    """Return (w, dw, a, acceleration tensor) of every body (Craig 6.45-6.48)."""
    qd, qdd = joint_rates(tree, qd), joint_rates(tree, qdd)
    base = (ZERO, ZERO, base_acceleration, acceleration_tensor(ZERO, ZERO))
    motion = []
    for i in tree.bodies:
        R, r = poses[i]
        z = tree.axis[i]
        w, dw, a, U = base if tree.parent[i] < 0 else motion[tree.parent[i]]
        # motion of the parent, at the child's origin and in its axes
        w, dw = apply_transposed(R, w), apply_transposed(R, dw)
        a = apply_transposed(R, add(a, apply(U, r)))
        zqd, zqdd = scale(qd[i], z), scale(qdd[i], z)
        if tree.prismatic[i]:
            # Coriolis and joint acceleration (6.35)
            a = add(add(a, scale(2.0, cross(w, zqd))), zqdd)
        else:
            # angular velocity and acceleration (6.45, 6.46)
            dw = add(add(dw, cross(w, zqd)), zqdd)
            w = add(w, zqd)
        motion.append((w, dw, a, acceleration_tensor(w, dw)))
    return motion


def jacobian_dot_qd(tree, runtime, q, qd, frame):
    """Return the velocity-dependent part of a frame's acceleration, linear first."""
    if frame.body < 0:
        return [0.0] * 6
    poses = joint_poses(tree, q)
    motion = accelerations(tree, poses, qd, [0.0] * tree.nv, ZERO)
    R, _ = world_poses(tree, poses)[frame.body]
    _, dw, a, U = motion[frame.body]
    return [*apply(R, add(a, apply(U, frame.translation))), *apply(R, dw)]
