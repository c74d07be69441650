"""Detection of singular mass matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError

_SINGULAR = 1e-13  # least eigenvalue of a regular M scaled to unit diagonal: some rounding errors
_INVOLVED = 0.1    # least component of an involved joint, relative to the largest one


def raise_if_singular(M: NDArray, joint_names: Sequence[str]) -> None:
    """
    Raise if a mass matrix, or one of a batch, is finite and singular.

    Parameters
    ----------
    M : (nv, nv) or (N, nv, nv)
        Mass matrices.
    joint_names : sequence of str
        Names of the nv coordinates.

    Raises
    ------
    ArgumentError
        M is singular; the message names the joints that move no mass.

    """
    matrices = M.reshape(-1, *M.shape[-2:])
    matrices = matrices[np.isfinite(matrices).all(axis=(1, 2))]
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    zero: np.ndarray = np.any(diagonal <= 0.0, axis=1)
    # scaled to a unit diagonal, because the units of its elements differ
    scale = 1.0 / np.sqrt(np.where(zero[:, None], 1.0, diagonal))
    values, vectors = np.linalg.eigh(scale[:, :, None] * matrices * scale[:, None, :])
    singular = np.flatnonzero(zero | (values[:, 0] < _SINGULAR))
    if not len(singular):
        return
    row = singular[0]
    part = np.abs(vectors[row, :, 0])
    massless = diagonal[row] <= 0.0 if zero[row] else part > _INVOLVED * part.max()
    names = [f"'{joint_names[j]}'" for j in map(int, np.flatnonzero(massless))]
    who = f'joint {names[0]} moves' if len(names) == 1 else (
        f'joints {", ".join(names)} ' + ('move' if zero[row] else 'make a motion that moves'))
    raise ArgumentError(
        f'{who} no mass or inertia in this position, so that the mass matrix is singular and no '
        'acceleration follows from the joint forces; give the links that move an <inertial>, or '
        'make a joint fixed or lock it', joints=names)
