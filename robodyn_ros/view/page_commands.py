"""Commands of a client of the page, for the node that executes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class CallService(NamedTuple):
    """Call a service of the controller, such as hold."""

    service: str


class Pause(NamedTuple):
    """Pause the simulator, or continue."""

    on: bool


class Step(NamedTuple):
    """Call ~/step of the simulator."""


class Reset(NamedTuple):
    """Reset the simulated arm to its initial state."""


class Move(NamedTuple):
    """Move joints to checked positions, from rest to rest, with a duration in s."""

    joints: tuple[str, ...]
    positions: tuple[float, ...]
    duration: float


class Follow(NamedTuple):
    """Follow a trajectory from now on: (n,) times in s, and (n, nv) arrays of points."""

    joints: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray
    accelerations: np.ndarray


class Wrench(NamedTuple):
    """Apply a wrench to a link of the simulated arm, at its origin, in its axes (N, N m)."""

    link: str
    force: np.ndarray
    moment: np.ndarray


class SetPayload(NamedTuple):
    """Attach a mass (kg) to the origin of a link, reported to the controller or not."""

    link: str
    mass: float
    reported: bool


class SubscribeTerms(NamedTuple):
    """Subscribe to the torque terms, or unsubscribe; publishing them takes time."""

    on: bool


PageCommand = (
    CallService | Pause | Step | Reset | Move | Follow | Wrench | SetPayload | SubscribeTerms)
