"""
Functions of symmetric matrices, over scalars: Jacobi's method with a fixed number of rotations.

Straight-line code cannot iterate until convergence. Cyclic Jacobi converges quadratically (Golub
and Van Loan, Matrix Computations, 4th edition, 8.5): for six rows, five sweeps leave rounding
errors only. The eigenvectors are orthogonal to rounding after any number of sweeps, so that a
matrix composed of nonnegative eigenvalues is never indefinite.
"""

from __future__ import annotations

from collections.abc import Callable

from robodyn_ros.dynamics.algorithms import is_zero
from robodyn_ros.dynamics.jit.trace import absolute, maximum, minimum, select, sqrt

_SWEEPS = 5
_TINY = 1e-300  # keeps the quotient defined for diagonal matrices


def eigen(matrix):
    """Return eigenvalues, and the matrix whose columns are the eigenvectors."""
    n = len(matrix)
    A = [list(row) for row in matrix]
    V = [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(_SWEEPS):
        for p in range(n):
            for q in range(p + 1, n):
                _rotate(A, V, p, q)
    return [A[i][i] for i in range(n)], V


def _rotate(A, V, p, q):
    """Turn rows and columns p and q so that A_pq vanishes."""
    if is_zero(A[p][q]):
        return
    twice, gap = 2.0 * A[p][q], A[q][q] - A[p][p]
    # the smaller of both angles
    size = absolute(gap) + sqrt(gap * gap + twice * twice)
    t = select(gap, twice, -twice) / maximum(size, _TINY)
    c = 1.0 / sqrt(1.0 + t * t)
    s = t * c
    A[p][p], A[q][q] = A[p][p] - t * A[p][q], A[q][q] + t * A[p][q]
    A[p][q] = A[q][p] = 0.0
    for k in range(len(A)):
        if k not in (p, q):
            A[k][p], A[k][q] = c * A[k][p] - s * A[k][q], s * A[k][p] + c * A[k][q]
            A[p][k], A[q][k] = A[k][p], A[k][q]
        V[k][p], V[k][q] = c * V[k][p] - s * V[k][q], s * V[k][p] + c * V[k][q]


def clipped(matrix, least, most):
    """
    Return the nearest symmetric matrix with eigenvalues between `least` and `most`.

    Clipping the eigenvalues is the projection onto the convex set of such matrices in the
    Frobenius norm (Higham, Computing a nearest symmetric positive semidefinite matrix, 1988).
    """
    values, V = eigen(matrix)
    return spectral(values, V, lambda value: maximum(minimum(value, most), least))


def spectral(values, V, function: Callable):
    """Return V f(values) V^T as rows."""
    n = len(values)
    scaled = [function(value) for value in values]
    result = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            result[i][j] = result[j][i] = sum(V[i][k] * scaled[k] * V[j][k] for k in range(n))
    return result
