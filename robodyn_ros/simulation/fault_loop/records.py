"""Records of the runs of a `FaultLoop`, and their places in the tables of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodyn_ros.dynamics.jit.trace import floor
from robodyn_ros.simulation.step import State

CHUNK = 50  # steps between two changes of the programs
# rows of a record before those of `State`: torque sent, then flag that it was, time, flag of the
# brakes
MARKS = 3
_STATES = ('position', 'velocity', 'acceleration', 'applied')
assert State._fields[:len(_STATES)] == _STATES  # they are recorded


class Record(NamedTuple):
    """
    Record of one run, one row per step.

    Attributes
    ----------
    torque : (T, nv) array
        Torque of the controller.
    sent : (T,) array of bool
        Whether it was sent in this step.
    time : (T,) array
        Time at which it was sent, s.
    braked : (T,) array of bool
        Whether the brakes held the arm during the step.
    q, qd, applied : (T, nv) array
        True state at the end of the step, and the torques of the motors.

    """

    torque: NDArray
    sent: NDArray
    time: NDArray
    braked: NDArray
    q: NDArray
    qd: NDArray
    applied: NDArray


def size(nv: int) -> int:
    """Return the number of values that are recorded in each step."""
    return (1 + len(_STATES)) * nv + MARKS


def by_name(records: NDArray, nv: int) -> Record:
    """Return records, (T, r), by name."""
    torque, marks, q, qd, _, applied = np.split(
        records, nv * np.array([1, 1, 2, 3, 4]) + MARKS * np.array([0, 1, 1, 1, 1]), axis=1)
    return Record(torque, marks[:, 0] > 0.0, marks[:, 1], marks[:, 2] > 0.0, q, qd, applied)


def velocities(records: NDArray, nv: int) -> NDArray:
    """Return the true velocities in records, (..., r)."""
    return records[..., 2 * nv + MARKS:3 * nv + MARKS]


def row_of(step, run, capacity: int):
    """Return the row of a step of a run in the table of all runs; records begin with step 1."""
    step = step - 1.0
    chunk = floor(step * (1.0 / CHUNK) + 0.5 / CHUNK)
    return (chunk * capacity + run) * CHUNK + (step - chunk * CHUNK)


def state_columns(nv: int) -> range:
    """Return the columns of position, velocity, acceleration and torque of the motors."""
    return range(nv + MARKS, size(nv))


class OneRun:
    """Records of one run as the table of all runs."""

    def __init__(self, records: Sequence, capacity: int):
        self._records, self._capacity = records, capacity

    def __len__(self) -> int:
        return len(self._records) * self._capacity

    def __getitem__(self, row: int) -> list:
        chunk = row // (self._capacity * CHUNK)
        return list(self._records[min(chunk * CHUNK + row % CHUNK, len(self._records) - 1)])
