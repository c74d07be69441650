"""State of an arm and its controller at a moment."""

from __future__ import annotations

from dataclasses import dataclass, field

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
