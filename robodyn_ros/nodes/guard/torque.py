"""
The torque of an arm that nobody controls: its weight, damping until it rests, and a hold there.

The damping is `- damping M(q) qd`: all joints lose their speed at the same pace, so that none is
shaken by the others, whatever the masses, and no motion is fed. What the model does not know would
let the arm sink for ever at the speed at which damping carries it: an `Anchor` holds it where it
would have come to rest, with a part of the effort limits only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.loads import check_body, check_gravity, Loads
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import Payload
from robodyn_ros.model.per_joint import not_negative
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.safety import (
    Anchor, brake_at_limits, check_not_raised, checked_bounds, Supervisor)
from robodyn_ros.safety.torque_limits import effort_and_rate, TorqueLimits

_BRAKE = 80.0    # 1/s, of speed that is too much so near a limit
_REACH = 0.1     # s in which a joint may reach its limit
_SLACK = 1e-3    # rad or m that a wall stays outside of a joint beyond its limit


class GuardTorque:
    """
    Makes the torques of a guard; no ROS in it but the parameters.

    Parameters
    ----------
    dynamics : Dynamics
        The arm, with slots for payloads.
    values : GuardSettings
        The parameters of the guard.

    Attributes
    ----------
    loads : Loads
        What the arm carries.
    armature : (nv,) array
        Inertia of the rotors.

    Raises
    ------
    ParameterError
        A limit of effort or rate makes no sense, naming the joint.

    """

    def __init__(self, dynamics: Dynamics, values: GuardSettings):
        self._dynamics, self._model = dynamics, dynamics.model
        self.loads = Loads(dynamics)
        self._own = 0.0 if values.limits.driver_compensates_gravity else 1.0
        effort, rate, margin = _bounds(values.limits, dynamics.model)
        self._supervisor = Supervisor(effort, rate, dynamics.model.joint_names, margin)
        self._configured = effort * margin, rate
        nv = dynamics.nv
        self.armature = np.zeros(nv)
        # position limits, or where the arm is beyond; they move inwards with it
        self._walls = np.array([dynamics.model.lower, dynamics.model.upper], dtype=float)
        self._anchor = Anchor(*self._walls)
        (self._q, self._still, self._qdd, self._brake, self._weight, self._hold,
         self._torque) = np.zeros((7, nv))
        self._before = 0.0
        self._obey(values, effort * margin)
        self.moving(0.0, np.zeros(nv), np.zeros(nv))  # compiles

    @property
    def usable(self) -> np.ndarray:
        """Return the largest torques, (nv,)."""
        return self._usable

    @property
    def last(self) -> np.ndarray:
        """Return the last torque, (nv,)."""
        return self._supervisor.last

    def check_change(self, values: GuardSettings) -> None:
        """Raise `ParameterError` for a wrong limit, or one above that at the start."""
        effort, rate, margin = _bounds(values.limits, self._model)
        check_not_raised(self._model.joint_names, (effort * margin, rate), self._configured)
        checked_bounds(self._model.joint_names, effort, rate, margin)

    def change(self, values: GuardSettings) -> None:
        """Use other parameters, that were checked, from now on."""
        effort, rate, margin = _bounds(values.limits, self._model)
        self._supervisor.change(effort, rate, margin)
        self._obey(values, effort * margin)

    def see(self, q: np.ndarray) -> None:
        """Take note of where the arm is, for what it could carry there."""
        self._q[:] = q

    def start(self, now: float, q: np.ndarray, qd: np.ndarray, torque: np.ndarray | None) -> None:
        """Begin at the torque that was sent last, if it is known, else at the weight."""
        self._q[:], self._before = q, now
        self._walls[:] = np.minimum(self._model.lower, q), np.maximum(self._model.upper, q)
        self._anchor.reset(q, qd, self._damping)
        self._hold.fill(0.0)
        self._supervisor.reset(self._own * self._dynamics.gravity(q) if torque is None
                               else torque)

    def moving(self, now: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the torque for a fresh state; overwritten by the next call."""
        self._q[:] = q
        self._follow_inwards(q)
        self._dynamics.gravity(q, out=self._weight)
        self._hold_fast(q, qd)
        brake_at_limits(q, qd, *self._walls, _BRAKE, _REACH, out=self._brake)
        np.multiply(qd, -self._damping, out=self._qdd)
        self._qdd += self._brake
        self._accelerate(self._qdd, self._torque)
        self._torque += self._hold
        return self._supervised(now)

    def _follow_inwards(self, q: np.ndarray) -> None:
        """Let the walls of joints beyond their limits follow them inwards."""
        model, (lower, upper) = self._model, self._walls
        np.minimum(model.lower, np.maximum(lower, q - _SLACK), out=lower)
        np.maximum(model.upper, np.minimum(upper, q + _SLACK), out=upper)

    def blind(self, now: float) -> np.ndarray:
        """Return the torque while no state comes: what held the arm where it was seen last."""
        self._dynamics.gravity(self._q, out=self._weight)
        self._torque[:] = self._hold
        return self._supervised(now)

    def let_go(self) -> None:
        """Hold no more: what `blind` returns is the weight alone."""
        self._hold.fill(0.0)

    def _hold_fast(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Find the torque that leads back to the anchor, which gives way before it is too much."""
        pull = self._anchor.pull(q, qd, self._damping, self._hold_rate)
        self._accelerate(pull, self._hold)
        excess = np.abs(self._hold) / self._hold_effort
        most = excess.max()
        if most > 1.0:  # joints that are not overcome stay where they are
            self._hold /= most
            self._anchor.slip(1.0 / np.maximum(excess, 1.0))

    def _accelerate(self, qdd: np.ndarray, out: np.ndarray) -> None:
        """Find the torque for an acceleration besides the weight."""
        self._dynamics.inverse_dynamics(self._q, self._still, qdd, out=out)
        out -= self._weight
        out += self.armature * qdd

    def set_payload(self, payload: Payload) -> None:
        """Carry a payload, unless no motor could (raises `ModelError`, as the controller does)."""
        self._take(self.loads.with_payload(payload), self.loads.gravity)

    def set_gravity(self, gravity) -> None:
        """Reckon with another gravity; raises as `set_payload`."""
        check_gravity(gravity)
        self._take(self.loads.payloads, gravity)

    def set_loads(self, payloads: Sequence[Payload], gravity, armature: np.ndarray) -> None:
        """Reckon with all that a controller does; raises `RobodynError` if nothing is so."""
        check_gravity(gravity)
        armature = not_negative('armature', armature, self._model)
        for load in payloads:
            self.loads.slot_body(load.link)
            check_body(load)
        self.loads.change({load.link: load for load in payloads if load.mass}, gravity)
        self.armature[:] = armature

    def _take(self, payloads, gravity) -> None:
        weight = self._own * self.loads.gravity_torque(
            self._q, self.loads.runtime_parameters(payloads, gravity))
        excess = np.abs(weight) - self._usable
        j = int(np.argmax(excess))
        if excess[j] > 0.0:
            raise ModelError(
                f"joint '{self._model.joint_names[j]}' would need {weight[j]:.4g} to hold the "
                f'arm here, its motor may give {self._usable[j]:.4g}')
        self.loads.change(payloads, gravity)

    def _obey(self, values: GuardSettings, usable: np.ndarray) -> None:
        self._usable, self._damping = usable, values.damping
        self._hold_rate, self._hold_effort = values.hold_rate, values.hold_effort * usable

    def _supervised(self, now: float) -> np.ndarray:
        """Add the weight, as far as it is ours, and bound the whole."""
        passed, self._before = now - self._before, now
        self._weight *= self._own
        self._torque += self._weight
        return self._supervisor.supervise(self._torque, self._weight, passed)[0]


def _bounds(limits: TorqueLimits, model) -> tuple[np.ndarray, np.ndarray, float]:
    """Return effort limits, rate limits and margin."""
    return *effort_and_rate(limits, model.joint_names, model.effort_limit), limits.effort_margin
