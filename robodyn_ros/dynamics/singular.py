"""Mass matrices without an inverse: which joint is to blame, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.exceptions import ArgumentError

_SINGULAR = 1e-13  # least eigenvalue of M with a unit diagonal: some roundings
_INVOLVED = 0.1    # part of the largest element of the eigenvector


def refuse_singular(M: NDArray, joint_names: Sequence[str]) -> None:
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
        Naming the joints that move without moving any mass.

    """
    matrices = M.reshape(-1, *M.shape[-2:])
    matrices = matrices[np.isfinite(matrices).all(axis=(1, 2))]
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    still = (diagonal <= 0.0).any(axis=1)
    # with a diagonal of 1, because there is kg beside kg m^2
    scale = 1.0 / np.sqrt(np.where(still[:, None], 1.0, diagonal))
    values, vectors = np.linalg.eigh(scale[:, :, None] * matrices * scale[:, None, :])
    singular = np.flatnonzero(still | (values[:, 0] < _SINGULAR))
    if not len(singular):
        return
    row = singular[0]
    part = np.abs(vectors[row, :, 0])
    idle = diagonal[row] <= 0.0 if still[row] else part > _INVOLVED * part.max()
    names = [f"'{joint_names[j]}'" for j in np.flatnonzero(idle)]
    who = f'joint {names[0]} moves' if len(names) == 1 else (
        f'joints {", ".join(names)} ' + ('move' if still[row] else 'make a motion that moves'))
    raise ArgumentError(
        f'{who} no mass or inertia in this position, so that the mass matrix is singular and no '
        'acceleration follows from the joint forces; give the links that move an <inertial>, or '
        'make a joint fixed or lock it', joints=names)
