"""Correlation of successive errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
