"""
Passive stop of a guard whose torques swing the arm.

States that are late, whatever their stamps say, and elastic joints make any feedback swing an arm,
that of a guard, too. It is watched like that of a controller, see `safety.oscillation`;
what answers an oscillation is the passive stop of a controller, see `safety.passive_stop`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from robodyn_ros.dynamics import Dynamics
from robodyn_ros.dynamics.jit import machine
from robodyn_ros.dynamics.jit.blocks import size, unpack, views
from robodyn_ros.dynamics.jit.function import Function
from robodyn_ros.dynamics.jit.nested import flatten
from robodyn_ros.dynamics.usual_inertia import lightest_inertia
from robodyn_ros.model.per_joint import speeds
from robodyn_ros.safety import brake_at_limits, oscillation, passive_stop

_FASTER, _SLOW = 1.25, 0.1  # times its speed at first, or this part of the limit: it is driven
_QUICK, _BEGIN = 0.1, 0.15  # s of a half wave of an oscillation; s of the begin
_GROWN = 2.0                # half waves in a row that were larger than the one before
_BRAKE, _REACH = 5.0, 0.8   # 1/s, s: brake in front of position limits
_USUAL = 0.1                # weight of an interval in the usual one


class GuardPassiveStop:
    """
    Watches the torques of a guard, and replaces them where they swing the arm.

    Parameters
    ----------
    dynamics : Dynamics
        Dynamics of the arm.
    accelerate : callable
        Of accelerations, (nv,): the torque for them in the present pose, without gravity torque.

    Attributes
    ----------
    active : bool
        Whether the arm has been swung since `start`.

    """

    def __init__(self, dynamics: Dynamics, accelerate: Callable[[np.ndarray], np.ndarray]):
        nv = dynamics.nv
        self._inertia = lightest_inertia(dynamics, np.zeros(nv))
        self._gains = SimpleNamespace(lightest_inertia=self._inertia.tolist(), armature=None)
        self._body = SimpleNamespace(part=lambda _what, _q, _armature, qdd: accelerate(
            np.array(qdd)).tolist())
        self._most = speeds(dynamics.model)
        self._speeds = self._most.tolist()
        update, joints = self._compiled(nv), {'joints': nv}
        before, self._memory = np.zeros((2, size(oscillation.Memory, joints)))
        self._input = np.zeros(2 * nv + 2)
        self._bound = update.bound(before, self._input, self._memory)
        self._bound.feed(before, self._memory)
        self._oscillation = views(oscillation.Memory, self._memory, joints)
        self.start(0.0, np.zeros(nv), np.zeros(nv))

    def _compiled(self, nv: int) -> Function:
        """Return `oscillation.update` of memory and errors, torques, time and interval."""
        joints = {'joints': nv}
        length = size(oscillation.Memory, joints)

        def body(memory, x):
            x = list(x)
            return [flatten(oscillation.update(
                unpack(oscillation.Memory, memory, joints), x[:nv], x[nv:-2], self._speeds,
                self._gains.lightest_inertia, *x[-2:]))]

        return Function(body, {'memory': length, 'inputs': 2 * nv + 2}, {'next': length},
                        cache=machine.default_cache())

    def start(self, now: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Begin to watch."""
        self.active, self._interval = False, 0.0
        self._begin = self._now = now
        self._memory.fill(0.0)
        self._oscillation.factor.fill(1.0)
        self._oscillation.time[()] = now
        self._rest = passive_stop.started(q.tolist(), qd.tolist())
        self._fastest = max(_FASTER * float(np.max(np.abs(qd) / self._speeds)), _SLOW)

    def watch(self, now: float, q: np.ndarray, qd: np.ndarray, error: np.ndarray,
              torque: np.ndarray) -> None:
        """
        Take note of a state.

        Parameters
        ----------
        now : float
            Time in s.
        q, qd, error : (nv,)
            State, and velocity less that with which the arm would come to rest undisturbed.
        torque : (nv,)
            Torque that was sent last.

        """
        passed, self._now = now - self._now, now
        if self.active:
            self._rest = passive_stop.update(self._rest, q.tolist(), qd.tolist(), self._speeds,
                                             passed)
            return
        self._interval += _USUAL * (passed - self._interval)
        np.concatenate((error, torque, (now, self._interval)), out=self._input)
        self._bound.call()
        m = self._oscillation
        # faster than at first, and to and fro: a push is not. The torque begins at that before:
        # at first half waves must grow, too
        swings = ((np.abs(qd) > self._fastest * self._most) & (m.last > _SLOW * self._most)
                  & (m.half < _QUICK) & (m.grown >= (
                      0.0 if now > self._begin + _BEGIN else _GROWN))).any()
        if swings or (m.factor < 1.0).any():
            self.active = True
            # the spring begins when the arm is slow from now on
            self._rest = passive_stop.started(q.tolist(), qd.tolist())

    def torque(self, q: np.ndarray, qd: np.ndarray, walls: np.ndarray, usable: np.ndarray,
               out: np.ndarray) -> None:
        """
        Write the torque of the passive stop, without gravity torque, to `out`.

        Parameters
        ----------
        q, qd : (nv,)
            State.
        walls : (2, nv)
            Lower and upper position limits.
        usable : (nv,)
            Effort limits.
        out : (nv,)
            Torque in N m or N.

        """
        out[:] = passive_stop.torque(self._body, self._rest, q.tolist(), qd.tolist(), self._gains,
                                     usable.tolist(), 1.0)
        out += self._inertia * brake_at_limits(q, qd, walls[0], walls[1], _BRAKE, _REACH)
