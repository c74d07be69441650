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
# brakes, code of the fault of the controller
MARKS = 4
_STATES = ('position', 'velocity', 'acceleration', 'applied', 'gap', 'gap_rate')
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
    faulted : (T,) array of bool
        Whether the controller had a fault.
    q, qd, applied : (T, nv) array
        True state at the end of the step, and the torques of the motors.
    rotor : (T, nv) array
        Velocities of the motors.

    """

    torque: NDArray
    sent: NDArray
    time: NDArray
    braked: NDArray
    faulted: NDArray
    q: NDArray
    qd: NDArray
    applied: NDArray
    rotor: NDArray

    @property
    def fastest(self) -> NDArray:
        """Return the velocities of the joints, or of their motors where these are faster."""
        return np.where(np.abs(self.rotor) > np.abs(self.qd), self.rotor, self.qd)


def size(nv: int) -> int:
    """Return the number of values that are recorded in each step."""
    return (1 + len(_STATES)) * nv + MARKS


def by_name(records: NDArray, nv: int) -> Record:
    """Return records, (T, r), by name."""
    torque, marks = records[:, :nv], records[:, nv:nv + MARKS]
    q, qd, _, applied, _, gap_rate = np.split(records[:, nv + MARKS:], len(_STATES), axis=1)
    return Record(torque, marks[:, 0] > 0.0, marks[:, 1], marks[:, 2] > 0.0, marks[:, 3] > 0.0,
                  q, qd, applied, qd + gap_rate)


def velocities(records: NDArray, nv: int) -> NDArray:
    """Return the true velocities of joints and motors in records, (..., r); (2, ..., nv)."""
    states = records[..., nv + MARKS:].reshape(*records.shape[:-1], len(_STATES), nv)
    qd = states[..., _STATES.index('velocity'), :]
    return np.array([qd, qd + states[..., _STATES.index('gap_rate'), :]])


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
