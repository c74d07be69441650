"""
The algorithms of rigid-body dynamics, each written once.

Plain functions over scalars: floats give the readable reference, symbols of `trace` give the
program that is compiled (see `codegen`). `tree` is concrete, so loops over bodies unroll and the
zeros and ones of a real robot disappear.

Notation, for body i with parent p and joint axis z in body axes:

- `R, r` pose of the body in its parent, `x_p = R x_i + r`;
- `w, dw` angular velocity and acceleration, `v, a` velocity and acceleration of the body's
  origin, all in body axes;
- `m, h, J` mass, first moment `m c`, and inertia about the body's origin;
- `f, n` force and moment about the body's origin that the parent applies to the body.

`runtime` holds what may change while a robot runs: gravity (3), then ten numbers per payload
slot (m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) in the axes of the body that carries it.

Sources: Craig, Introduction to Robotics, 3rd ed., ch. 6 (outward and inward iterations);
Luh, Walker, Paul 1980; Khalil and Dombre, Modeling, Identification and Control of Robots, ch. 9
(first moments); Featherstone, Rigid Body Dynamics Algorithms, ch. 5 to 7 (CRBA, ABA, LTDL).
"""

from __future__ import annotations

from robodyn_ros.dynamics.trace import reciprocal, sincos
from robodyn_ros.dynamics.vector import (
    add, apply, apply_transposed, congruence, cross, dot, IDENTITY, matadd, matmul, matsub, neg,
    outer, scale, skew, sub, symmetric, transpose, ZERO)

GRAVITY = slice(0, 3)
PAYLOAD_SIZE = 10


# --- the robot at a configuration -----------------------------------------------------------

def joint_rotation(axis, angle):
    """Return the rotation by `angle` about a unit axis (Rodrigues; Craig 2.80)."""
    s, c = sincos(angle)
    # a a^T + c (1 - a a^T) + s [a]x: along a coordinate axis every product folds away
    return tuple(
        tuple(axis[i] * axis[j] + c * ((i == j) - axis[i] * axis[j]) + s * skew(axis)[i][j]
              for j in range(3)) for i in range(3))


def poses(tree, q):
    """Return the pose (R, r) of every body in its parent."""
    placed = []
    for i in tree.bodies:
        position = tree.multiplier[i] * q[tree.coordinate[i]] + tree.offset[i]
        R, r = tree.rotation[i], tree.translation[i]
        if tree.prismatic[i]:
            r = add(r, apply(R, scale(position, tree.axis[i])))
        else:
            R = matmul(R, joint_rotation(tree.axis[i], position))
        placed.append((R, r))
    return placed


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


def body_inertias(tree, runtime):
    """Return (m, h, J) of every body, payloads included."""
    inertias = list(zip(tree.mass, tree.first_moment, tree.inertia))
    for slot, i in enumerate(tree.payload_bodies):
        if i < 0:  # on the immovable base: no joint feels it
            continue
        start = 3 + PAYLOAD_SIZE * slot
        pm, hx, hy, hz, xx, yy, zz, xy, xz, yz = runtime[start:start + PAYLOAD_SIZE]
        m, h, J = inertias[i]
        payload = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        inertias[i] = (m + pm, add(h, (hx, hy, hz)), matadd(J, payload))
    return inertias


def spin(w, dw):
    """Return [dw]x + [w]x [w]x: acceleration of a body's point relative to its origin."""
    ww = outer(w, w)
    square = (
        (-ww[1][1] - ww[2][2], ww[0][1], ww[0][2]),
        (ww[0][1], -ww[0][0] - ww[2][2], ww[1][2]),
        (ww[0][2], ww[1][2], -ww[0][0] - ww[1][1]))
    return matadd(skew(dw), square)


# --- inverse dynamics -----------------------------------------------------------------------

def accelerations(tree, placed, qd, qdd, base_acceleration):
    """Return (w, dw, a, spin) of every body: the outward iterations (Craig 6.45-6.48)."""
    qd, qdd = joint_rates(tree, qd), joint_rates(tree, qdd)
    base = (ZERO, ZERO, base_acceleration, spin(ZERO, ZERO))
    motion = []
    for i in tree.bodies:
        R, r = placed[i]
        z = tree.axis[i]
        w, dw, a, U = base if tree.parent[i] < 0 else motion[tree.parent[i]]
        # the parent's motion, at the child's origin and in its axes
        w, dw = apply_transposed(R, w), apply_transposed(R, dw)
        a = apply_transposed(R, add(a, apply(U, r)))
        zqd, zqdd = scale(qd[i], z), scale(qdd[i], z)
        if tree.prismatic[i]:
            # Coriolis and sliding acceleration (6.35)
            a = add(add(a, scale(2.0, cross(w, zqd))), zqdd)
        else:
            # angular velocity and acceleration (6.45, 6.46)
            dw = add(add(dw, cross(w, zqd)), zqdd)
            w = add(w, zqd)
        motion.append((w, dw, a, spin(w, dw)))
    return motion


def inverse_dynamics(tree, runtime, q, qd, qdd):
    """Return joint forces tau for a motion: recursive Newton-Euler (Craig 6.45-6.53)."""
    placed = poses(tree, q)
    # gravity is a base that accelerates upwards
    motion = accelerations(tree, placed, qd, qdd, neg(runtime[GRAVITY]))
    wrenches = []
    for (m, h, J), (w, dw, a, U) in zip(body_inertias(tree, runtime), motion):
        # F = m dv_C (6.49) with m dv_C = m a + ([dw]x + [w]x^2) h
        force = add(scale(m, a), apply(U, h))
        # N = I dw + w x I w (6.50), about the origin: + h x a
        moment = add(add(apply(J, dw), cross(w, apply(J, w))), cross(h, a))
        wrenches.append((force, moment))
    return to_coordinates(tree, inward(tree, placed, wrenches))


def inward(tree, placed, wrenches):
    """Return joint forces that balance (f, n) on every body: the inward iterations."""
    wrenches = list(wrenches)
    tau = [0.0] * len(wrenches)
    for i in reversed(tree.bodies):
        force, moment = wrenches[i]
        # component along the axis (6.53)
        tau[i] = dot(force if tree.prismatic[i] else moment, tree.axis[i])
        if tree.parent[i] >= 0:
            # what this body passes on (6.51, 6.52)
            wrenches[tree.parent[i]] = add_wrenches(
                wrenches[tree.parent[i]], to_parent(placed[i], force, moment))
    return tau


def to_parent(pose, force, moment):
    """Return a wrench on a body, as a wrench on its parent in the parent's axes."""
    R, r = pose
    force = apply(R, force)
    return force, add(apply(R, moment), cross(r, force))


def add_wrenches(a, b):
    """Return the sum of two wrenches (f, n)."""
    return add(a[0], b[0]), add(a[1], b[1])


def gravity(tree, runtime, q):
    """Return the joint forces g(q) that hold the robot still."""
    rest = [0.0] * tree.nv
    return inverse_dynamics(tree, runtime, q, rest, rest)


def bias(tree, runtime, q, qd):
    """Return C(q, qd) qd + g(q)."""
    return inverse_dynamics(tree, runtime, q, qd, [0.0] * tree.nv)


def inertial(tree, runtime, q, qdd):
    """Return M(q) qdd, without gravity and velocities."""
    rest = [0.0] * tree.nv
    return inverse_dynamics(tree, [*ZERO, *runtime[3:]], q, rest, qdd)


# --- mass matrix ----------------------------------------------------------------------------

def mass_matrix(tree, runtime, q):
    """Return M(q): composite rigid bodies (Featherstone, table 6.2)."""
    placed = poses(tree, q)
    composite = body_inertias(tree, runtime)
    M = [[0.0] * tree.nv for _ in range(tree.nv)]
    for i in reversed(tree.bodies):
        if tree.parent[i] >= 0:
            p = tree.parent[i]
            composite[p] = add_inertias(composite[p], inertia_in_parent(placed[i], composite[i]))
        # the wrench that accelerates everything beyond joint i by one unit
        m, h, J = composite[i]
        z = tree.axis[i]
        wrench = (scale(m, z), cross(h, z)) if tree.prismatic[i] else (cross(z, h), apply(J, z))
        # what each joint on the way to the base feels of it
        j = i
        while j >= 0:
            share = dot(wrench[0 if tree.prismatic[j] else 1], tree.axis[j])
            add_to_mass_matrix(tree, M, i, j, share)
            wrench = to_parent(placed[j], *wrench)
            j = tree.parent[j]
    return M


def add_to_mass_matrix(tree, M, i, j, share):
    """Add joint-space element (i, j), j at or above i, to M in generalised coordinates."""
    a, b = tree.coordinate[i], tree.coordinate[j]
    share = tree.multiplier[i] * tree.multiplier[j] * share
    if i != j and a == b:
        # two joints of one coordinate: both (i, j) and (j, i) fall on the diagonal
        share = 2.0 * share
    M[a][b] = M[a][b] + share
    if a != b:
        M[b][a] = M[a][b]


def add_to_diagonal(M, armature):
    """Add the inertia of rotors to a mass matrix, and return it."""
    for i, inertia in enumerate(armature):
        M[i][i] = M[i][i] + inertia
    return M


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


# --- forward dynamics -----------------------------------------------------------------------

def forward_dynamics(tree, runtime, q, qd, tau, armature=None):
    """
    Return accelerations qdd = M^-1 (tau - bias).

    `armature` is added to the diagonal of M: rotor inertia, or the implicit part of an
    integrator. Small arms and coupled joints factorise M, larger ones take the articulated-body
    algorithm, whose cost grows with the number of joints only.
    """
    armature = [0.0] * tree.nv if armature is None else armature
    if len(tree.parent) > 15 and not tree.coupled:
        return articulated_body(tree, runtime, q, qd, tau, armature)
    M = add_to_diagonal(mass_matrix(tree, runtime, q), armature)
    return solve(M, [t - b for t, b in zip(tau, bias(tree, runtime, q, qd))])


def solve(M, b):
    """Return x with M x = b, M symmetric: L^T D L, keeps a tree's zeros (Featherstone 6.5)."""
    n = len(b)
    L, x = [list(row) for row in M], list(b)
    inverse = [0.0] * n
    for k in reversed(range(n)):
        inverse[k] = reciprocal(L[k][k])
        for i in reversed(range(k)):
            if is_zero(L[k][i]):
                continue
            factor = L[k][i] * inverse[k]
            for j in range(i + 1):
                L[i][j] = L[i][j] - factor * L[k][j]
            L[k][i] = factor
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    for k in range(n):
        x[k] = x[k] * inverse[k]
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return x


def is_zero(value):
    """Return whether a scalar is known to be zero."""
    return value.__class__ is float and value == 0.0


def articulated_body(tree, runtime, q, qd, tau, armature):
    """Return accelerations by articulated bodies (Featherstone, table 7.1), in O(n)."""
    placed = poses(tree, q)
    qd = joint_rates(tree, qd)
    velocities, biases, articulated, forces = [], [], [], []
    for i, (m, h, J) in enumerate(body_inertias(tree, runtime)):
        # velocity (w, v), and the part of the acceleration that velocities cause: v x S qd
        w, v = carried(placed[i], *velocities[tree.parent[i]]) if tree.parent[i] >= 0 else (
            ZERO, ZERO)
        zqd = scale(qd[i], tree.axis[i])
        if tree.prismatic[i]:
            biases.append((ZERO, cross(w, zqd)))
            v = add(v, zqd)
        else:
            biases.append((cross(w, zqd), cross(v, zqd)))
            w = add(w, zqd)
        velocities.append((w, v))
        # bias force v x* I v of the single body
        moment, force = add(apply(J, w), cross(h, v)), sub(scale(m, v), cross(h, w))
        forces.append((cross(w, force), add(cross(w, moment), cross(v, force))))
        # n = A dw + H a,  f = H^T dw + K a
        articulated.append((J, skew(h), tuple(scale(m, row) for row in IDENTITY)))
    steps = [None] * len(forces)
    for i in reversed(tree.bodies):
        A, H, K = articulated[i]
        z, slide = tree.axis[i], tree.prismatic[i]
        # U = I^A S, D = S^T U, u = tau - S^T p^A
        Un, Uf = (apply(H, z), apply(K, z)) if slide else (apply(A, z), apply_transposed(H, z))
        inverse = reciprocal(dot(z, Uf if slide else Un) + armature[i])
        u = tau[i] - dot(z, forces[i][0 if slide else 1])
        steps[i] = (Un, Uf, inverse, u)
        if tree.parent[i] < 0:
            continue
        # I^a = I^A - U D^-1 U^T,  p^a = p^A + I^a c + U D^-1 u
        Wn, Wf = scale(inverse, Un), scale(inverse, Uf)
        A = symmetric(matsub(A, outer(Wn, Un)))
        H = matsub(H, outer(Wn, Uf))
        K = symmetric(matsub(K, outer(Wf, Uf)))
        cn, cf = biases[i]
        force = add(add(apply_transposed(H, cn), apply(K, cf)), scale(u, Wf))
        moment = add(add(apply(A, cn), apply(H, cf)), scale(u, Wn))
        p = tree.parent[i]
        forces[p] = add_wrenches(
            forces[p], to_parent(placed[i], *add_wrenches(forces[i], (force, moment))))
        articulated[p] = tuple(map(
            matadd, articulated[p], articulated_in_parent(placed[i], A, H, K)))
    qdd, motion = [], []
    for i in tree.bodies:
        # a' = X a_p + c,  qdd = D^-1 (u - U^T a')
        dw, a = motion[tree.parent[i]] if tree.parent[i] >= 0 else (ZERO, neg(runtime[GRAVITY]))
        dw, a = carried(placed[i], dw, a)
        dw, a = add(dw, biases[i][0]), add(a, biases[i][1])
        Un, Uf, inverse, u = steps[i]
        qdd.append(inverse * (u - dot(Un, dw) - dot(Uf, a)))
        step = scale(qdd[i], tree.axis[i])
        motion.append((dw, add(a, step)) if tree.prismatic[i] else (add(dw, step), a))
    return qdd


def carried(pose, w, v):
    """Return a parent's spatial motion (w, v) at the child's origin, in its axes."""
    R, r = pose
    return apply_transposed(R, w), apply_transposed(R, add(v, cross(w, r)))


def articulated_in_parent(pose, A, H, K):
    """Return an articulated inertia about the parent's origin, in its axes."""
    R, r = pose
    P = skew(r)
    A, K = congruence(R, A), congruence(R, K)
    H = matmul(matmul(R, H), transpose(R))
    HP, PK = matmul(H, P), matmul(P, K)
    # A - H [r]x + [r]x H^T - [r]x K [r]x,  H + [r]x K
    A = matsub(matsub(A, matadd(HP, transpose(HP))), matmul(PK, P))
    return symmetric(A), matadd(H, PK), K


# --- kinematics -----------------------------------------------------------------------------

def world_poses(tree, placed):
    """Return the pose of every body in the base frame."""
    world = []
    for i in tree.bodies:
        R, r = placed[i]
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


def forward_kinematics(tree, runtime, q, frame):
    """Return the 4x4 pose of a frame in the base frame."""
    R, r = frame_pose(world_poses(tree, poses(tree, q)), frame)
    return [(*row, x) for row, x in zip(R, r)] + [(0.0, 0.0, 0.0, 1.0)]


def jacobian(tree, runtime, q, frame):
    """Return the 6 x nv Jacobian of a frame's origin, linear rows first, in base axes."""
    world = world_poses(tree, poses(tree, q))
    _, point = frame_pose(world, frame)
    J = [[0.0] * tree.nv for _ in range(6)]
    for i in tree.path_to(frame.body):
        R, r = world[i]
        z = scale(tree.multiplier[i], apply(R, tree.axis[i]))
        linear, angular = (z, ZERO) if tree.prismatic[i] else (cross(z, sub(point, r)), z)
        for row, value in enumerate((*linear, *angular)):
            J[row][tree.coordinate[i]] = J[row][tree.coordinate[i]] + value
    return J


def jacobian_dot_qd(tree, runtime, q, qd, frame):
    """Return the part of a frame's acceleration that velocities cause, linear first."""
    if frame.body < 0:
        return [0.0] * 6
    placed = poses(tree, q)
    motion = accelerations(tree, placed, qd, [0.0] * tree.nv, ZERO)
    R, _ = world_poses(tree, placed)[frame.body]
    _, dw, a, U = motion[frame.body]
    return [*apply(R, add(a, apply(U, frame.translation))), *apply(R, dw)]


# --- energies -------------------------------------------------------------------------------

def kinetic_energy(tree, runtime, q, qd):
    """Return K = 1/2 sum m v.v + 2 v.(w x h) + w.J w."""
    placed = poses(tree, q)
    qd = joint_rates(tree, qd)
    energy, motion = 0.0, []
    for i, (m, h, J) in enumerate(body_inertias(tree, runtime)):
        w, v = (ZERO, ZERO) if tree.parent[i] < 0 else carried(
            placed[i], *motion[tree.parent[i]])
        step = scale(qd[i], tree.axis[i])
        w, v = (w, add(v, step)) if tree.prismatic[i] else (add(w, step), v)
        motion.append((w, v))
        momentum = add(scale(m, v), scale(2.0, cross(w, h)))
        energy = energy + 0.5 * (dot(v, momentum) + dot(w, apply(J, w)))
    return energy


def first_moments(tree, runtime, q):
    """Return total mass and first moment of all moving bodies, in the base frame."""
    total, moment = 0.0, ZERO
    world = world_poses(tree, poses(tree, q))
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
