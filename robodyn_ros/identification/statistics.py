"""Figures of linear equations and of their errors: condition number, correlation."""

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


def correlated_samples(errors: NDArray, segment: NDArray) -> float:
    """
    Return the number of successive errors per independent error; 1 or more.

    1 + 2 sum of the autocorrelation up to where it first vanishes (Sokal, Monte Carlo methods in
    statistical mechanics, 1997).

    Parameters
    ----------
    errors : (n,) array
        Errors, equally spaced in time within a segment.
    segment : (n,) array of int
        Number of the segment of each.

    """
    variance, total = np.mean(errors ** 2) if len(errors) else 0.0, 1.0
    if variance == 0.0:
        return total
    for lag in range(1, len(errors) // 5):
        same = segment[lag:] == segment[:-lag]
        correlation = np.mean((errors[lag:] * errors[:-lag])[same]) / variance if same.any() else 0
        if not correlation > 0.0:
            break
        total += 2.0 * correlation
    return total
