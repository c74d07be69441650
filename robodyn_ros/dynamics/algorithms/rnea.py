"""
Inverse dynamics: the recursive Newton-Euler algorithm.

Sources: Luh, Walker, Paul 1980; Craig, Introduction to Robotics, 3rd ed., ch. 6.
"""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.inertia import body_inertias, GRAVITY
from robodyn_ros.dynamics.algorithms.kinematics import joint_poses, to_coordinates
from robodyn_ros.dynamics.algorithms.motion import accelerations
from robodyn_ros.dynamics.vector import add, apply, cross, dot, neg, scale, ZERO


def inverse_dynamics(tree, runtime, q, qd, qdd):
    """Return joint forces tau for a motion: recursive Newton-Euler (Craig 6.45-6.53)."""
    poses = joint_poses(tree, q)
    # gravity as an upward acceleration of the base
    motion = accelerations(tree, poses, qd, qdd, neg(runtime[GRAVITY]))
    wrenches = []
    for (m, h, J), (w, dw, a, U) in zip(body_inertias(tree, runtime), motion):
        # F = m dv_C (6.49) with m dv_C = m a + ([dw]x + [w]x^2) h
        force = add(scale(m, a), apply(U, h))
        # N = I dw + w x I w (6.50), about the origin: + h x a
        moment = add(add(apply(J, dw), cross(w, apply(J, w))), cross(h, a))
        wrenches.append((force, moment))
    return to_coordinates(tree, backward_pass(tree, poses, wrenches))


def backward_pass(tree, poses, wrenches):
    """Return the joint forces that balance (f, n) on every body: the inward recursion."""
    wrenches = list(wrenches)
    tau = [0.0] * len(wrenches)
    for i in reversed(tree.bodies):
        force, moment = wrenches[i]
        # component along the axis (6.53)
        tau[i] = dot(force if tree.prismatic[i] else moment, tree.axis[i])
        if tree.parent[i] >= 0:
            # wrench on the parent (6.51, 6.52)
            wrenches[tree.parent[i]] = add_wrenches(
                wrenches[tree.parent[i]], parent_wrench(poses[i], force, moment))
    return tau


def parent_wrench(pose, force, moment):
    """Return a wrench on a body as a wrench on its parent, in the parent's axes."""
    R, r = pose
    force = apply(R, force)
    return force, add(apply(R, moment), cross(r, force))


def add_wrenches(a, b):
    """Return the sum of two wrenches (f, n)."""
    return add(a[0], b[0]), add(a[1], b[1])


def gravity(tree, runtime, q):
    """Return the gravity torque g(q): the joint forces that hold the robot at rest."""
    rest = [0.0] * tree.nv
    return inverse_dynamics(tree, runtime, q, rest, rest)


def bias(tree, runtime, q, qd):
    """Return C(q, qd) qd + g(q)."""
    return inverse_dynamics(tree, runtime, q, qd, [0.0] * tree.nv)


def inertial(tree, runtime, q, qdd):
    """Return M(q) qdd, without gravity and velocities."""
    rest = [0.0] * tree.nv
    return inverse_dynamics(tree, [*ZERO, *runtime[3:]], q, rest, qdd)
