"""
Poses of bodies and frames, and Jacobians.

Source: Craig, Introduction to Robotics, 3rd ed., ch. 2, 3 and 5.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit.trace import sincos
from robodyn_ros.dynamics.vector import add, apply, cross, matmul, scale, skew, sub, ZERO


def joint_rotation(axis, angle):
    """Return the rotation by `angle` about a unit axis (Rodrigues; Craig 2.80)."""
    s, c = sincos(angle)
    # a a^T + c (1 - a a^T) + s [a]x, in which products fold for an axis along x, y or z
    return tuple(
        tuple(axis[i] * axis[j] + c * ((i == j) - axis[i] * axis[j]) + s * skew(axis)[i][j]
              for j in range(3)) for i in range(3))


def joint_poses(tree, q):
    """Return the pose (R, r) of every body in its parent."""
    poses = []
    for i in tree.bodies:
        position = tree.multiplier[i] * q[tree.coordinate[i]] + tree.offset[i]
        R, r = tree.rotation[i], tree.translation[i]
        if tree.prismatic[i]:
            r = add(r, apply(R, scale(position, tree.axis[i])))
        else:
            R = matmul(R, joint_rotation(tree.axis[i], position))
        poses.append((R, r))
    return poses


def world_poses(tree, poses):
    """Return the pose of every body in the base frame."""
    world = []
    for i in tree.bodies:
        R, r = poses[i]
        if tree.parent[i] >= 0:
            Rp, rp = world[tree.parent[i]]
            R, r = matmul(Rp, R), add(rp, apply(Rp, r))
        world.append((R, r))
    return world


def frame_pose(world, frame):
    """Return the pose in the base frame of a frame fixed to a body (or to the base)."""
    if frame.body < 0:
        return frame.rotation, frame.translation
    R, r = world[frame.body]
    return matmul(R, frame.rotation), add(r, apply(R, frame.translation))


def frame_pose_at(tree, q, frame):
    """Return the pose in the base frame, at configuration q, of a frame fixed to a body."""
    return frame_pose(world_poses(tree, joint_poses(tree, q)), frame)


def forward_kinematics(tree, runtime, q, frame):
    """Return the 4x4 pose of a frame in the base frame."""
    R, r = frame_pose_at(tree, q, frame)
    return [(*row, x) for row, x in zip(R, r)] + [(0.0, 0.0, 0.0, 1.0)]


def jacobian(tree, runtime, q, frame):
    """Return the 6 x nv Jacobian of a frame's origin, linear rows first, in base axes."""
    world = world_poses(tree, joint_poses(tree, q))
    _, point = frame_pose(world, frame)
    J = [[0.0] * tree.nv for _ in range(6)]
    for i in tree.path_to(frame.body):
        R, r = world[i]
        z = scale(tree.multiplier[i], apply(R, tree.axis[i]))
        linear, angular = (z, ZERO) if tree.prismatic[i] else (cross(z, sub(point, r)), z)
        for row, value in enumerate((*linear, *angular)):
            J[row][tree.coordinate[i]] = J[row][tree.coordinate[i]] + value
    return J


def joint_rates(tree, values):
    """Return joint velocities (or accelerations) of all bodies from those of the coordinates."""
    return [tree.multiplier[i] * values[tree.coordinate[i]] for i in tree.bodies]


def to_coordinates(tree, joint_values):
    """Return generalised forces from joint forces: the transpose of `joint_rates`."""
    total = [0.0] * tree.nv
    for i in tree.bodies:
        c = tree.coordinate[i]
        total[c] = total[c] + tree.multiplier[i] * joint_values[i]
    return total
