"""Kinetic and potential energy, and the centre of mass."""

from __future__ import annotations

from robodyn_ros.dynamics.algorithms.inertia import body_inertias, GRAVITY
from robodyn_ros.dynamics.algorithms.kinematics import joint_poses, world_poses
from robodyn_ros.dynamics.algorithms.motion import velocities
from robodyn_ros.dynamics.jit.trace import reciprocal
from robodyn_ros.dynamics.vector import add, apply, cross, dot, scale, ZERO


def kinetic_energy(tree, runtime, q, qd):
    """Return K = 1/2 sum m v.v + 2 v.(w x h) + w.J w."""
    energy, motion = 0.0, velocities(tree, joint_poses(tree, q), qd)
    for (m, h, J), (w, v) in zip(body_inertias(tree, runtime), motion):
        momentum = add(scale(m, v), scale(2.0, cross(w, h)))
        energy = energy + 0.5 * (dot(v, momentum) + dot(w, apply(J, w)))
    return energy


def first_moments(tree, runtime, q):
    """Return total mass and first moment of all moving bodies, in the base frame."""
    total, moment = 0.0, ZERO
    world = world_poses(tree, joint_poses(tree, q))
    for (R, r), (m, h, _) in zip(world, body_inertias(tree, runtime)):
        total = total + m
        moment = add(moment, add(scale(m, r), apply(R, h)))
    return total, moment


def potential_energy(tree, runtime, q):
    """Return U = - sum m g . p_C of the moving bodies."""
    return -dot(runtime[GRAVITY], first_moments(tree, runtime, q)[1])


def center_of_mass(tree, runtime, q):
    """Return the centre of mass of the moving bodies, in the base frame."""
    total, moment = first_moments(tree, runtime, q)
    return scale(reciprocal(total), moment)
