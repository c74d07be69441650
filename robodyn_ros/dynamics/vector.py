"""
Three-vectors and 3x3 matrices over scalars, for kernels.

Tuples of floats or symbols instead of NumPy arrays, so that kernels work with both. A vector is
`(x, y, z)`, a matrix a tuple of three rows.
"""

from __future__ import annotations

ZERO = (0.0, 0.0, 0.0)
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def add(u, v):
    """Return `u + v`."""
    return (u[0] + v[0], u[1] + v[1], u[2] + v[2])


def sub(u, v):
    """Return `u - v`."""
    return (u[0] - v[0], u[1] - v[1], u[2] - v[2])


def neg(u):
    """Return `-u`."""
    return (-u[0], -u[1], -u[2])


def scale(s, u):
    """Return `s u`."""
    return (s * u[0], s * u[1], s * u[2])


def dot(u, v):
    """Return `u . v`."""
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def cross(u, v):
    """Return `u x v`."""
    return (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])


def skew(u):
    """Return the matrix `[u]x` with `[u]x v = u x v`."""
    return ((0.0, -u[2], u[1]), (u[2], 0.0, -u[0]), (-u[1], u[0], 0.0))


def transpose(a):
    """Return the transpose of a matrix."""
    return tuple(zip(*a))


def apply(a, v):
    """Return the product of a matrix and a vector."""
    return (dot(a[0], v), dot(a[1], v), dot(a[2], v))


def apply_transposed(a, v):
    """Return `a^T v`."""
    return apply(transpose(a), v)


def matmul(a, b):
    """Return the product of two matrices."""
    columns = transpose(b)
    return tuple(tuple(dot(row, column) for column in columns) for row in a)


def matadd(a, b):
    """Return the sum of two matrices."""
    return tuple(add(x, y) for x, y in zip(a, b))


def matsub(a, b):
    """Return the difference of two matrices."""
    return tuple(sub(x, y) for x, y in zip(a, b))


def outer(u, v):
    """Return the matrix `u v^T`."""
    return tuple(scale(x, v) for x in u)


def symmetric(a):
    """Return `a` with its upper triangle mirrored, so that each pair is one expression."""
    return (a[0], (a[0][1], a[1][1], a[1][2]), (a[0][2], a[1][2], a[2][2]))


def congruence(r, a):
    """Return `r a r^T` for a symmetric `a`."""
    return symmetric(matmul(matmul(r, a), transpose(r)))
