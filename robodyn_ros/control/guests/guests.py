"""
Laws from outside: when one of them gets the arm, and what takes it away again.

A guest gets an arm that the built-in law has in hand: no fault, no ramp of an activation under
way. Whatever is wrong with it, the built-in law brings the arm to rest from the motion in which
it is found. A guest that was dismissed comes back when its mode is chosen again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robodyn_ros.control.guests.linear_feedback import LinearFeedback
from robodyn_ros.control.guests.own_law import OwnLawRunner, TERMS
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.motion import Motion
from robodyn_ros.control.settings import Mode
from robodyn_ros.control.terms import compose, Term
from robodyn_ros.control.transition import Transition
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError, StateError

OWN, LINEAR = 'own_law', Mode.LINEAR_FEEDBACK.value
GUESTS = (OWN, LINEAR)


class Guests:
    """
    Asks the guest that has the arm.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    law : ControlLaw
        The built-in laws; terms are left where theirs are.
    motion : Motion
        What is asked of the joints.
    transition : Transition
        Begun whenever the arm changes hands.
    fail : callable
        Latches a fault.
    own : OwnLawRunner, optional
        The law of the user.

    Attributes
    ----------
    linear : LinearFeedback
        Of the mode linear_feedback.
    chosen : str
        The guest that is to have the arm, '' for none.
    at_work : str
        The guest that answered last, '' if it was the built-in law.

    """

    def __init__(self, dynamics: Dynamics, law: ControlLaw, motion: Motion,
                 transition: Transition, fail: Callable[[str], None],
                 own: OwnLawRunner | None = None):
        self._law, self._motion, self._transition = law, motion, transition
        self._fail, self._own = fail, own
        self._compose = _compile_composition(dynamics)
        self.linear = LinearFeedback(dynamics)
        self.chosen = self.at_work = self._reason = ''

    def check(self, mode: str) -> None:
        """Raise `ParameterError` for the mode of a guest that is not there."""
        if mode == OWN and self._own is None:
            raise ParameterError('mode own_law needs the parameter own_law: module:Class, or the '
                                 'name of a registered law, see docs/own_law.md',
                                 parameter='own_law')

    def choose(self, mode: str) -> None:
        """Let a guest have the arm as soon as it is ready; any other mode is none of a guest."""
        self.chosen, self._reason = mode if mode in GUESTS else '', ''

    def dismiss(self, reason: str) -> None:
        """Take the arm away from a guest, until one is chosen again."""
        if self.chosen:
            self.chosen = ''
            if self.at_work:
                self._reason = reason

    def leave(self) -> None:
        """Take note that the arm does without guests for now: it floats, or is silent."""
        self.at_work = self._reason = ''

    def keep_off(self, reason: str) -> None:
        """Take the arm away from a guest that does not follow references."""
        if self.chosen == LINEAR:
            self.dismiss(reason)

    def check_expected(self) -> None:
        """Raise `StateError` if linear feedback is not to have the arm."""
        if self.chosen != LINEAR:
            raise StateError('linear feedback is not to have the arm: set the parameter mode to '
                             'linear_feedback, again if it was taken away meanwhile')

    def check_free(self) -> None:
        """Raise `StateError` if no motion may begin."""
        if self.chosen == LINEAR:
            raise StateError('the mode is linear_feedback: torques come from ~/linear_feedback; '
                             'choose another mode, such as computed_torque, to follow '
                             'trajectories')

    def answer(self, now: float, dt: float, state, ready: bool) -> np.ndarray | None:
        """
        Return the terms of the guest that has the arm; None leaves it to the built-in law.

        Parameters
        ----------
        now, dt : float
            Time, and seconds since the cycle before.
        state : tuple of (nv,)
            Position, velocity, and torque of known external wrenches.
        ready : bool
            Whether the built-in law has the arm in hand.

        """
        guest = self._turn(now, ready)
        if guest == OWN and (problem := self._ask_own(now, dt, state)):
            self._fail(problem)
            guest = ''
        if guest != self.at_work:
            self._hand_over(guest, state)
        if not guest:
            return None
        rows = self._own.rows if guest == OWN else self._linear_rows(state)
        return self._compose(*rows, self._law.effort_limit, out=self._law.terms)

    def _turn(self, now: float, ready: bool) -> str:
        """Return whose turn it is; linear feedback takes over an arm at rest only."""
        if not ready:
            return ''
        if self.chosen == LINEAR and not (self.linear.fresh(now) and self._motion.mode in (
                Mode.HOLD, Mode.LINEAR_FEEDBACK)):
            return ''
        return self.chosen

    def _ask_own(self, now: float, dt: float, state) -> str:
        """Let the law of the user answer; return why it did not."""
        question = (now, dt, state, self._motion.reference)
        begins = self.at_work != OWN
        return (begins and self._own.start(*question)) or self._own.answer(*question)

    def _linear_rows(self, state) -> np.ndarray:
        q, qd, _ = state
        self._motion.anchor(q, qd)
        self.linear.answer(q, qd)
        return self.linear.rows

    def _hand_over(self, guest: str, state) -> None:
        """Let the arm change hands; what was led, or misled, comes to rest from where it is."""
        before, self.at_work = self.at_work, guest
        self._transition.begin()
        if guest == LINEAR:
            self._motion.let_go(Mode.LINEAR_FEEDBACK, '')
        elif before == LINEAR or self._reason:
            silent = self.linear.silence if self.chosen == LINEAR else ''
            self._motion.anchor(*state[:2])
            self._motion.stop(self._reason or silent, aborted=bool(silent) and not self._reason)
        self._reason = ''


def _compile_composition(dynamics: Dynamics) -> Callable:
    """Return what makes all rows of those that a guest has, and keeps feedback within limits."""
    def composition(tree, _runtime, *arrays):
        *rows, limit = arrays
        return compose(tree.nv, dict(zip(Term, rows)), limit)

    sizes = dict.fromkeys((*TERMS, 'limit'), dynamics.nv)
    kernel = dynamics.kernel(composition, sizes, (len(Term), dynamics.nv), 'composition')
    return kernel.builtin('composition', compose.__doc__)
