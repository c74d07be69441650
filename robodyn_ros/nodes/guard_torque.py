"""
The torque of an arm that nobody controls: its weight, and damping until it rests.

The damping is `- damping M(q) qd`: all joints lose their speed at the same pace, so that none is
shaken by the others, whatever the masses, and no motion is fed.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import check_gravity, Loads
from robodyn_ros.exceptions import ModelError, ParameterError
from robodyn_ros.model import Payload
from robodyn_ros.nodes.parameters import per_joint
from robodyn_ros.safety import Supervisor

_RATE = 100.0  # effort limits per second, if nothing else is asked for


class GuardTorque:
    """
    Makes the torques of a guard; no ROS in it but the parameters.

    Parameters
    ----------
    dynamics : Dynamics
        The arm, with slots for payloads.
    values : SimpleNamespace
        The parameters of the guard.

    Attributes
    ----------
    loads : Loads
        What the arm carries.

    Raises
    ------
    ParameterError
        A limit of effort or rate makes no sense, naming the joint.

    """

    def __init__(self, dynamics: Dynamics, values: SimpleNamespace):
        self._dynamics, self._model = dynamics, dynamics.model
        self.loads = Loads(dynamics)
        self._own = 0.0 if values.driver_compensates_gravity else 1.0
        effort, rate, margin = _bounds(values, dynamics.model)
        self._supervisor = Supervisor(effort, rate, dynamics.model.joint_names, margin)
        self._usable, self._damping = effort * margin, values.damping
        nv = dynamics.nv
        self._q, self._still, self._qdd, self._weight, self._torque = np.zeros((5, nv))
        self._before = 0.0
        self.moving(0.0, np.zeros(nv), np.zeros(nv))  # compiles

    @property
    def last(self) -> np.ndarray:
        """Return the last torque, (nv,)."""
        return self._supervisor.last

    def change(self, values: SimpleNamespace) -> None:
        """Obey other parameters from now on; raises `ParameterError`, and changes nothing then."""
        effort, rate, margin = _bounds(values, self._model)
        self._supervisor.change(effort, rate, margin)
        self._usable, self._damping = effort * margin, values.damping

    def start(self, now: float, q: np.ndarray, torque: np.ndarray | None) -> None:
        """Begin at the torque that was sent last, if it is known, else at the weight."""
        self._q[:], self._before = q, now
        self._supervisor.reset(self._own * self._dynamics.gravity(q) if torque is None
                               else torque)

    def moving(self, now: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the torque for a fresh state; overwritten by the next call."""
        self._q[:] = q
        np.multiply(qd, -self._damping, out=self._qdd)
        self._dynamics.gravity(q, out=self._weight)
        self._dynamics.inverse_dynamics(q, self._still, self._qdd, out=self._torque)
        if not self._own:
            self._torque -= self._weight
        return self._supervised(now)

    def blind(self, now: float) -> np.ndarray:
        """Return the torque while no state comes: the weight where the arm was seen last."""
        self._dynamics.gravity(self._q, out=self._weight)
        np.multiply(self._weight, self._own, out=self._torque)
        return self._supervised(now)

    def set_payload(self, payload: Payload) -> None:
        """Carry a payload, unless no motor could (raises `ModelError`, as the controller does)."""
        self._take(self.loads.with_payload(payload), self.loads.gravity)

    def set_gravity(self, gravity) -> None:
        """Reckon with another gravity; raises as `set_payload`."""
        check_gravity(np.asarray(gravity))
        self._take(self.loads.payloads, gravity)

    def _take(self, payloads, gravity) -> None:
        weight = self._own * self.loads.weight(self._q, self.loads.planned(payloads, gravity))
        excess = np.abs(weight) - self._usable
        j = int(np.argmax(excess))
        if excess[j] > 0.0:
            raise ModelError(
                f"joint '{self._model.joint_names[j]}' would need {weight[j]:.4g} to hold the "
                f'arm here, its motor may give {self._usable[j]:.4g}')
        self.loads.change(payloads, gravity, 0.0)

    def _supervised(self, now: float) -> np.ndarray:
        passed, self._before = now - self._before, now
        self._weight *= self._own
        return self._supervisor.supervise(self._torque, self._weight, passed)[0]


def _bounds(values: SimpleNamespace, model) -> tuple[np.ndarray, np.ndarray, float]:
    """Return effort limits, rate limits and margin."""
    names = model.joint_names
    effort = np.array(per_joint('effort_limit', values.effort_limit, names)
                      if values.effort_limit else model.effort_limit)
    for name, limit in zip(names, effort):
        if not 0.0 < limit < np.inf:
            raise ParameterError(
                f"joint '{name}' has effort limit {limit:g}: the torque must have a bound above "
                'zero; correct <limit effort> in the URDF, or set the parameter effort_limit',
                joint=name, value=float(limit))
    rate = np.array(per_joint('torque_rate_limit', values.torque_rate_limit, names)
                    if values.torque_rate_limit else _RATE * effort)
    return effort, rate, values.effort_margin
