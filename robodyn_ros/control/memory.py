"""What a law carries from one cycle to the next: integrals, stiffness on its way, a payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from robodyn_ros.control.adaptive.adaptation import Adaptation
from robodyn_ros.control.integral import Integral
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.terms import Term
from robodyn_ros.trajectory import Reference

_NO_EVIDENCE = [Term.LIMIT, Term.EXTERNAL, Term.EFFORT]


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
    healthy : bool
        Whether no fault is latched, such as a collision.

    """

    dt: float
    q: np.ndarray
    qd: np.ndarray
    reference: Reference
    following: bool
    undisturbed: bool
    healthy: bool


class Memory:
    """
    Lets what the laws remember go on, cycle by cycle.

    Parameters
    ----------
    law : ControlLaw
        Whose terms tell what was answered.
    response : callable
        M^-1, see `compile_response`.
    adaptation : Adaptation
        What is learned about a payload.

    Raises
    ------
    ModelError
        The law learns a payload, and has no link to put it on.

    """

    def __init__(self, law: ControlLaw, response: Callable, adaptation: Adaptation):
        self._law, self._response = law, response
        self.adaptation = adaptation
        if law.law.adapts:
            adaptation.require()
        self.integral = Integral(law.gains.kp.size)

    def reset(self) -> None:
        """Forget what belongs to the past of an arm that was not under control."""
        self.integral.reset()
        for stiffness in (self._law.stiffness, self._law.task_stiffness):
            stiffness.jump()
            stiffness.refill()

    def advance(self, past: Past) -> None:
        """Go on by a cycle."""
        error = past.reference.q - past.q
        self._integrate(past, error)
        self._soften_or_stiffen(past, error)
        self._learn(past)
        self._law.schedule.advance(past.dt, past.q)

    def _integrate(self, past: Past, error: np.ndarray) -> None:
        law, gains = self._law, self._law.gains
        if not past.following or not law.law.integrates:
            self.integral.reset()
        elif past.undisturbed and gains.ki.any():
            cut = self._response(past.q, gains.armature, law.terms[Term.LIMIT])
            self.integral.advance(past.dt, error, cut, gains)

    def _soften_or_stiffen(self, past: Past, error: np.ndarray) -> None:
        law, stiffness, task = self._law, self._law.stiffness, self._law.task
        if not past.following or not law.law.springs:
            stiffness.jump()
        elif past.undisturbed:
            damping = self._spring_and_damper(past) - stiffness.value * error
            stiffness.advance(past.dt, error, float((past.reference.qd - past.qd) @ damping))
        if not past.following or not law.law.cartesian:
            law.task_stiffness.jump()
        elif past.undisturbed:
            law.task_stiffness.advance(past.dt, task.pose_error, task.dissipated)

    def _spring_and_damper(self, past: Past) -> np.ndarray:
        """Return K e + D e' of the joint impedance that answered, (nv,)."""
        law, gains = self._law, self._law.gains
        feedback = law.terms[Term.FEEDBACK]
        if not law.law.shapes:
            return feedback
        # such a law commands M / m times that
        return gains.apparent_inertia * self._response(past.q, gains.armature, feedback)

    def _learn(self, past: Past) -> None:
        law, adaptation = self._law, self.adaptation
        adaptation.learning = (
            past.following and law.law.adapts and past.undisturbed and past.healthy
            # what was cut, or is put down to something else, is no evidence of a payload
            and not law.terms[_NO_EVIDENCE].any()
            # the error has to be that of the whole weight
            and bool((law.gains.gravity_scale == 1.0).all()))
        if adaptation.learning:
            adaptation.advance(past.dt, past.q, past.qd, past.reference, law.gains)
