"""What the controller makes of the external torque: collisions, disturbances, the wrench."""

from __future__ import annotations

import numpy as np

from robodyn_ros.control.contact.collision import CollisionMonitor
from robodyn_ros.control.contact.feedback import check_shaping, ContactFeedback
from robodyn_ros.control.contact.momentum_observer import MomentumObserver, Row
from robodyn_ros.control.contact.settings import ObserverSettings
from robodyn_ros.control.contact.tip_wrench import compile_tip_wrench
from robodyn_ros.control.external import ExternalWrenches
from robodyn_ros.control.law import ControlLaw
from robodyn_ros.control.settings import CycleSettings
from robodyn_ros.control.terms import Term
from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import Loads


class Observation:
    """
    Watches what acts on one arm besides its motors, gravity and friction.

    Parameters
    ----------
    dynamics : Dynamics
        The arm.
    law : ControlLaw
        Whose gains and terms count.
    loads : Loads
        What the arm carries.
    wrenches : ExternalWrenches
        What is known to push it.
    settings : CycleSettings
        Its `observer`; after its `longest_pause` observation begins anew.
    usable : (nv,)
        Effort that may be used.

    Attributes
    ----------
    torque : (nv,) array
        External torque, N m (N).
    unknown : (nv,) array
        The same without what is known from elsewhere.
    collision : CollisionMonitor
        Whether the unknown part is a collision.

    """

    def __init__(self, dynamics: Dynamics, law: ControlLaw, loads: Loads,
                 wrenches: ExternalWrenches, settings: CycleSettings, usable: np.ndarray):
        self._law, self._loads, self._wrenches = law, loads, wrenches
        self._model = dynamics.model
        self._longest_pause = settings.longest_pause
        self._observer = MomentumObserver(dynamics, [law.terms[term] for term in (
            Term.INERTIA, Term.CORIOLIS, Term.PAYLOAD)])
        rows = self._observer.rows
        self.torque, self.unknown, self._against, self._excess = (
            rows[row] for row in (Row.EXTERNAL, Row.UNKNOWN, Row.AGAINST, Row.EXCESS))
        self.collision = CollisionMonitor(dynamics.model)
        self.link = settings.observer.link or dynamics.model.tip
        self._contact = ContactFeedback(dynamics)
        self._wrench = compile_tip_wrench(dynamics, self.link)
        self._q = np.zeros(dynamics.nv)
        self._motors, self._nothing = np.zeros((2, dynamics.nv))
        self._blending, self._payloads = False, loads.payloads
        check_shaping(law.gains, dynamics.model)
        self.change(settings.observer, usable)

    def change(self, settings: ObserverSettings, usable: np.ndarray) -> None:
        """Use other settings, all but the link; raises as `CollisionMonitor.change`."""
        self.collision.change(settings.collision)
        self._measured = settings.torque_source == 'measured'
        self._reaction = settings.collision.reaction
        self._observer.model_error = settings.collision.model_error
        self._usable = usable
        self._observer.limit[:] = settings.disturbance_limit * usable

    def begin(self) -> None:
        """Forget all that has been."""
        self.collision.reset()
        self._observer.restart()

    def restart(self) -> None:
        """Begin anew with the next state."""
        self._observer.restart()

    def advance(self, dt: float, q, qd, torque, effort, free: bool) -> str:
        """
        Take in a state.

        Parameters
        ----------
        dt : float
            Seconds since the last state; if it goes back, or is a long one, observation begins
            anew.
        q, qd, effort : (nv,)
            Measured; effort None, or NaN for joints that do not report it.
        torque : (nv,)
            Sent since the last state.
        free : bool
            Whether the arm floats: then it is there to be pushed, and nothing is a collision.

        Returns
        -------
        str
            What is to be done about a collision that has begun; '' if nothing.

        """
        self._q[:] = q
        if not 0.0 < dt <= self._longest_pause:
            self.restart()
        if self._measured and effort is not None:
            np.copyto(self._motors, torque)
            np.copyto(self._motors, effort, where=np.isfinite(effort))
            torque = self._motors
        self._observer.advance(dt, q, qd, torque, self._wrenches.told(q), self._law.gains,
                               self._loads_changed())
        begun = self.collision.advance(dt, self._excess, self.unknown)
        return self._reaction if begun and not free and self._reaction != 'report' else ''

    def _loads_changed(self) -> bool:
        """Return whether the law reckons with other loads than for the last state."""
        loads, before = self._loads, self._blending
        at_once, self._payloads = loads.payloads is not self._payloads, loads.payloads
        # a law that adapts changes them all the time
        self._blending = not loads.settled or self._law.law.adapts
        return before or self._blending or at_once

    @property
    def told(self) -> str:
        """Which joint feels a collision, and how much; empty if there is none."""
        return self.collision.told(self.unknown)

    @property
    def disturbance(self) -> np.ndarray:
        """Torque against the unknown part; none in a collision, which is not to be fought."""
        yields = self._reaction != 'report' and self.collision.present
        return self._nothing if yields else self._against

    @property
    def contact(self) -> np.ndarray | None:
        """External torque for laws that shape inertia, as much as is stable; else None."""
        law = self._law
        if not law.law.shapes:
            return None
        return self._contact.fed_back(self._q, self.torque, law.gains, law.stiffness.value)

    def summary(self) -> dict[str, str]:
        """Return what is seen, for diagnostics."""
        model, torque = self._model, self.torque
        j = int(np.argmax(np.abs(torque) / self._usable))
        return {'largest external torque': f'{torque[j]:.3g} {model.effort_units[j]} at joint '
                                           f'{model.joint_names[j]}',
                'collision': self.told, 'collisions': str(self.collision.count)}

    def wrench(self) -> np.ndarray:
        """Return force and moment at the link that explain the torque, see `tip_wrench`."""
        return self._wrench(self._q, self._law.gains.armature, self.torque)
