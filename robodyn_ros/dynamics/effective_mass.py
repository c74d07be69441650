"""
Effective mass at a link.

Source: Khatib, Inertial properties in robotic manipulation: an object-level framework, 1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.singular import raise_if_singular
from robodyn_ros.exceptions import ArgumentError, shown

ROWS = {'linear': (0, 1, 2), 'angular': (3, 4, 5), 'all': (0, 1, 2, 3, 4, 5)}


class EffectiveMass(NamedTuple):
    """
    Effective mass matrix of a link, and its ellipsoid.

    Attributes
    ----------
    matrix : (k, k) or (N, k, k) array
        Lambda = (J M^-1 J^T)^-1; its pseudo-inverse where the joints cannot move the link in
        every direction, zero in those directions.
    masses : (k,) or (N, k) array
        Principal masses, smallest first; infinite where the joints cannot move the link.
    axes : (k, k) or (N, k, k) array
        Columns are the principal directions, in the order of the masses.

    """

    matrix: NDArray
    masses: NDArray
    axes: NDArray


def effective_mass(M: NDArray, J: NDArray, immovable: float,
                   joint_names: Sequence[str]) -> EffectiveMass:
    """
    Return the effective mass of a mass matrix and a Jacobian (or batches of them).

    Directions with more than `immovable` times the smallest mass count as immovable. Raises
    `ArgumentError` if M is singular or not finite.
    """
    if not np.isfinite(M).all():
        raise ArgumentError('there is no effective mass: q is not finite')
    raise_if_singular(M, joint_names)
    # with M = L L^T and X = L^-1 J^T, J M^-1 J^T = X^T X: the singular values of X have twice
    # as many correct digits as the eigenvalues of the product
    X = np.linalg.solve(np.linalg.cholesky(M), np.swapaxes(J, -1, -2))
    axes, values, _ = np.linalg.svd(np.swapaxes(X, -1, -2))
    mobility = np.zeros(axes.shape[:-1])
    mobility[..., :values.shape[-1]] = values ** 2
    movable = mobility * immovable > mobility[..., :1]
    masses = np.full(mobility.shape, np.inf)
    np.divide(1.0, mobility, out=masses, where=movable)
    finite = np.where(movable, masses, 0.0)
    matrix = np.einsum('...ik,...k,...jk->...ij', axes, finite, axes)
    return EffectiveMass(matrix, masses, axes)


def row_numbers(rows: str | Sequence[int]) -> list[int]:
    """
    Return the row numbers of a Jacobian for a name or numbers.

    Raises
    ------
    ArgumentError
        Neither one of the names nor different numbers from 0 to 5.

    """
    if isinstance(rows, str) and rows in ROWS:
        return list(ROWS[rows])
    try:
        given = [] if isinstance(rows, str) else list(rows)
        numbers = [int(row) for row in given]
    except (OverflowError, TypeError, ValueError):
        given = numbers = []
    if not numbers or numbers != given or len(set(numbers)) != len(numbers) or not (
            set(numbers) <= set(ROWS['all'])):
        raise ArgumentError(f'rows {shown(rows)} must be one of {", ".join(ROWS)}, or different '
                            'numbers from 0 (linear x) to 5 (angular z)', rows=rows)
    return numbers
