"""What a page shows, the state of an arm and its controller, and what a client of it requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

NO_CONTROLLER = 'no controller'  # as a mode


@dataclass(frozen=True, eq=False)
class Push:
    """
    A wrench on a link of the simulated arm.

    Attributes
    ----------
    link : str
    force, moment : (3,) array
        Force and moment at the origin of the link, in its axes; N and N m.

    """

    link: str
    force: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True, eq=False)
class Snapshot:
    """
    State of an arm and its controller, in model order.

    Attributes
    ----------
    time : float
        Time of a steady clock, s.
    age : float
        Time since the last joint states arrived, s; infinite before the first.
    q, qd : (nv,) array
        Measured positions and velocities.
    reference : (nv,) array or None
        Reference of the controller; None if none is published.
    error : (nv,) array
        Reference minus q at the same time; NaN without a reference.
    torque : (nv,) array
        Torque of the controller; without one, the effort that the arm reports.
    terms : dict of str to (nv,) array
        Received torque terms.
    controlled : tuple of str
        Joints of the controller.
    mode, fault : str
        Mode and fault of the controller.
    notes : dict of str to str
        Other diagnostics of controller and simulator.
    aborted : bool
        Whether the last motion ended before its goal.
    simulated : bool
        Whether the arm is a simulated one, which accepts external forces.
    paused : bool
        Whether the simulation is paused.
    pushes : tuple of Push
        External forces on the simulated arm.

    """

    time: float
    age: float
    q: np.ndarray
    qd: np.ndarray
    reference: np.ndarray | None
    error: np.ndarray
    torque: np.ndarray
    terms: dict[str, np.ndarray] = field(default_factory=dict)
    controlled: tuple[str, ...] = ()
    mode: str = NO_CONTROLLER
    fault: str = ''
    notes: dict[str, str] = field(default_factory=dict)
    aborted: bool = False
    simulated: bool = False
    paused: bool = False
    pushes: tuple[Push, ...] = ()


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
