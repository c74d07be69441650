"""Interface of an own law in Python, and its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.trajectory import Reference


class LawState:
    """
    State of the arm for an own law; the object and its arrays are reused in every cycle.

    Attributes
    ----------
    q, qd : (nv,)
        Measured state in model order, read-only; continuous joints unwrapped as in the reference.
    external : (nv,)
        Joint torques that compensate known external wrenches, -J^T w; read-only.
    time : float
        Time in s of a monotonic clock.
    dt : float
        Time in s since the last cycle.

    """

    __slots__ = ('dt', 'external', 'q', 'qd', 'time')

    def __init__(self, q: np.ndarray, qd: np.ndarray, external: np.ndarray):
        self.q, self.qd, self.external = q, qd, external
        self.time = self.dt = 0.0


class OwnLaw(Protocol):
    """
    Own law: any class with these methods; `start` is optional.

    Parameters
    ----------
    dynamics : Dynamics
        The arm, with its present payload and gravity.

    """

    def __init__(self, dynamics: Dynamics):
        ...

    def start(self, state: LawState, reference: Reference) -> None:
        """Take over the arm; reset any internal state."""

    def terms(self, state: LawState, reference: Reference) -> Mapping[str, Any]:
        """
        Return the torque in N m or N, term by term, (nv,) each; the sum is sent.

        Names of terms: inertia, coriolis, gravity, friction, payload, feedback, integral,
        null_space, external, effort. Feedback, integral and null_space are reduced where a
        motor would saturate, the others are not.

        Parameters
        ----------
        state : LawState
            State of the arm.
        reference : Reference
            Reference of the joints: q, qd, qdd, and additional effort; read-only.

        """
