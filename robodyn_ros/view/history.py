"""Time series of limited length."""

from __future__ import annotations

from collections import deque

import numpy as np


class History:
    """
    Rows of numbers with their times, up to an age.

    Parameters
    ----------
    columns : int
        Number of columns.
    length : float
        Largest age in s.

    """

    def __init__(self, columns: int, length: float):
        self._columns, self._length = columns, length
        self._rows: deque[tuple[float, np.ndarray]] = deque()

    def add(self, time: float, row: np.ndarray) -> None:
        """Add a row, (columns,)."""
        self._rows.append((time, np.array(row, dtype=float)))
        while self._rows[0][0] < time - self._length:
            self._rows.popleft()

    def clear(self) -> None:
        """Delete all rows."""
        self._rows.clear()

    def table(self) -> np.ndarray:
        """Return times relative to the last, and rows; (1 + columns, n), n at least 1."""
        if not self._rows:
            return np.concatenate([[[0.0]], np.full((self._columns, 1), np.nan)])
        times = np.array([time for time, _ in self._rows])
        return np.vstack([times - times[-1], np.array([row for _, row in self._rows]).T])
