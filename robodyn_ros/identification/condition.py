"""Condition number of linear equations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PIECE = 64  # rows


def condition_number(columns: NDArray) -> float:
    """
    Return the condition number of a matrix whose columns are scaled to length 1.

    Computed from the eigenvalues of the Gram matrix; accurate up to about 1e7.
    """
    size = np.linalg.norm(columns, axis=0)
    if not columns.shape[1]:
        return 1.0
    if (size == 0.0).any():
        return float('inf')
    scaled = columns / size
    # in pieces too small for BLAS to use threads, which are slow on a busy processor
    products = sum(part.T @ part for part in np.split(scaled, range(_PIECE, len(scaled), _PIECE)))
    values = np.linalg.eigvalsh(products)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else float('inf')
