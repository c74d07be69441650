"""What a law of one's own is, and what it gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.trajectory import Reference


class LawState:
    """
    What a law knows of the arm; one object and its arrays are used again in every cycle.

    Attributes
    ----------
    q, qd : (nv,)
        Measured, in model order, read-only; continuous joints unwrapped as in the reference.
    external : (nv,)
        What known external wrenches leave to the joints, -J^T w; read-only.
    time : float
        Seconds, of a clock that never goes back.
    dt : float
        Seconds since the cycle before.

    """

    __slots__ = ('dt', 'external', 'q', 'qd', 'time')

    def __init__(self, q: np.ndarray, qd: np.ndarray, external: np.ndarray):
        self.q, self.qd, self.external = q, qd, external
        self.time = self.dt = 0.0


class OwnLaw(Protocol):
    """
    A law of one's own: any class with these methods; `start` may be left out.

    Parameters
    ----------
    dynamics : Dynamics
        The arm, with the payload and the gravity of the moment.

    """

    def __init__(self, dynamics: Dynamics):
        ...

    def start(self, state: LawState, reference: Reference) -> None:
        """Take over the arm; what was remembered of an earlier time is to be forgotten."""

    def terms(self, state: LawState, reference: Reference) -> Mapping[str, Any]:
        """
        Return the torque in N m or N, term by term, (nv,) each; the sum is sent.

        Names of terms: inertia, coriolis, gravity, friction, payload, feedback, integral,
        null_space, external, effort. Feedback, integral and null_space are reduced where motors
        have not enough torque, the others are not.

        Parameters
        ----------
        state : LawState
            The arm.
        reference : Reference
            Where the joints should be: q, qd, qdd, and effort to add; read-only.

        """
