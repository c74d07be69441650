"""The last seconds of numbers that change."""

from __future__ import annotations

from collections import deque

import numpy as np


class History:
    """
    Rows of numbers with their times, up to an age.

    Parameters
    ----------
    columns : int
    length : float
        Seconds that are kept.

    """

    def __init__(self, columns: int, length: float):
        self._columns, self._length = columns, length
        self._rows: deque[tuple[float, np.ndarray]] = deque()

    def add(self, time: float, row: np.ndarray) -> None:
        """Take a row, (columns,)."""
        self._rows.append((time, np.array(row, dtype=float)))
        while self._rows[0][0] < time - self._length:
            self._rows.popleft()

    def clear(self) -> None:
        """Forget all."""
        self._rows.clear()

    def table(self) -> np.ndarray:
        """Return times up to the last, as 0, and rows; (1 + columns, n), n at least 1."""
        if not self._rows:
            return np.concatenate([[[0.0]], np.full((self._columns, 1), np.nan)])
        times = np.array([time for time, _ in self._rows])
        return np.vstack([times - times[-1], np.array([row for _, row in self._rows]).T])
