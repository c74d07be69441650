"""Laws of one robot outside of the cycle: the same functions, called with arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np

from robodyn_ros.control.arm.gain_design import make_task_gains
from robodyn_ros.control.compiled import CompiledCycle
from robodyn_ros.control.gains import Gains, TaskGains
from robodyn_ros.control.settings import CartesianSettings, Settings
from robodyn_ros.control.steps import laws
from robodyn_ros.control.terms import SIZE, SUMMANDS, TaskReport, Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import near_matches, ParameterError


class ControlLaw:
    """
    The laws of one robot, with gains.

    Parameters
    ----------
    dynamics : Dynamics
        Gravity and payload are read from it at every call.
    gains : Gains
        Gains; their feedback inertia is not used, which the cycle alone limits by the rate of the
        torques.
    tracking : str
        Tracking law, a key of `laws.table.TRACKING`.
    effort_limit : float or (nv,)
        Limit of the torque with feedback, see `terms.within_limits`; other terms may exceed it.
    task_gains : TaskGains, optional
        Gains of the Cartesian laws.
    link : str
        Link that these control; default the tip.

    Attributes
    ----------
    terms : (12, nv) array
        Terms of the last call, rows as in `Term`.
    task : TaskReport
        Report of a Cartesian law, of the last call.
    task_gains : TaskGains
        Gains of the Cartesian laws.
    link : str
        Link that these control.

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, tracking: str = 'computed_torque',
                 effort_limit=np.inf, task_gains: TaskGains | None = None, link: str = ''):
        if tracking not in laws.ROWS:
            raise ParameterError(f'no tracking law is called {tracking!r}: '
                                 f'{near_matches(tracking, laws.NAMES)}', value=tracking)
        self.link = link = link or dynamics.model.tip
        self.task_gains = task_gains or make_task_gains(dynamics, Settings(
            armature=gains.armature, cartesian=CartesianSettings(link=link)))
        gains = replace(gains, feedback_inertia=0.0 * gains.feedback_inertia)
        n = dynamics.nv
        self._rows, self._feedback_scale = np.zeros((len(laws.ARRAYS), n)), np.ones(1)
        numbers = [np.concatenate([np.ravel(getattr(source, each.name)) for each in fields(cls)])
                   for cls, source in ((Gains, gains), (TaskGains, self.task_gains))]
        limit, out = np.full(n, effort_limit, dtype=float), np.zeros(len(SUMMANDS) * n + SIZE)
        self._of_law, self.task = out[:-SIZE].reshape(-1, n), TaskReport(out[-SIZE:])
        self.terms = np.zeros((len(Term), n))
        functions = CompiledCycle(dynamics, link, None, 1.0).laws
        self._float, self._follow = (
            functions[laws.NAMES.index(name)].bound(
                dynamics.runtime, self._rows.ravel(), *numbers, self._feedback_scale, limit,
                out).call
            for name in (laws.NAMES[0], tracking))

    def follow(self, q, qd, reference, feedback_scale: float = 1.0, external=None, integral=None,
               disturbance=None, contact=None) -> np.ndarray:
        """
        Return the terms that follow a reference, (12, nv); overwritten by the next call.

        Parameters
        ----------
        q, qd : (nv,)
            Measured state; continuous joints unwrapped as in the reference.
        reference : Reference
            Reference of the joints.
        feedback_scale : float
            Part of the feedback that is used, in [0, 1].
        external : (nv,), optional
            Joint torques that compensate known external wrenches, -J^T w.
        integral : (nv,), optional
            Integral of the error, an acceleration; for laws with an integral.
        disturbance : (nv,), optional
            Disturbance compensation, for laws with an integral.
        contact : (nv,), optional
            External torque of the momentum observer, for laws with inertia shaping.

        """
        self._feedback_scale[0] = feedback_scale
        self._write(q, qd, reference.q, reference.qd, reference.qdd, reference.effort, external,
                    integral, disturbance, contact)
        return self._run(self._follow)

    def compensate(self, q, qd, effort=None) -> np.ndarray:
        """Return the terms of gravity compensation with damping, plus an effort, (nv,)."""
        self._write(q, qd, None, None, None, effort)
        return self._run(self._float)

    def _run(self, law: Callable[[], None]) -> np.ndarray:
        law()
        self.terms[:Term.TOTAL] = self._of_law
        self._of_law.sum(axis=0, out=self.terms[Term.TOTAL])
        return self.terms

    def _write(self, *rows) -> None:
        for place, row in zip(self._rows, rows):
            place[:] = 0.0 if row is None else row
