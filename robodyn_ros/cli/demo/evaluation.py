"""Figures of recordings: tracking errors, missed states and drift."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robodyn_ros.exceptions import StateError


class Tracking(NamedTuple):
    """
    States and their references of each cycle.

    Attributes
    ----------
    origin : int
        Stamp of the first state, in ns since the epoch.
    time : (N,) array
        Stamps of the states, in s since then.
    q, qd, reference, reference_velocity, torque, error : (N, nv) array
        Error: reference minus position, for continuous joints between -pi and pi.
    states : int
        Number of states in the same time, with and without a reference.

    """

    origin: int
    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    reference: np.ndarray
    reference_velocity: np.ndarray
    torque: np.ndarray
    error: np.ndarray
    states: int

    @property
    def missed(self) -> int:
        """Count of states without a torque."""
        return self.states - len(self.time)

    @property
    def rms(self) -> np.ndarray:
        """RMS error, (nv,)."""
        return np.sqrt(np.mean(self.error ** 2, axis=0))

    @property
    def worst(self) -> np.ndarray:
        """Largest error, (nv,)."""
        return np.abs(self.error).max(axis=0)

    @property
    def peak_torque(self) -> np.ndarray:
        """Largest torque, (nv,)."""
        return np.abs(self.torque).max(axis=0)


def match(states, references, continuous: np.ndarray) -> Tracking:
    """
    Pair states and references of the same stamp.

    Parameters
    ----------
    states, references : JointLog
        Logs of the same interval, columns in model order; references may begin or end later.
    continuous : (nv,) array of bool
        Whether each joint is continuous.

    Raises
    ------
    StateError
        No stamps are equal.

    """
    stamps, ours, theirs = np.intersect1d(states.stamp, references.stamp, return_indices=True)
    if not len(stamps):
        raise StateError(f'{len(states.stamp)} states and {len(references.stamp)} references were '
                         'recorded, but none of the same stamp: did simulator or controller stop?')
    q, reference = states.position[ours], references.position[theirs]
    origin = int(states.stamp[0])
    return Tracking(
        origin=origin, time=1e-9 * (stamps - origin), q=q, qd=states.velocity[ours],
        reference=reference, reference_velocity=references.velocity[theirs],
        torque=references.effort[theirs],
        error=short_way(reference - q, continuous), states=len(states.stamp))


def short_way(difference: np.ndarray, continuous: np.ndarray) -> np.ndarray:
    """Return differences with those of continuous joints between -pi and pi."""
    turns = np.round(difference / (2.0 * np.pi))
    return difference - np.where(continuous, 2.0 * np.pi * turns, 0.0)


def drift(positions: np.ndarray, continuous: np.ndarray) -> np.ndarray:
    """Return the largest distance of each joint from its first position; (nv,)."""
    return np.abs(short_way(positions - positions[0], continuous)).max(axis=0)
