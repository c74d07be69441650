"""What a law carries from one cycle to the next: integrals, and stiffness on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.integral import Integral
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.terms import Term
from robodyn_ros.trajectory import Reference


class Past(NamedTuple):
    """
    A cycle that has just been answered.

    Attributes
    ----------
    dt : float
        Seconds since the cycle before.
    q, qd : (nv,)
        The state.
    reference : Reference
        What was asked of the joints.
    following : bool
        Whether the tracking law answered; otherwise the arm floats.
    undisturbed : bool
        Whether the torque was the law's own: no transition, no activation under way.

    """

    dt: float
    q: np.ndarray
    qd: np.ndarray
    reference: Reference
    following: bool
    undisturbed: bool


class Memory:
    """
    Lets what the laws remember go on, cycle by cycle.

    Parameters
    ----------
    law : ControlLaw
        Whose terms tell what was answered.
    response : callable
        M^-1, see `compile_response`.

    """

    def __init__(self, law: ControlLaw, response: Callable):
        self._law, self._response = law, response
        self.integral = Integral(law.gains.kp.size)

    def reset(self) -> None:
        """Forget what belongs to the past of an arm that was not under control."""
        self.integral.reset()
        self._law.stiffness.jump()
        self._law.stiffness.refill()

    def advance(self, past: Past) -> None:
        """Go on by a cycle."""
        error = past.reference.q - past.q
        self._integrate(past, error)
        self._soften_or_stiffen(past, error)

    def _integrate(self, past: Past, error: np.ndarray) -> None:
        law, gains = self._law, self._law.gains
        if not past.following or not law.law.integrates:
            self.integral.reset()
        elif past.undisturbed and gains.ki.any():
            cut = self._response(past.q, gains.armature, law.terms[Term.LIMIT])
            self.integral.advance(past.dt, error, cut, gains)

    def _soften_or_stiffen(self, past: Past, error: np.ndarray) -> None:
        stiffness = self._law.stiffness
        if not past.following or not self._law.law.springs:
            stiffness.jump()
        elif past.undisturbed:
            damping = self._law.terms[Term.FEEDBACK] - stiffness.value * error
            stiffness.advance(past.dt, error, float((past.reference.qd - past.qd) @ damping))
