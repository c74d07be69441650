"""What a person at the page wants; who speaks to the nodes carries it out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Ask(NamedTuple):
    """Call a service of the controller: hold, float, stop or reset_fault."""

    service: str


class Pause(NamedTuple):
    """Let the time of the simulator stand still, or go on."""

    on: bool


class Step(NamedTuple):
    """Let the simulator make the steps of one call."""


class Reset(NamedTuple):
    """Put the simulated arm back to where it began."""


class Move(NamedTuple):
    """Move joints to positions that have been checked, from rest to rest in some seconds."""

    joints: tuple[str, ...]
    positions: tuple[float, ...]
    duration: float


class Wrench(NamedTuple):
    """Push a link of the simulated arm: at its origin, in its axes (N, N m)."""

    link: str
    force: np.ndarray
    moment: np.ndarray


class Carry(NamedTuple):
    """Give a link a payload (kg) at its origin, and tell the controller of it, or not."""

    link: str
    mass: float
    told: bool


class Explain(NamedTuple):
    """Listen to the terms of the torque, or no longer: they take the controller's time."""

    on: bool


Order = Ask | Pause | Step | Reset | Move | Wrench | Carry | Explain
