"""What is known of an arm at a moment."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

NOBODY = 'no controller'  # as a mode


@dataclass(frozen=True, eq=False)
class Push:
    """
    A wrench on a link of the simulated arm.

    Attributes
    ----------
    link : str
    force, moment : (3,) array
        At the origin of the link, in its axes; N and N m.

    """

    link: str
    force: np.ndarray
    moment: np.ndarray


@dataclass(frozen=True, eq=False)
class Snapshot:
    """
    What is known of an arm, in model order.

    Attributes
    ----------
    time : float
        Seconds on a steady clock.
    age : float
        Seconds since the last joint states came; infinite before the first.
    q, qd : (nv,) array
        What the arm says.
    reference : (nv,) array or None
        Where the controller wants the joints; None while it says nothing.
    error : (nv,) array
        Reference minus q at the same time; NaN without a reference.
    torque : (nv,) array
        That the controller sends; what the arm reports where there is none.
    terms : dict of str to (nv,) array
        What the torque consists of, as far as it is listened to.
    controlled : tuple of str
        Joints that the controller has.
    mode, fault : str
        Of the controller.
    notes : dict of str to str
        More about controller and simulator.
    simulated : bool
        Whether the arm is a simulated one that can be pushed.
    paused : bool
        Whether its time stands still.
    pushes : tuple of Push
        That act on it now.

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
    mode: str = NOBODY
    fault: str = ''
    notes: dict[str, str] = field(default_factory=dict)
    simulated: bool = False
    paused: bool = False
    pushes: tuple[Push, ...] = ()
