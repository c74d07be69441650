"""Comparison of arrays by the size of the whole result, the right measure for round-off."""

import numpy as np


def deviation(actual, expected, scale=0.0):
    """Return the largest difference over the largest entry of `expected`, or over `scale`."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f'shape {actual.shape}, expected {expected.shape}'
    assert np.all(np.isfinite(actual)), f'not finite: {actual}'
    size = max(np.max(np.abs(expected), initial=0.0), scale)
    gap = np.max(np.abs(actual - expected), initial=0.0)
    return gap / size if size > 0 else gap


def assert_close(actual, expected, relative, scale=0.0, what='result'):
    """Fail when `deviation` exceeds `relative`, naming what was compared."""
    gap = deviation(actual, expected, scale)
    assert gap <= relative, (
        f'{what} deviates by {gap:.3g} of its size, allowed {relative:.3g}\n'
        f'actual:\n{actual}\nexpected:\n{expected}')
