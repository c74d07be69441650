"""
Torque of a guard: gravity torque, damping until the arm rests, and a hold there.

The damping is `- damping M(q) qd`: all joints decelerate at the same rate, without coupling,
whatever the masses. Under damping alone, errors of the model would let the arm sink at a constant
speed; therefore an `Anchor` holds it where it comes to rest, with a fraction of the effort limits.
If the arm swings because of that, a passive stop follows.
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
from robodyn_ros.nodes.guard.passive import GuardPassiveStop
from robodyn_ros.safety import (
    Anchor, brake_at_limits, check_not_raised, checked_bounds, TorqueLimiter)
from robodyn_ros.safety.limits import effort_and_rate, TorqueLimits

_BRAKE = 80.0    # 1/s, deceleration per excess speed near a limit
_REACH = 0.1     # s, shortest time in which a joint may reach its limit
_SLACK = 1e-3    # rad or m between a joint beyond its limit and its wall
_FALSE = 0.5     # of its hold, that the guard needs against a load that is false
_BLEND = 1.0     # s in which a load comes into use while the guard commands


class GuardTorque:
    """
    Computes the torques of a guard.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm, with slots for payloads.
    values : GuardSettings
        Parameters of the guard.

    Attributes
    ----------
    loads : Loads
        Payloads and gravity.
    armature : (nv,) array
        Rotor inertia times gear ratio squared, in kg m^2 or kg.
    fault : str
        Why the last torque is another one than the guard's; empty if it is that.

    Raises
    ------
    ParameterError
        A limit of effort or rate is invalid; the message names the joint.

    """

    def __init__(self, dynamics: Dynamics, values: GuardSettings):
        self._dynamics, self._model = dynamics, dynamics.model
        self.loads = Loads(dynamics)
        self._gravity_scale = 0.0 if values.limits.driver_compensates_gravity else 1.0
        self._configured = bounds = _bounds(values.limits, dynamics.model)
        self._supervisor, self.fault = TorqueLimiter(*bounds, dynamics.model.joint_names), ''
        nv = dynamics.nv
        self.armature = np.zeros(nv)
        # position limits; for a joint beyond its limit, walls that follow it inwards
        self._walls = np.array([dynamics.model.lower, dynamics.model.upper], dtype=float)
        self._anchor = Anchor(*self._walls)
        self._passive = GuardPassiveStop(dynamics, self._torque_of)
        (self._q, self._zero, self._qdd, self._brake, self._weight, self._gravity, self._hold,
         self._torque) = np.zeros((8, nv))
        self._last_time = 0.0
        self._loads_before = self.loads.payloads, self.loads.gravity
        # of loads that came while the guard commands: begin in s, numbers before and after
        self._load_change: tuple[float, np.ndarray, np.ndarray] | None = None
        self._apply(values, bounds[0])
        self.update(0.0, np.zeros(nv), np.zeros(nv))  # compiles the dynamics

    @property
    def usable(self) -> np.ndarray:
        """Return the effort limits times margin, (nv,), in N m or N."""
        return self._usable

    @property
    def swings(self) -> bool:
        """Return whether the arm has swung because of the torques: a passive stop follows."""
        return self._passive.active

    @property
    def last(self) -> np.ndarray:
        """Return the last torque, (nv,), in N m or N."""
        return self._supervisor.last

    def check_change(self, values: GuardSettings) -> None:
        """Raise `ParameterError` for a wrong limit, or one above that at the start."""
        check_not_raised(self._model.joint_names, _bounds(values.limits, self._model),
                         self._configured)

    def change(self, values: GuardSettings) -> None:
        """Use other parameters, that were checked, from now on."""
        bounds = _bounds(values.limits, self._model)
        self._supervisor.change(*bounds)
        self._apply(values, bounds[0])

    def set_position(self, q: np.ndarray) -> None:
        """Set the position of the arm, at which payload and gravity are checked."""
        self._q[:] = q

    def start(self, now: float, q: np.ndarray, qd: np.ndarray, torque: np.ndarray | None) -> None:
        """Start from the last torque of the controller, or from the gravity torque if None."""
        self._q[:], self._last_time = q, now
        self._loads_before = self.loads.payloads, self.loads.gravity
        self._walls[:] = np.minimum(self._model.lower, q), np.maximum(self._model.upper, q)
        self._anchor.reset(q, qd, self._damping)
        self._hold.fill(0.0)
        self._passive.start(now, q, qd)
        self._supervisor.reset(self._gravity_scale * self._dynamics.gravity(q) if torque is None
                               else torque)

    def update(self, now: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the torque for a fresh state, (nv,); overwritten by the next call."""
        self._q[:] = q
        self._move_walls(q)
        self._update_gravity(now)
        self._update_hold(q, qd)
        self._passive.watch(now, q, qd, self._anchor.error * self._damping, self.last)
        if self.swings:
            self._hold.fill(0.0)
            self._passive.torque(q, qd, self._walls, self._usable, self._torque)
            return self._supervised(now)
        lower, upper = self._walls
        brake_at_limits(q, qd, lower, upper, _BRAKE, _REACH, out=self._brake)
        np.multiply(qd, -self._damping, out=self._qdd)
        self._qdd += self._brake
        self._accelerate(self._qdd, self._torque)
        self._torque += self._hold
        return self._supervised(now)

    def _move_walls(self, q: np.ndarray) -> None:
        """Move the walls of joints beyond their limits inwards with them."""
        model, (lower, upper) = self._model, self._walls
        np.minimum(model.lower, np.maximum(lower, q - _SLACK), out=lower)
        np.maximum(model.upper, np.minimum(upper, q + _SLACK), out=upper)

    def update_without_state(self, now: float) -> np.ndarray:
        """Return the torque without a fresh state: last hold, gravity at the last position."""
        self._update_gravity(now)
        self._torque[:] = self._hold
        return self._supervised(now)

    def _update_gravity(self, now: float) -> None:
        """Compute the gravity torque with the loads of the feedback, and with the present ones."""
        self._dynamics.gravity(self._q, out=self._weight)
        self._gravity[:] = (self._weight if self._load_change is None else
                            self.loads.gravity_torque(self._q, self._load_numbers(now)))

    def _load_numbers(self, now: float) -> np.ndarray:
        """Return the present numbers of the loads, see `Loads.runtime_parameters`."""
        if self._load_change is None:
            return self._dynamics.runtime.copy()
        begin, before, after = self._load_change
        part = min(max((now - begin) / _BLEND, 0.0), 1.0)
        return before + part * (after - before)

    def release_hold(self) -> None:
        """Remove the hold: `update_without_state` returns the gravity torque alone."""
        self._hold.fill(0.0)

    def _update_hold(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Compute the torque towards the anchor; move the anchor where the torque is limited."""
        pull = self._anchor.pull(q, qd, self._damping, self._hold_rate)
        self._accelerate(pull, self._hold)
        excess = np.abs(self._hold) / self._hold_effort
        largest = excess.max()
        if largest > 1.0:  # only the anchors of joints at their limit move
            self._hold /= largest
            self._anchor.slip(1.0 / np.maximum(excess, 1.0))

    def _accelerate(self, qdd: np.ndarray, out: np.ndarray) -> None:
        """Compute the torque for an acceleration, without gravity torque."""
        self._dynamics.inverse_dynamics(self._q, self._zero, qdd, out=out)
        out -= self._weight
        out += self.armature * qdd

    def _torque_of(self, qdd: np.ndarray) -> np.ndarray:
        result = np.empty_like(qdd)
        self._accelerate(qdd, result)
        return result

    def set_payload(self, payload: Payload, in_charge: bool) -> None:
        """
        Set a payload.

        Raises
        ------
        ModelError
            Its gravity torque exceeds the effort limits; or, while the guard is in charge, differs
            from that at the takeover by more than the guard could hold against, were it false.

        """
        self._change_loads(self.loads.with_payload(payload), self.loads.gravity, in_charge)

    def set_gravity(self, gravity, in_charge: bool) -> None:
        """Set the gravity vector, in m/s^2; raise as `set_payload`."""
        check_gravity(gravity)
        self._change_loads(self.loads.payloads, gravity, in_charge)

    def set_loads(self, payloads: Sequence[Payload], gravity, armature: np.ndarray) -> None:
        """Set the loads of the controller; raise `RobodynError` if they are not physical."""
        check_gravity(gravity)
        armature = not_negative('armature', armature, self._model)
        for load in payloads:
            self.loads.slot_body(load.link)
            check_body(load)
        self.loads.change({load.link: load for load in payloads if load.mass}, gravity)
        self._load_change = None
        self.armature[:] = armature

    def _change_loads(self, payloads, gravity, in_charge: bool) -> None:
        torque = self._gravity_torque(payloads, gravity)
        self._check(torque, self._usable, 'would need {} to hold the arm here, its motor may give '
                    '{}')
        if in_charge:
            change = torque - self._gravity_torque(*self._loads_before)
            self._check(change, _FALSE * self._hold_effort,
                        'would get {} more or less than at the takeover; while the guard commands '
                        'it takes no load that it could not hold against: {} (hold_effort)')
        present = self._load_numbers(self._last_time)
        self.loads.change(payloads, gravity)
        self._load_change = None
        if in_charge:
            # a load that is false would throw a light joint: as gravity, before the hold resists;
            # as inertia of its feedback at any time
            self._load_change = self._last_time, present, self._dynamics.runtime.copy()
            before = self._loads_before[0]
            lightest = {link: min(load, before[link], key=lambda each: each.mass)
                        for link, load in payloads.items() if link in before}
            self._dynamics.runtime[:] = self.loads.runtime_parameters(lightest, gravity)

    def _gravity_torque(self, payloads, gravity) -> np.ndarray:
        return self._gravity_scale * self.loads.gravity_torque(
            self._q, self.loads.runtime_parameters(payloads, gravity))

    def _check(self, torque: np.ndarray, bound: np.ndarray, text: str) -> None:
        excess = np.abs(torque) - bound
        j = int(np.argmax(excess))
        if excess[j] > 0.0:
            raise ModelError(f"joint '{self._model.joint_names[j]}' " + text.format(
                f'{torque[j]:.4g}', f'{bound[j]:.4g}'))

    def _apply(self, values: GuardSettings, usable: np.ndarray) -> None:
        self._usable, self._damping = usable, values.damping
        self._hold_rate, self._hold_effort = values.hold_rate, values.hold_effort * usable

    def _supervised(self, now: float) -> np.ndarray:
        """Add the gravity torque, unless the driver compensates gravity, and limit the sum."""
        passed, self._last_time = now - self._last_time, now
        self._gravity *= self._gravity_scale
        self._torque += self._gravity
        torque, self.fault = self._supervisor.supervise(self._torque, self._gravity, passed)
        return torque


def _bounds(limits: TorqueLimits, model) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest torques, (nv,), and their largest changes per second."""
    return checked_bounds(model.joint_names, *effort_and_rate(
        limits, model.joint_names, model.effort_limit), limits.effort_margin)
