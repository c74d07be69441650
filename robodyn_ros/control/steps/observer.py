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

from dataclasses import replace
from enum import IntEnum

from robodyn_ros.control import friction
from robodyn_ros.control.laws import joint_impedance
from robodyn_ros.control.steps import collision, laws, loads, modes, wrenches
from robodyn_ros.control.terms import rows_of, Term
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.blocks import block, joints, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, all_of, equal, finite, flag, no, when
from robodyn_ros.dynamics.jit.flow import choose
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, reciprocal, select, sqrt
from robodyn_ros.dynamics.jit.vectors import positive, product, sums, zeros
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


def residual_rows(tree, runtime, q, qd, torque, known, motion, bandwidth, viscous, coulomb,
                  stiction, stribeck_velocity, friction_width, armature, safe_gravity_scale, step,
                  memory):
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


def stable_part(M, inertia, decay):
    """Return c: at most 1, and `decay / (M/m - 1)` with `decay` the smallest D / (m K)."""
    ratio = 1.0
    for row, m in zip(M, inertia):
        size = sum((absolute(each) / sqrt(m * other) for each, other in zip(row, inertia)), 0.0)
        ratio = maximum(size, ratio)
    return [select(_TINY - (ratio - 1.0), 1.0, minimum(
        decay[0] * reciprocal(maximum(ratio - 1.0, _TINY)), 1.0))]


# --- mean of the torques sent between two states -------------------------------------------------

@block
class MeanTorque:
    impulse: list = joints('N m s', 'Integral of the torques sent since the last state.')
    elapsed: float = scalar('s', 'Time that it covers.')


def torque_added(m, dt, torque):
    """Return the memory after a torque that acted for `dt` seconds."""
    return MeanTorque([i + dt * t for i, t in zip(m.impulse, torque)], m.elapsed + dt)


def mean_torque(m, dt, torque):
    """Return time and mean torque since the last state, the last torque included; new memory."""
    several = flag(m.elapsed)
    whole = torque_added(m, maximum(dt, 0.0), torque)
    mean = [i / positive(whole.elapsed) for i in whole.impulse]
    return (when(several, whole.elapsed, dt), when(several, mean, torque),
            MeanTorque(zeros(m.impulse), 0.0))


# --- of a cycle ----------------------------------------------------------------------------------

_GAINS = (*friction.GAINS, 'armature', 'safe_gravity_scale')


@block
class Program:
    measured: float = scalar('', 'Flag: the motor torque is the measured effort.')
    model_error: float = scalar('', 'Relative model error of the torques of the motion.')


@block
class Memory:
    begins: float = scalar('', 'Flag: the next state is the first.')
    blending: float = scalar('', 'Flag: loads were changing at the last state.')
    change: float = scalar('', 'Change of the loads at the last state.')
    q: list = joints('rad', 'Position at the last state.')
    qd: list = joints('rad/s', 'Velocity at the last state.')
    momentum: list = joints('N m s', 'Generalised momentum M qd.')
    drift: list = joints('N m', 'C^T qd - g - friction.')
    external: list = joints('N m', 'External torque.')
    unknown: list = joints('N m', 'External torque without its known part.')
    allowance: list = joints('N m', 'Allowance of the external torque for model errors.')
    excess: list = joints('N m', 'Magnitude of the unknown part beyond the allowance.')


def _rows(m):
    return [m.momentum, m.drift, m.external, m.unknown, m.allowance, m.excess]


def restarted(m, flag_):
    """Return the memory of a restarted observer, where a flag holds."""
    rows = [when(flag_, zeros(row), row) for row in _rows(m)]
    return Memory(flag(m.begins) | flag_, m.blending, m.change, m.q, m.qd, *rows)


def update(body, m, p, dt, state, torque, known, terms, change_of_loads):
    """
    Return the memory after a state.

    dt: seconds since the last state. state: of the cycle. torque: mean torque sent since then.
    known: known external torque. terms: rows of the last law, see `Term`. change_of_loads: (flag
    that the loads are changing, number of their change).
    """
    blending, change = change_of_loads
    switches = flag(m.blending) | blending | no(equal(change, m.change))
    motors = [when(p.measured & finite(e), e, t) for e, t in zip(state.effort, torque)]
    g, nothing = body.gains, zeros(torque)
    gains = [getattr(g, name) for name in _GAINS]
    motion = [terms[term] for term in (Term.INERTIA, Term.CORIOLIS, Term.PAYLOAD)]

    def observed(q, qd, torque, known, bandwidth, step, rows):
        return body.rows('observe', q, qd, torque, known, motion, [bandwidth, *gains], step, rows)

    def initialised(q, qd):
        # without bandwidth the estimates are kept
        return observed(q, qd, nothing, nothing, nothing, [0.0, 0.0], _rows(m))

    def step_from(rows):
        return observed(state.q, state.qd, motors, known, g.observer_bandwidth,
                        [dt, p.model_error], rows)

    # a change of the model is no change of momentum: recompute the last state with the new model
    before = choose(switches & no(m.begins), [lambda: _rows(m), lambda: initialised(m.q, m.qd)])
    rows = choose(m.begins, [lambda: step_from(before), lambda: initialised(state.q, state.qd)])
    good = all_finite(rows)
    return Memory(no(good), blending, change, state.q, state.qd,
                  *when(good, rows, [nothing for _ in rows]))


def stable_external(body, q, external, stiffness):
    """Return the part of the external torque that a law with inertia shaping may feed back."""
    g = body.gains
    damping = joint_impedance.damping(replace(g, stiffness=stiffness), g.apparent_inertia)
    slowest = _smallest([d / m for d, m in zip(damping, g.apparent_inertia)])
    fastest = _largest(g.observer_bandwidth)
    part, = body.part('stable_part', body.inertia(q), g.apparent_inertia, [slowest / fastest])
    return [part * each for each in external]


def _smallest(values):
    result = values[0]
    for each in values[1:]:
        result = minimum(each, result)
    return result


def _largest(values):
    result = values[0]
    for each in values[1:]:
        result = maximum(each, result)
    return result


def observe(body, flags, state, m, p):
    """Return the memory after observing a state, and whether a collision begins that counts."""

    def observed():
        elapsed, torque, after_torque = mean_torque(
            m.mean_torque, flags.now - m.last_time, m.sent)
        # a velocity from another source would look like a change of momentum
        regular = all_of([elapsed > 0.0, no(elapsed > body.robot.longest_pause),
                          no(m.acceptance.plausibility.switched)])
        undecided = m.acceptance.plausibility.undecided
        known = wrenches.known_torque(body, state.q, p.external, m.last_time)
        blending = no(loads.settled(m.loads)) | laws.one_of(p.law, laws.ADAPT)
        after = update(
            body, restarted(m.observer, no(regular)), p.observer, elapsed, state, torque,
            known, rows_of(m.terms), (blending, m.loads.change))
        hit, begun = collision.update(m.collision, p.collision, elapsed, after.excess,
                                      after.unknown, undecided)
        return after_torque, after, hit, begun

    after_torque, after, hit, begun = choose(flags.fresh, [
        lambda: (m.mean_torque, m.observer, m.collision, 0.0), observed])
    counts = all_of([begun, no(modes.no_reference(m.motion)), flag(p.collision.reaction)])
    return replace(m, mean_torque=after_torque, observer=after, collision=hit), counts
