"""
Payload estimation by the adaptive law (Slotine and Li 1987), on top of the known payloads.

The payload is its pseudo-inertia P = int x x^T dm with x = (position, 1) in the axes of its link:
second, first and zeroth moment of its mass, a permutation of the ten parameters. A physical body
has P >= 0 (Wensing, Kim, Slotine 2018). With A x the acceleration of a point in the law, and S x
its velocity under the joint velocity -s, both of the link and (3, 4),

    -s^T Y phi = int (S x) . (A x) dm = <W, P>,    W = sym(S^T A),

so that -Y^T s is W, and the estimate is moved along it. It is then projected, with lengths in
units of `size`: clipping eigenvalues yields the nearest P with 0 <= P <= largest mass. As that set
is convex, the projection does not increase the distance to any payload in it, and the stability
proof of the law holds.

This metric is flat. With the natural metric of positive definite matrices (Lee, Kwon, Park 2018)
an estimate stays physical without projection, but its rate is proportional to the estimate: it
never leaves zero, with which an arm begins here, and hardly reaches a small body, whose P is
nearly singular.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from robodyn_ros.control.laws.adaptive import corrections
from robodyn_ros.control.laws.symmetric import clipped
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.blocks import block, numbers, scalar
from robodyn_ros.dynamics.jit.flags import all_finite, equal, no, when
from robodyn_ros.dynamics.jit.flow import call, choose
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.jit.trace import maximum, minimum, sqrt
from robodyn_ros.dynamics.jit.vectors import difference, sums
from robodyn_ros.dynamics.vector import add, apply, matmul, scale, ZERO

STATE = ('q', 'qd', 'q_ref', 'qd_ref', 'qdd_ref', 'sliding')
ESTIMATE = slice(0, 16)     # of the result: P in the axes of the link
PARAMETERS = slice(16, 26)  # of the result: parameters of the body's payload slot
_TINY = 1e-300  # keeps a quotient defined without an error
_LONGEST = 0.02  # s, longest step: a pause is no evidence


def step(tree, runtime, x, P, numbers, frame):
    """Return the next estimate: 16 elements in link axes, then ten parameters in body axes."""
    rate, dead_zone, largest_mass, size = numbers
    W = gradient(tree, runtime, x, frame, size, dead_zone)
    lengths = (size, size, size, 1.0)
    P = [P[4 * i:4 * i + 4] for i in range(4)]
    scaled = [[P[i][j] / (lengths[i] * lengths[j]) + rate * W[i][j] for j in range(4)]
              for i in range(4)]
    scaled = clipped(scaled, 0.0, largest_mass)
    P = [[lengths[i] * lengths[j] * scaled[i][j] for j in range(4)] for i in range(4)]
    return [*sum(P, []), *body_parameters(P, frame)]


def gradient(tree, runtime, x, frame, size, dead_zone):
    """Return W for lengths in units of `size`; the dead zone reduces the norm of s."""
    velocity, acceleration, minus_s = corrections(x)
    qd_r, qdd_r = sums([x.qd_ref, velocity]), sums([x.qdd_ref, acceleration])
    norm = sqrt(sum(each * each for each in minus_s))
    scale_s = maximum(norm - dead_zone, 0.0) / maximum(norm, _TINY)
    poses, zeros = algorithms.joint_poses(tree, x.q), [0.0] * tree.nv

    def points(qd, qdd, base=ZERO):
        return point_accelerations(tree, poses, qd, qdd, base, frame, size)

    S = points(zeros, [scale_s * each for each in minus_s])
    # gravity as an upward acceleration of the base; C(q, qd) qd_r by polarisation, as in `Arm`
    parts = (points(zeros, qdd_r, scale(-1.0, runtime[algorithms.GRAVITY])),
             points(sums([x.qd, qd_r]), zeros), points(difference(x.qd, qd_r), zeros))
    A = [[a + 0.25 * (more - less) for a, more, less in zip(*rows)] for rows in zip(*parts)]
    W = [[sum(S[k][i] * A[k][j] for k in range(3)) for j in range(4)] for i in range(4)]
    return [[0.5 * (W[i][j] + W[j][i]) for j in range(4)] for i in range(4)]


def point_accelerations(tree, poses, qd, qdd, base, frame, size):
    """Return the (3, 4) matrix that maps (position in units of `size`, 1) to acceleration."""
    _, _, a, U = algorithms.accelerations(tree, poses, qd, qdd, base)[frame.body]
    origin = add(a, apply(U, frame.translation))
    return [[*scale(size, row), at] for row, at in zip(matmul(U, frame.rotation), origin)]


def body_parameters(P, frame):
    """Return (m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz) in the axes of the body."""
    T = [(*row, at) for row, at in zip(frame.rotation, frame.translation)] + [
        (0.0, 0.0, 0.0, 1.0)]
    moved = [[sum(t * P[k][j] for k, t in enumerate(row)) for j in range(4)] for row in T]
    P = [[sum(t * row[k] for k, t in enumerate(other)) for other in T] for row in moved]
    xx, yy, zz = P[0][0], P[1][1], P[2][2]
    return (P[3][3], P[0][3], P[1][3], P[2][3], yy + zz, xx + zz, xx + yy,
            -P[0][1], -P[0][2], -P[1][2])


# --- the step of the cycle -----------------------------------------------------------------------

@block
class Program:
    change: float = scalar('', 'Number of the last change of these numbers.')
    forget: float = scalar('', 'Number of the last request to restart from zero.')
    rate: float = scalar('kg s/(N m rad)', 'Rate of the adaptation.')
    dead_zone: float = scalar('rad/s', 'Norm of s below which nothing is learned.')
    largest_mass: float = scalar('kg', 'Largest estimated mass.')
    size: float = scalar('m', 'Extent of the payload.')


@block
class Memory:
    change: float = scalar('', 'Last change that was handled.')
    forget: float = scalar('', 'Last restart that was handled.')
    estimate: list = numbers('pseudo_inertia', 'kg m^2, kg m, kg', 'Pseudo-inertia of the '
                             'payload in the axes of its link, row by row.')
    active: float = scalar('', 'Flag: the estimate was updated in the last cycle.')


def sizes(dimensions):
    """Return the lengths of the inputs of a step, besides the runtime."""
    return len(STATE) * dimensions['joints'], 16, 4


def body_of(tree, frame, n):
    """Return a step as a function of its inputs, over scalars; n: number of joints."""
    def learn(runtime, state, estimate, values):
        x = SimpleNamespace(**{name: state[k * n:(k + 1) * n] for k, name in enumerate(STATE)})
        return step(tree, runtime, x, estimate, values, frame)

    return learn


def update(body, m, p, dt, state, learned, slot):
    """
    Return the memory after `dt` seconds, and the estimated parameters of all payload slots.

    state: rows by the names of `STATE`. slot: index of the ten numbers in the runtime.
    """
    answer = call(body.functions.learning, 0.0, body.runtime, flatten(state), m.estimate,
                  [p.rate * minimum(dt, _LONGEST), p.dead_zone, p.largest_mass, p.size],
                  outputs=PARAMETERS.stop)
    good = all_finite(answer)
    place = slice(slot, slot + 10)
    result = list(learned)
    result[place] = when(good, answer[PARAMETERS], learned[place])
    return Memory(m.change, m.forget, when(good, answer[ESTIMATE], m.estimate), m.active), result


def bounded(body, m, p, learned, slot):
    """Return memory and parameters as `update` does, within the bounds of a new program."""
    unchanged = replace(m, change=p.change), learned
    if slot is None:
        return unchanged
    rows = [[0.0] * body.nv for _ in STATE]
    return choose(no(equal(m.change, p.change)), [
        lambda: unchanged, lambda: update(body, unchanged[0], p, 0.0, rows, learned, slot)])
