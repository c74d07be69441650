"""A linear quadratic regulator about a pose: as a sender of linear feedback computes it."""

import numpy as np
from robodyn_ros.control import LinearCommand
from scipy.linalg import solve_continuous_are


def regulator(dynamics, q, position=1e4, velocity=1e2):
    """Return the (nv, 2 nv) gains that hold an arm in a pose; weights beside accelerations."""
    n = len(q)
    by_q, _, M = dynamics.inverse_dynamics_derivatives(q, np.zeros(n), np.zeros(n))
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, n))
    A[:n, n:] = np.eye(n)
    inverse = np.linalg.inv(M)
    A[n:, :n], B[n:] = -inverse @ by_q, inverse
    Q, R = np.diag(np.repeat([position, velocity], n)), inverse @ inverse
    P = solve_continuous_are(A, B, Q, R)
    return np.linalg.solve(R, B.T @ P)


def command(dynamics, q, gain, velocity=None):
    """Return what holds an arm in a pose with these gains."""
    rest = np.zeros(len(q)) if velocity is None else velocity
    return LinearCommand(dynamics.gravity(q), np.array(q), rest, gain)
