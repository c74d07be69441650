"""
Which inertial parameters of a robot its joint forces depend on.

Source: Gautier, Numerical calculation of the base inertial parameters of robots, 1991.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class BaseParameters(NamedTuple):
    """
    A smallest set of parameters that gives the same joint forces.

    `Y phi = Y[:, columns] @ (projection @ phi)`: each base parameter is one parameter of phi plus
    multiples of those that cannot be told apart from it.

    Attributes
    ----------
    columns : (n,) array of int
        The parameters, by index in phi, that base parameters are named after; their columns of
        the regressor are independent. Bodies near the base come first.
    projection : (n, 10 nb) array
        Base parameters from phi.

    """

    columns: NDArray
    projection: NDArray


def base_parameters(regressors: NDArray, tolerance: float) -> BaseParameters:
    """
    Return the base parameters of a robot from its regressor in many states, stacked.

    A column that is nearer than `tolerance` times its size to the span of those before it
    depends on them.
    """
    size = np.linalg.norm(regressors, axis=0)
    felt = np.flatnonzero(size > tolerance * size.max(initial=0.0))
    scaled = regressors[:, felt] / size[felt]
    # R_kk is the distance of column k from the span of the columns before it
    independent = np.abs(np.diag(np.linalg.qr(scaled, mode='r'))) > tolerance
    ordered = np.hstack([scaled[:, independent], scaled[:, ~independent]])
    R, n = np.linalg.qr(ordered, mode='r'), np.count_nonzero(independent)
    columns, dependent = felt[independent], felt[~independent]
    shares = np.linalg.solve(R[:n, :n], R[:n, n:]) * size[dependent] / size[columns, None]
    shares[np.abs(shares) < tolerance * np.abs(shares).max(initial=0.0)] = 0.0
    projection = np.zeros((n, regressors.shape[1]))
    projection[np.arange(n), columns] = 1.0
    projection[:, dependent] = shares
    return BaseParameters(columns, projection)
