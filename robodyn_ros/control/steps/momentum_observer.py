"""
Momentum observer: external joint torque without a force sensor and without accelerations.

The generalised momentum p = M(q) qd, rotors included, obeys

    p' = tau + tau_ext - friction - g + C^T qd,

because M' = C + C^T with the C of the Christoffel symbols. The observer integrates this:

    r = K (p - p(0) - int (tau - friction - g + C^T qd + r) dt)    so that    r' = K (tau_ext - r):

the residual is the external torque behind a low-pass filter, joint by joint (De Luca and Mattone
2003; De Luca, Albu-Schaeffer, Haddadin, Hirzinger 2006; Haddadin, De Luca, Albu-Schaeffer 2017).

`C^T qd` is the gradient of the kinetic energy, dT/dq at constant qd. Moving joint i
changes the spatial velocity V of the subtree by V x S_i, and the subtree has the momentum h:

    p_i = S_i . h,    (C^T qd)_i = (V_i x S_i) . h,

one outward pass for the velocities and one inward pass for the momenta, without the matrix C.

Shaping the inertia M of a joint to m feeds back its external torque, as estimated by the observer
of bandwidth K, with the factor M / m - 1. With a part c of that, and the damping D of the law, the
joint in contact with a spring of any stiffness is stable if and only if

    c K (M - m) <= D

(Hurwitz: M s^3 + (M/m D + M K) s^2 + ... with the stiffness going to infinity). A larger inertia,
m > M, is always stable. For all joints together M / m is the largest eigenvalue of
m^-1/2 M m^-1/2, for which the largest row sum of absolute values is an upper bound.
"""

from __future__ import annotations

from enum import IntEnum

from robodyn_ros.control import friction
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.trace import (
    absolute, maximum, minimum, reciprocal, select, sqrt)
from robodyn_ros.dynamics.jit.vectors import product, sums
from robodyn_ros.dynamics.vector import add, apply, cross, dot, scale

_TINY = 1e-9


class Row(IntEnum):
    """
    Rows of the observer's state, in N m (N), the momentum in N m s (N s).

    UNKNOWN is the residual without known external torque. ALLOWANCE is the part of the residual
    that model errors may cause, EXCESS the magnitude beyond it.
    """

    MOMENTUM = 0
    DRIFT = 1      # C^T qd - g - friction
    EXTERNAL = 2
    UNKNOWN = 3
    ALLOWANCE = 4
    EXCESS = 5


def observe(tree, runtime, q, qd, torque, known, motion, bandwidth, viscous, coulomb, stiction,
            stribeck_velocity, friction_width, armature, safe_gravity_scale, step, memory):
    """
    Return the rows after a step of `dt`, see `Row`.

    The torque is constant between two states, the rest is integrated by the trapezoidal rule. The
    filter is exp(-K dt) up to (K dt)^4, and stable for any dt: with x = K dt,

        r += k (p - p_before - dt (tau + drift + r)),
        k = K (1 + x/2 + x^2/6) / (1 + x + x^2/2 + x^3/6).

    motion: terms INERTIA, CORIOLIS and PAYLOAD of the torque.
    """
    n, (dt, model_error) = tree.nv, step
    inertial, velocity, load = (motion[n * k:n * (k + 1)] for k in range(3))
    before = [memory[n * row:n * (row + 1)] for row in Row]
    p, gradient = momentum(tree, runtime, q, qd)
    p = sums([p, product(armature, qd)])
    g = algorithms.gravity(tree, runtime, q)
    width = friction.measured_width(friction_width)
    tau_f = friction.friction(qd, viscous, coulomb, stiction, stribeck_velocity, width)
    drift = [c - w * each - f for c, w, each, f in zip(gradient, safe_gravity_scale, g, tau_f)]
    allowance = [model_error * (absolute(a) + absolute(b) + absolute(c) + absolute(f)) + h
                 for a, b, c, f, h in zip(inertial, velocity, load, tau_f,
                                          friction.unmodelled(qd, stiction, width))]
    rows = []
    for i in range(n):
        K = bandwidth[i]
        x = K * dt
        k = K * (1.0 + x * (0.5 + x * (1.0 / 6.0))) * reciprocal(
            1.0 + x * (1.0 + x * (0.5 + x * (1.0 / 6.0))))
        change = p[i] - before[Row.MOMENTUM][i] - dt * (
            torque[i] + 0.5 * (drift[i] + before[Row.DRIFT][i]))
        r, unknown, allowed = (before[row][i] for row in (Row.EXTERNAL, Row.UNKNOWN,
                                                          Row.ALLOWANCE))
        r = r + k * (change - dt * r)
        unknown = unknown + k * (change - dt * (known[i] + unknown))
        # with the same filter, so that it bounds the residual at any time
        allowed = allowed + k * dt * (allowance[i] - allowed)
        rows.append((p[i], drift[i], r, unknown, allowed, absolute(unknown) - allowed))
    return list(zip(*rows))


def momentum(tree, runtime, q, qd):
    """Return M qd, and C^T qd; without rotors."""
    poses = algorithms.joint_poses(tree, q)
    motions = algorithms.velocities(tree, poses, qd)
    # of each body: linear, and angular about its origin
    momenta = [(add(scale(m, v), cross(w, h)), add(apply(J, w), cross(h, v)))
               for (m, h, J), (w, v) in zip(algorithms.body_inertias(tree, runtime), motions)]
    p, gradient = [0.0] * len(poses), [0.0] * len(poses)
    for i in reversed(tree.bodies):
        (linear, angular), (w, v), z = momenta[i], motions[i], tree.axis[i]
        if tree.prismatic[i]:
            p[i], gradient[i] = dot(linear, z), dot(linear, cross(w, z))
        else:
            p[i] = dot(angular, z)
            gradient[i] = dot(angular, cross(w, z)) + dot(linear, cross(v, z))
        if tree.parent[i] >= 0:
            momenta[tree.parent[i]] = algorithms.add_wrenches(
                momenta[tree.parent[i]], algorithms.parent_wrench(poses[i], linear, angular))
    return algorithms.to_coordinates(tree, p), algorithms.to_coordinates(tree, gradient)


def stable_part(tree, runtime, q, armature, inertia, decay):
    """Return c: at most 1, and `decay / (M/m - 1)` with `decay` the smallest D / (m K)."""
    M = algorithms.add_to_diagonal(algorithms.mass_matrix(tree, runtime, q), armature)
    ratio = 1.0
    for row, m in zip(M, inertia):
        size = sum((absolute(each) / sqrt(m * other) for each, other in zip(row, inertia)), 0.0)
        ratio = maximum(size, ratio)
    return [select(_TINY - (ratio - 1.0), 1.0, minimum(
        decay[0] * reciprocal(maximum(ratio - 1.0, _TINY)), 1.0))]
