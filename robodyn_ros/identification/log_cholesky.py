"""
Inertial parameters of a body as ten unconstrained numbers that always yield a physical body.

A body is physically possible if and only if its pseudo-inertia

    P = [[tr(J)/2 1 - J, h], [h^T, m]]

is positive definite (Wensing, Kim, Slotine 2018). Rucker and Wensing, Smooth parameterization of
rigid-body inertia, 2022, write it as `P = U U^T` with U upper triangular and the
logarithms of its diagonal as unknowns. Here U is taken relative to a nominal body,

    P(theta) = L E(theta) E(theta)^T L^T,    L L^T = P(0),    E(0) = 1,

so that theta = 0 is the nominal body, and to second order

    2 (theta_1^2 + ... + theta_4^2) + theta_5^2 + ... + theta_10^2

is the entropic distance tr(P P0^-1) - log det(P P0^-1) - 4 from it, whatever the frame and the
units (Lee, Wensing, Park, Geometric robot dynamic identification, 2020).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ModelError
from robodyn_ros.model.inertia import pseudo_inertia

SIZE = 10
# m: least half-width of a body; URDFs have point masses, at infinite entropic distance from others
MIN_HALF_WIDTH = 3e-3
_ROWS, _COLUMNS = np.triu_indices(4, 1)
# weights of theta in the entropic distance
WEIGHTS = np.sqrt(np.array([2.0] * 4 + [1.0] * 6))


def to_matrix(phi: NDArray) -> NDArray:
    """Return the pseudo-inertia of (m, hx, hy, hz, Jxx, Jyy, Jzz, Jxy, Jxz, Jyz); (4, 4)."""
    m, h, (xx, yy, zz, xy, xz, yz) = phi[0], phi[1:4], phi[4:]
    return pseudo_inertia(m, h, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def from_matrix(P: NDArray) -> NDArray:
    """Return the parameters of pseudo-inertias, (..., 4, 4); (..., 10)."""
    xx, yy, zz = P[..., 0, 0], P[..., 1, 1], P[..., 2, 2]
    return np.stack([P[..., 3, 3], P[..., 0, 3], P[..., 1, 3], P[..., 2, 3], yy + zz, xx + zz,
                     xx + yy, -P[..., 0, 1], -P[..., 0, 2], -P[..., 1, 2]], axis=-1)


class LogCholesky:
    """
    Bodies parameterised relative to a nominal one.

    Parameters
    ----------
    nominal : (10,) array
        Nominal parameters. Mass at a point, on a line or in a plane is spread by `MIN_HALF_WIDTH`.
    name : str
        Name for messages.

    Raises
    ------
    ModelError
        The nominal body has no mass.

    """

    def __init__(self, nominal: NDArray, name: str):
        mass = nominal[0]
        if not mass > 0.0:
            raise ModelError(f'link {name!r} has mass {mass:g} kg: give it one in the URDF, as a '
                             'guess to start from', link=name, mass=float(mass))
        P = to_matrix(np.asarray(nominal, dtype=float))
        com = P[:3, 3] / mass
        spread, axes = np.linalg.eigh(P[:3, :3] / mass - np.outer(com, com))
        sides = np.sqrt(np.maximum(spread, MIN_HALF_WIDTH ** 2))
        # P = L L^T from centre c and principal half-widths: accurate also for a thin body
        self._L = np.zeros((4, 4))
        self._L[:3, :3], self._L[:3, 3], self._L[3, 3] = axes * sides, com, 1.0
        self._L *= np.sqrt(mass)

    def parameters(self, theta: NDArray) -> NDArray:
        """Return the inertial parameters at theta, (10,)."""
        U = self._L @ _factor(theta)
        return from_matrix(U @ U.T)

    def derivative(self, theta: NDArray) -> NDArray:
        """Return the derivative of `parameters`, (10, 10): row of parameter, column of theta."""
        E = _factor(theta)
        dE = np.zeros((SIZE, 4, 4))
        for k in range(4):
            dE[k, k, k] = E[k, k]
        dE[range(4, SIZE), _ROWS, _COLUMNS] = 1.0
        half = self._L @ dE @ (self._L @ E).T
        return from_matrix(half + half.swapaxes(1, 2)).T


def _factor(theta: NDArray) -> NDArray:
    E = np.diag(np.exp(theta[:4]))
    E[_ROWS, _COLUMNS] = theta[4:]
    return E
