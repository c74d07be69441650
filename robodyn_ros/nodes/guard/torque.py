"""Torques of a guard: its law (`safety.guard_law`), compiled, with the loads of the arm."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import blocks
from robodyn_ros.dynamics.loads import check_body, check_gravity, Loads
from robodyn_ros.dynamics.usual_inertia import lightest_inertia
from robodyn_ros.exceptions import ModelError
from robodyn_ros.model import Payload
from robodyn_ros.model.per_joint import not_negative, speeds
from robodyn_ros.nodes.guard.parameters import GuardSettings
from robodyn_ros.safety import check_not_raised, checked_bounds, guard_law
from robodyn_ros.safety.events import text
from robodyn_ros.safety.limits import effort_and_rate, NOT_FINITE, TorqueLimits
from robodyn_ros.safety.loop_margin import bandwidth_factors

_FALSE = 0.5     # of its hold, that the guard needs against a load that is false
_BLEND = 1.0     # s in which a load comes into use while the guard commands
_BLOCKS = {'inputs': guard_law.Inputs, 'previous': guard_law.Memory, 'program': guard_law.Program}


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

    Raises
    ------
    ParameterError
        A limit of effort or rate is invalid; the message names the joint.

    """

    def __init__(self, dynamics: Dynamics, values: GuardSettings):
        self._dynamics, self._model = dynamics, dynamics.model
        self.loads = Loads(dynamics)
        self._configured = bounds = _bounds(values.limits, dynamics.model)
        self._compile()
        self.armature = self._p.armature
        self._p.gravity_scale[()] = 0.0 if values.limits.driver_compensates_gravity else 1.0
        self._loads_before = self.loads.payloads, self.loads.gravity
        # of loads that came while the guard commands: begin in s, numbers before and after
        self._load_change: tuple[float, np.ndarray, np.ndarray] | None = None
        self._p.loads[:] = self._p.feedback_loads[:] = dynamics.runtime
        self._delay = self._excess = np.full(dynamics.nv, np.inf)
        self._apply(values, bounds)
        self.start(0.0, np.zeros(dynamics.nv), np.zeros(dynamics.nv), None)

    def _compile(self) -> None:
        """Compile the law, or load it from the cache, and bind it to arrays."""
        model, runtime = self._model, self._dynamics.runtime.size
        dimensions = {'joints': model.nv, 'runtime': runtime}
        constants = {
            'lower': model.lower.tolist(), 'upper': model.upper.tolist(),
            'speeds': speeds(model).tolist(),
            'lightest_inertia': lightest_inertia(self._dynamics, np.zeros(model.nv)).tolist()}

        def body(tree, *given):
            return guard_law.guard_torque(SimpleNamespace(tree=tree, **constants), *(
                blocks.unpack(cls, each, dimensions)
                for cls, each in zip(_BLOCKS.values(), given)))

        sizes = {name: blocks.size(cls, dimensions) for name, cls in _BLOCKS.items()}
        function = self._dynamics.function(
            body, sizes, {'torque': model.nv, 'next': sizes['previous']}, f'guard {constants}',
            ('safety',))
        arrays = [np.zeros(size) for size in sizes.values()]
        self._torque, memory = np.zeros(model.nv), np.zeros(sizes['previous'])
        bound = function.bound(*arrays, self._torque, memory)
        bound.feed(arrays[1], memory)
        self._run = bound.call
        self._x, _, self._p = (blocks.views(cls, array, dimensions)
                               for cls, array in zip(_BLOCKS.values(), arrays))
        self._m = blocks.views(guard_law.Memory, memory, dimensions)

    @property
    def usable(self) -> np.ndarray:
        """Return the effort limits times margin, (nv,), in N m or N."""
        return self._usable

    @property
    def swings(self) -> bool:
        """Return whether the arm has swung because of the torques: a passive stop follows."""
        return bool(self._m.swings)

    @property
    def last(self) -> np.ndarray:
        """Return the last torque, (nv,), in N m or N."""
        return self._m.sent.copy()

    @property
    def fault(self) -> str:
        """Return why the last torque is another one than the guard's; empty if it is that."""
        verdict = self._m.verdict
        return text(NOT_FINITE[int(verdict.not_finite)], SimpleNamespace(
            joint=verdict.joint, value=verdict.value, bound=0.0, time=0.0), self._model)

    def check_change(self, values: GuardSettings) -> None:
        """Raise `ParameterError` for a wrong limit, or one above that at the start."""
        check_not_raised(self._model.joint_names, _bounds(values.limits, self._model),
                         self._configured)

    def change(self, values: GuardSettings) -> None:
        """Use other parameters, that were checked, from now on."""
        self._apply(values, _bounds(values.limits, self._model))

    def set_position(self, q: np.ndarray) -> None:
        """Set the position of the arm, at which payload and gravity are checked."""
        self._m.q[:] = q

    def start(self, now: float, q: np.ndarray, qd: np.ndarray, torque: np.ndarray | None) -> None:
        """Start from the last torque of the controller, or from the gravity torque if None."""
        self._loads_before = self.loads.payloads, self.loads.gravity
        self._x.torque[:] = np.nan if torque is None else torque
        self._respond(guard_law.START, now, q, qd)

    def update(self, now: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the torque for a fresh state, (nv,); overwritten by the next call."""
        return self._respond(guard_law.STATE, now, q, qd)

    def update_without_state(self, now: float) -> np.ndarray:
        """Return the torque without a fresh state: last hold, gravity at the last position."""
        return self._respond(guard_law.NO_STATE, now, self._m.q, 0.0)

    def release_hold(self) -> None:
        """Remove the hold: `update_without_state` returns the gravity torque alone."""
        self._m.hold.fill(0.0)

    def _respond(self, call: float, now: float, q, qd) -> np.ndarray:
        x = self._x
        x.call[()], x.now[()], x.q[:], x.qd[:] = call, now, q, qd
        if self._load_change is not None:
            self._p.loads[:] = self._load_numbers(now)
        self._run()
        return self._torque

    def _load_numbers(self, now: float) -> np.ndarray:
        """Return the present numbers of the loads, see `Loads.runtime_parameters`."""
        if self._load_change is None:
            return self._dynamics.runtime.copy()
        begin, before, after = self._load_change
        part = min(max((now - begin) / _BLEND, 0.0), 1.0)
        return before + part * (after - before)

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
        check_gravity(gravity, self._model)
        self._change_loads(self.loads.payloads, gravity, in_charge)

    def set_loop(self, delay: np.ndarray, excess: np.ndarray) -> None:
        """
        Set what the controller has measured of the loop of each joint.

        Parameters
        ----------
        delay, excess : (nv,) array
            See `loop_margin.bandwidth_factors`; infinite where they are not known.

        """
        self._delay, self._excess = delay, excess = np.maximum(delay, 0.0), np.maximum(excess, 1.0)
        p, one = self._p, np.ones(len(delay))
        kp, kd = p.damping * max(float(p.hold_rate), 1.0), p.damping + p.hold_rate
        p.borne[()] = bool(np.isfinite([delay, excess]).all() and np.all(
            bandwidth_factors(kp * one, kd * one, delay, excess) >= 1.0))

    def set_loads(self, payloads: Sequence[Payload], gravity, armature: np.ndarray) -> None:
        """Set the loads of the controller; raise `RobodynError` if they are not physical."""
        check_gravity(gravity)
        armature = not_negative('armature', armature, self._model)
        for load in payloads:
            self.loads.slot_body(load.link)
            check_body(load)
        self.loads.change({load.link: load for load in payloads if load.mass}, gravity)
        self._load_change = None
        self._p.loads[:] = self._p.feedback_loads[:] = self._dynamics.runtime
        self.armature[:] = armature

    def _change_loads(self, payloads, gravity, in_charge: bool) -> None:
        torque = self._gravity_torque(payloads, gravity)
        self._check(torque, self._usable, 'would need {} to hold the arm here, its motor may give '
                    '{}')
        if in_charge:
            change = torque - self._gravity_torque(*self._loads_before)
            self._check(change, _FALSE * self._p.hold_effort,
                        'would get {} more or less than at the takeover; while the guard commands '
                        'it takes no load that it could not hold against: {} (hold_effort)')
        now = float(self._m.now)
        present = self._load_numbers(now)
        self.loads.change(payloads, gravity)
        self._load_change = None
        if in_charge:
            # a load that is false would throw a light joint: as gravity, before the hold resists;
            # as inertia of its feedback at any time
            self._load_change = now, present, self._dynamics.runtime.copy()
            before = self._loads_before[0]
            lightest = {link: min(load, before[link], key=lambda each: each.mass)
                        for link, load in payloads.items() if link in before}
            self._dynamics.runtime[:] = self.loads.runtime_parameters(lightest, gravity)
        self._p.feedback_loads[:] = self._dynamics.runtime
        self._p.loads[:] = present if in_charge else self._dynamics.runtime

    def _gravity_torque(self, payloads, gravity) -> np.ndarray:
        return self._p.gravity_scale * self.loads.gravity_torque(
            self._m.q, self.loads.runtime_parameters(payloads, gravity))

    def _check(self, torque: np.ndarray, bound: np.ndarray, problem: str) -> None:
        excess = np.abs(torque) - bound
        j = int(np.argmax(excess))
        if excess[j] > 0.0:
            raise ModelError(f"joint '{self._model.joint_names[j]}' " + problem.format(
                f'{torque[j]:.4g}', f'{bound[j]:.4g}'))

    def _apply(self, values: GuardSettings, bounds: tuple[np.ndarray, np.ndarray]) -> None:
        self._usable, rate = bounds
        p = self._p
        p.limits.effort[:], p.limits.rate[:] = self._usable, rate
        p.damping[()], p.hold_rate[()] = values.damping, values.hold_rate
        p.hold_effort[:] = values.hold_effort * self._usable
        self.set_loop(self._delay, self._excess)


def _bounds(limits: TorqueLimits, model) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest torques, (nv,), and their largest changes per second."""
    return checked_bounds(model.joint_names, *effort_and_rate(
        limits, model.joint_names, model.effort_limit), limits.effort_margin)
