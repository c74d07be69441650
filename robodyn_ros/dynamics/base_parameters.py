"""
Base inertial parameters: the combinations that determine the joint forces.

Source: Gautier, Numerical calculation of the base inertial parameters of robots, 1991.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class BaseParameters(NamedTuple):
    """
    A minimal set of parameters that determines the joint forces.

    `Y phi = Y[:, columns] @ (projection @ phi)`: each base parameter is one parameter of phi plus
    multiples of parameters that are indistinguishable from it.

    Attributes
    ----------
    columns : (n,) array of int
        Indices in phi of the parameters after which base parameters are named; their columns of
        the regressor are independent. Bodies near the base come first.
    projection : (n, 10 nb) array
        Matrix that maps phi to the base parameters.

    """

    columns: NDArray
    projection: NDArray


def base_parameters(regressors: NDArray, tolerance: float) -> BaseParameters:
    """
    Return the base parameters of a robot from its regressor in many states, stacked.

    A column is dependent if its distance from the span of the columns before it is less than
    `tolerance` times its norm.
    """
    size = np.linalg.norm(regressors, axis=0)
    relevant = np.flatnonzero(size > tolerance * size.max(initial=0.0))
    scaled = regressors[:, relevant] / size[relevant]
    # R_kk is the distance of column k from the span of the columns before it
    independent = np.abs(np.diag(np.linalg.qr(scaled, mode='r'))) > tolerance
    ordered = np.hstack([scaled[:, independent], scaled[:, ~independent]])
    R: np.ndarray = np.asarray(np.linalg.qr(ordered, mode='r'))
    n = int(np.count_nonzero(independent))
    columns, dependent = relevant[independent], relevant[~independent]
    shares = np.linalg.solve(R[:n, :n], R[:n, n:]) * size[dependent] / size[columns, None]
    shares[np.abs(shares) < tolerance * np.abs(shares).max(initial=0.0)] = 0.0
    projection = np.zeros((n, regressors.shape[1]))
    projection[np.arange(n), columns] = 1.0
    projection[:, dependent] = shares
    return BaseParameters(columns, projection)
