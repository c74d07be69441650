"""
One step of learning a payload (Slotine and Li 1987), over scalars.

The payload is its pseudo-inertia P = int x x^T dm with x = (position, 1) in the axes of its link:
second, first and zeroth moment of its mass, the ten parameters in another order. A real body has
P >= 0 (Wensing, Kim, Slotine 2018). With A x the acceleration of a point as the law has it, and
S x the velocity that -s gives to it, both of the link and (3, 4),

    -s^T Y phi = int (S x) . (A x) dm = <W, P>,    W = sym(S^T A),

so -Y^T s is W, and the estimate goes along it. Then it is projected, lengths counted in parts of
`size`: clipping eigenvalues leads to the nearest P with 0 <= P <= largest mass. That set is
convex: the way there leads nearer to any payload in it, and takes nothing from the proof of the
law.

This metric is flat. In the natural one of positive definite matrices (Lee, Kwon, Park 2018) an
estimate stays physical by itself, but it goes in proportion to what it is: it never leaves zero,
and hardly reaches a small body, whose P is nearly singular. Here an arm begins without payload.
"""

from __future__ import annotations

from robodyn_ros.control.laws.adaptive import corrections
from robodyn_ros.control.laws.symmetric import clipped
from robodyn_ros.control.terms import difference, sums
from robodyn_ros.dynamics import algorithms
from robodyn_ros.dynamics.jit.trace import maximum, sqrt
from robodyn_ros.dynamics.vector import add, apply, matmul, scale, ZERO

STATE = ('q', 'qd', 'q_ref', 'qd_ref', 'qdd_ref', 'sliding')
ESTIMATE = slice(0, 16)     # of the answer: P in the axes of the link
PARAMETERS = slice(16, 26)  # of the answer: what the body's payload slot takes
_TINY = 1e-300  # keeps a quotient defined where there is no error


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
    """Return W for lengths in parts of `size`; s is shortened by the dead zone."""
    velocity, acceleration, toward = corrections(x)
    qd_r, qdd_r = sums([x.qd_ref, velocity]), sums([x.qdd_ref, acceleration])
    norm = sqrt(sum(each * each for each in toward))
    counts = maximum(norm - dead_zone, 0.0) / maximum(norm, _TINY)
    placed, rest = algorithms.joint_poses(tree, x.q), [0.0] * tree.nv

    def points(qd, qdd, base=ZERO):
        return point_accelerations(tree, placed, qd, qdd, base, frame, size)

    S = points(rest, [counts * each for each in toward])
    # gravity is a base that accelerates upwards; C(q, qd) qd_r by polarisation, as in `Arm`
    parts = (points(rest, qdd_r, scale(-1.0, runtime[algorithms.GRAVITY])),
             points(sums([x.qd, qd_r]), rest), points(difference(x.qd, qd_r), rest))
    A = [[a + 0.25 * (more - less) for a, more, less in zip(*rows)] for rows in zip(*parts)]
    W = [[sum(S[k][i] * A[k][j] for k in range(3)) for j in range(4)] for i in range(4)]
    return [[0.5 * (W[i][j] + W[j][i]) for j in range(4)] for i in range(4)]


def point_accelerations(tree, placed, qd, qdd, base, frame, size):
    """Return the (3, 4) matrix that maps (position in parts of `size`, 1) to acceleration."""
    _, _, a, U = algorithms.accelerations(tree, placed, qd, qdd, base)[frame.body]
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
