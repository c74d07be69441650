"""
Symmetric matrices with eigenvalues within bounds, over scalars.

Clipping the eigenvalues is the projection onto all such matrices in the norm of Frobenius
(Higham, Computing a nearest symmetric positive semidefinite matrix, 1988): it goes to the nearest
of them, and brings no two matrices farther apart.
"""

from __future__ import annotations

from robodyn_ros.dynamics.trace import absolute, maximum, minimum, select, sqrt

_SWEEPS = 6     # of a 4 x 4 matrix; from the third or so on each more than squares the error
_TINY = 1e-300  # keeps quotients defined where all is zero


def clipped(A, least, most):
    """Return the nearest symmetric matrix with eigenvalues between `least` and `most`."""
    values, V = eigen(A)
    values = [maximum(minimum(value, most), least) for value in values]
    scaled = [[value * x for x, value in zip(row, values)] for row in V]
    return [[sum(x * y for x, y in zip(a, b)) for b in V] for a in scaled]


def eigen(A):
    """Return eigenvalues, and eigenvectors as columns (Jacobi; Golub and Van Loan, 8.5)."""
    n = len(A)
    A = [list(row) for row in A]
    V = [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(_SWEEPS):
        for p in range(n):
            for k in range(p + 1, n):
                _rotate(A, V, p, k)
    return [A[i][i] for i in range(n)], V


def _rotate(A, V, p, k):
    """Turn rows and columns p and k so that element (p, k) vanishes."""
    # the tangent of the angle: the smaller root of t^2 + t (A_kk - A_pp) / A_pk - 1 = 0
    apart, twice = A[k][k] - A[p][p], 2.0 * A[p][k]
    size = absolute(apart) + sqrt(apart * apart + twice * twice)
    t = select(apart, twice, -twice) / maximum(size, _TINY)
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    A[p][p], A[k][k] = A[p][p] - t * A[p][k], A[k][k] + t * A[p][k]
    A[p][k] = A[k][p] = 0.0
    others = [j for j in range(len(A)) if j not in (p, k)]
    for row in [*(A[j] for j in others), *V]:
        row[p], row[k] = c * row[p] - s * row[k], s * row[p] + c * row[k]
    for j in others:
        A[p][j], A[k][j] = A[j][p], A[j][k]
