"""
Linear equations with a symmetric matrix: L^T D L factorisation, which preserves a tree's sparsity.

Source: Featherstone, Rigid Body Dynamics Algorithms, ch. 6.5.
"""

from __future__ import annotations

from robodyn_ros.dynamics.jit import flow
from robodyn_ros.dynamics.jit.trace import reciprocal

LARGEST_UNROLLED = 12  # rows up to which unrolled code is faster


def solve(M, b):
    """Return x with M x = b for symmetric M, by L^T D L factors (Featherstone 6.5)."""
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


def inverse(M):
    """Return the inverse of symmetric M in rows; by a loop for many joints, see `flow.inverse`."""
    n = len(M)
    if n > LARGEST_UNROLLED:
        return flow.inverse(M)
    return [solve(M, [1.0 if k == j else 0.0 for k in range(n)]) for j in range(n)]


def is_zero(value):
    """Return whether a scalar is a constant zero."""
    return value.__class__ in (float, bool) and not value
