"""
Symmetric matrices with eigenvalues within bounds, over scalars.

Clipping the eigenvalues is the projection onto all such matrices in the norm of Frobenius
(Higham, Computing a nearest symmetric positive semidefinite matrix, 1988): it goes to the nearest
of them, and brings no two matrices farther apart.
"""

from __future__ import annotations

from robodyn_ros.dynamics.trace import absolute, maximum, minimum, select, sqrt
from robodyn_ros.dynamics.vector import matmul, transpose

_SWEEPS = 6     # of a 4 x 4 matrix; the error is squared, and more, by each of the last ones
_TINY = 1e-300  # keeps quotients defined where all is zero


def clipped(A, least, most):
    """Return the nearest symmetric matrix with eigenvalues between `least` and `most`."""
    values, V = eigen(A)
    values = [maximum(minimum(value, most), least) for value in values]
    scaled = [[value * x for x, value in zip(row, values)] for row in V]
    return matmul(scaled, transpose(V))


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
    # tan = t: the smaller root of t^2 + 2 t cot(2 angle) - 1 = 0
    apart, twice = A[k][k] - A[p][p], 2.0 * A[p][k]
    size = absolute(apart) + sqrt(apart * apart + twice * twice)
    t = select(apart, twice, -twice) / maximum(size, _TINY)
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    A[p][p], A[k][k] = A[p][p] - t * A[p][k], A[k][k] + t * A[p][k]
    A[p][k] = A[k][p] = 0.0
    for j in range(len(A)):
        if j not in (p, k):
            x, y = A[j][p], A[j][k]
            A[j][p] = A[p][j] = c * x - s * y
            A[j][k] = A[k][j] = s * x + c * y
        x, y = V[j][p], V[j][k]
        V[j][p], V[j][k] = c * x - s * y, s * x + c * y
