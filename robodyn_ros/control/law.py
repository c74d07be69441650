"""
Laws of one robot, compiled: one call returns all terms of the torque.

The laws themselves are in `control.laws`.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from robodyn_ros.control import friction
from robodyn_ros.control.gains import Gains
from robodyn_ros.control.laws.common_terms import floating_terms, tracking_terms
from robodyn_ros.control.laws.table import FLOATING, Law, TRACKING
from robodyn_ros.control.pose.task_gain_design import make_task_gains
from robodyn_ros.control.pose.task_gains import SIZES, TaskGains
from robodyn_ros.control.pose.task_report import SIZE, TaskReport
from robodyn_ros.control.settings import Settings
from robodyn_ros.control.steps.laws import ARRAYS
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.exceptions import ParameterError

_TASK = 'task.'  # prefix of the names of task gains
_OTHER_SIZES = {'authority', *(_TASK + each for each in SIZES)}  # other than one per joint
MODEL_GAINS = (*friction.GAINS, 'armature', 'gravity_scale')


def arguments(law: Law) -> tuple[str, ...]:
    """Return the names of the arrays that a tracking law takes, in order."""
    return (*ARRAYS, *law.gains, *(f'{_TASK}{each}' for each in law.task_gains), *MODEL_GAINS,
            'authority', 'limit')


class ControlLaw:
    """
    The compiled laws of one robot, with their gains.

    Parameters
    ----------
    dynamics : Dynamics
        Gravity and payload are read from it at every call.
    gains : Gains
        Gains; may be replaced between calls. Their feedback inertia is not used.
    tracking : str
        Tracking law, a key of `laws.table.TRACKING`; may be replaced between calls.
    effort_limit : float or (nv,)
        Limit of the torque with feedback, see `saturation`; the other terms may exceed it.
    task_gains : TaskGains, optional
        Gains of the Cartesian laws; may be replaced between calls by others of the same link.

    Attributes
    ----------
    terms : (12, nv) array
        Terms of the last call, rows as in `Term`.
    task : TaskReport
        Report of a Cartesian law.

    """

    def __init__(self, dynamics: Dynamics, gains: Gains, tracking: str = 'computed_torque',
                 effort_limit=np.inf, task_gains: TaskGains | None = None):
        n = dynamics.nv
        self._nv = n
        self._all = np.zeros(len(Term) * n + SIZE)
        self.terms, self.task = self._all[:-SIZE].reshape(-1, n), TaskReport(self._all[-SIZE:])
        self._authority = np.ones(1)
        self._nothing = np.zeros(n)
        self._limit = np.empty(n)
        self.effort_limit = effort_limit
        self.tracking = tracking
        self._task_gains = task_gains or make_task_gains(
            dynamics, Settings(armature=gains.armature))
        self.gains = gains
        # all laws, so that none is compiled during control
        self._follow = {name: self._compile(dynamics, name, law)
                        for name, law in TRACKING.items()}
        self._float = self._compile(dynamics, 'gravity_compensation', None)

    @property
    def gains(self) -> Gains:
        """Gains from the next call on."""
        return self._gains

    @gains.setter
    def gains(self, gains: Gains) -> None:
        if gains.kp.size != self._nv:
            raise ParameterError(f'gains for {gains.kp.size} joints; this robot has {self._nv}')
        self._gains = gains
        # only the cycle limits the feedback inertia by the rate of the torques
        gains = replace(gains, feedback_inertia=np.zeros(self._nv))
        common = gains.arrays(MODEL_GAINS)
        self._of_law = {name: (*gains.arrays(law.gains), *(
            getattr(self._task_gains, each) for each in law.task_gains), *common)
            for name, law in TRACKING.items()}
        self._of_float = (*gains.arrays(FLOATING.gains), *common)

    @property
    def task_gains(self) -> TaskGains:
        """Gains of the Cartesian laws from the next call on."""
        return self._task_gains

    @task_gains.setter
    def task_gains(self, task_gains: TaskGains) -> None:
        if task_gains.link != self._task_gains.link:
            raise ParameterError(
                f'the laws are compiled for the link {self._task_gains.link!r}, not for '
                f'{task_gains.link!r}: make new ones', link=task_gains.link)
        if task_gains.posture_kp.size != self._nv:
            raise ParameterError(f'Cartesian gains for {task_gains.posture_kp.size} joints; this '
                                 f'robot has {self._nv}')
        self._task_gains = task_gains
        self.gains = self._gains

    @property
    def tracking(self) -> str:
        """Tracking law from the next call on."""
        return self._tracking

    @tracking.setter
    def tracking(self, tracking: str) -> None:
        if tracking not in TRACKING:
            raise ParameterError(f'no tracking law is called {tracking!r}; there are '
                                 f'{", ".join(TRACKING)}', value=tracking)
        self._tracking = tracking

    @property
    def effort_limit(self) -> np.ndarray:
        """Limit of feedback from the next call on."""
        return self._limit

    @effort_limit.setter
    def effort_limit(self, limit) -> None:
        self._limit[:] = limit

    def _compile(self, dynamics, name, law):
        names = arguments(law) if law else ('q', 'qd', 'effort', *FLOATING.gains, *MODEL_GAINS)
        frame = dynamics.frame(self._task_gains.link) if law and law.cartesian else None

        def terms(tree, runtime, *arrays):
            inputs = dict(zip(names, arrays))
            x = SimpleNamespace(**inputs, task=SimpleNamespace(
                **{each.removeprefix(_TASK): inputs[each] for each in inputs if _TASK in each}))
            return (tracking_terms(law, tree, runtime, x, frame) if law
                    else floating_terms(tree, runtime, x))

        sizes = dict.fromkeys(names, self._nv)
        sizes.update({each: 1 if each == 'authority' else SIZES[each.removeprefix(_TASK)]
                      for each in names if each in _OTHER_SIZES})
        kernel = dynamics.kernel(terms, sizes, self._out(law).shape, f'law {name}|{frame}')
        return kernel.builtin(name, (law or FLOATING).function.__doc__)

    def _out(self, law: Law | None) -> np.ndarray:
        """Return the output array of a law."""
        return self._all if law and law.cartesian else self.terms

    def follow(self, q, qd, reference, authority: float = 1.0, external=None, integral=None,
               disturbance=None, contact=None) -> np.ndarray:
        """
        Return the terms that follow a reference.

        Parameters
        ----------
        q, qd : (nv,)
            Measured state; continuous joints unwrapped as in the reference.
        reference : Reference
            Reference of the joints.
        authority : float
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
        law, nothing = self._tracking, self._nothing
        self._authority[0] = authority
        inputs = [nothing if array is None else array
                  for array in (external, integral, disturbance, contact)]
        self._follow[law](
            q, qd, reference.q, reference.qd, reference.qdd, reference.effort, *inputs,
            *self._of_law[law], self._authority, self._limit, out=self._out(TRACKING[law]))
        return self.terms

    def compensate(self, q, qd, effort=None) -> np.ndarray:
        """Return the terms of gravity compensation with damping, plus an effort, (nv,)."""
        return self._float(q, qd, self._nothing if effort is None else effort, *self._of_float,
                           out=self.terms)
